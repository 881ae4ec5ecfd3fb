"""One Python expression of a visitor's, bounded in grammar, size and numbers: it always ends soon.

There are no loops, attributes, lambdas, comprehensions, shifts, bit operations or format strings, so the time is
bounded by the nodes and by the size of a value. It is run by simpleeval, never by eval or exec.
"""

import ast
import operator

import simpleeval

from grpo_core.messages import N_, FieldError
from grpo_core.verifiers.verdict import cut, shown

MAX_SOURCE = 1000
"""Characters of an expression."""
MAX_NODES = 100
"""Nodes of its syntax tree, which bounds its depth as well."""
MAX_BITS = 4096
"""Size of a whole number: about 1233 digits."""
MAX_TEXT = 10_000
"""Characters of a text that an expression makes."""


def parse_expression(name: str, source: str, names) -> ast.expr:
    """The syntax tree of an expression in `names`; FieldError with the field `name` says what is not allowed."""
    if len(source) > MAX_SOURCE:
        raise FieldError(
            name, N_("{field} must have at most {maximum} characters, not {value}"), maximum=MAX_SOURCE, value=len(source)
        )  # fmt: skip
    try:
        tree = ast.parse(source.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        problem = cut(getattr(error, "msg", type(error).__name__))
        raise FieldError(name, N_("{field} must be one Python expression ({problem})"), problem=problem) from error
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.expr)]
    if len(nodes) > MAX_NODES:
        raise FieldError(
            name, N_("{field} must have at most {maximum} parts, not {value}"), maximum=MAX_NODES, value=len(nodes)
        )  # fmt: skip
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        what = _refused(node, FUNCTIONS if id(node) in called else names)
        if what:
            raise FieldError(
                name,
                N_("{field} must not use {value}; it may use arithmetic, comparisons, and, or, not, if-else, indexing such as x[0], the names {names} and calls of {functions}"),
                value=shown(what), names=cut(", ".join(names)), functions=", ".join(FUNCTIONS),
            )  # fmt: skip
    return tree


def evaluate(tree: ast.expr, names: dict):
    """The value of a parsed expression. It may raise any Exception: wrong types, a number too large."""
    return simpleeval.SimpleEval(_OPERATORS, FUNCTIONS, names).eval("", tree)


def _refused(node: ast.AST, names) -> str | None:
    """What a node has that is not allowed, in the words of Python's `ast`; None if nothing."""
    if not isinstance(node, _NODES):
        return type(node).__name__
    if isinstance(node, ast.Name) and node.id not in names:
        return node.id
    if isinstance(node, ast.Constant) and not isinstance(node.value, bool | int | float | str | None):
        return type(node.value).__name__
    if isinstance(node, ast.Call) and not isinstance(node.func, ast.Name):
        return "Call"
    return None


def bounded(value):
    """The value itself; OverflowError if it is a whole number or a text too large to go on with."""
    if value.bit_length() > MAX_BITS if isinstance(value, int) else isinstance(value, str) and len(value) > MAX_TEXT:
        raise OverflowError("a number or text too large")
    return value


def _on_numbers(function):
    def apply(*values):
        if not all(isinstance(value, int | float) for value in values):
            raise TypeError("arithmetic needs numbers")
        result = bounded(function(*map(bounded, values)))
        if isinstance(result, complex):
            raise ValueError("the root of a negative number")
        return result

    return apply


def _power(base, exponent):
    if isinstance(base, int) and isinstance(exponent, int) and base.bit_length() * abs(exponent) > MAX_BITS:
        raise OverflowError("too large a power")
    return base**exponent


def _add(left, right):
    if isinstance(left, str) and isinstance(right, str):
        return bounded(left + right)
    return _on_numbers(operator.add)(left, right)


def _multiply(left, right):
    if isinstance(right, str):
        left, right = right, left
    if isinstance(left, str) and isinstance(right, int):
        if len(left) * right > MAX_TEXT:
            raise OverflowError("too long a text")
        return left * right
    return _on_numbers(operator.mul)(left, right)


def _round(number, digits=None):
    if digits is not None and not -MAX_BITS <= digits <= MAX_BITS:
        raise OverflowError("too many digits")
    return round(number, digits)


def _sum(numbers):
    return sum(numbers)


def _bounded_result(function):
    return lambda *values: bounded(function(*values))


FUNCTIONS = {
    name: _bounded_result(function)
    for name, function in {
        "abs": abs, "min": min, "max": max, "sum": _sum, "round": _round, "len": len, "int": int, "float": float, "str": str,
    }.items()
}  # fmt: skip
_OPERATORS = {
    ast.Add: _add,
    ast.Sub: _on_numbers(operator.sub),
    ast.Mult: _multiply,
    ast.Div: _on_numbers(operator.truediv),
    ast.FloorDiv: _on_numbers(operator.floordiv),
    ast.Mod: _on_numbers(operator.mod),
    ast.Pow: _on_numbers(_power),
    ast.UAdd: _on_numbers(operator.pos),
    ast.USub: _on_numbers(operator.neg),
    ast.Not: operator.not_,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda item, container: item in container,
    ast.NotIn: lambda item, container: item not in container,
}
_NODES = (
    ast.Constant, ast.Name, ast.Load, ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.And, ast.Or, ast.Compare, ast.IfExp,
    ast.Call, ast.Subscript, ast.Slice, *_OPERATORS,
)  # fmt: skip
