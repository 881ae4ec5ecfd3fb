"""The rules by worked example, by property, and against answers and specifications that want to break them."""

import json
import math
import re
import socket
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_core import FieldError, Message
from grpo_core.verifiers import (
    MAX_ANSWER,
    RULES,
    WORKED_EXAMPLES,
    Rule,
    Verdict,
    code_passes,
    exact_match,
    json_valid,
    number_equal,
    tool_call,
    weighted,
)
from grpo_core.verifiers.expression import FUNCTIONS
from grpo_core.verifiers.json_text import MAX_JSON, MAX_PARTS
from grpo_core.verifiers.number import read_number

ADD = {"parameters": ["x", "y"], "cases": [[[1, 2], 3], [[2, 2], 4], [[0.5, 1], 1.5]]}
WEATHER = {
    "name": "weather",
    "schema": {"type": "object", "properties": {"days": {"type": "integer", "maximum": 7}}},
    "condition": "arguments['city'] == 'Paris' and arguments['days'] * 2 > 3",
}
TREE = {"anyOf": [{"type": "null"}, {"type": "array", "items": {"$ref": "#"}, "uniqueItems": True}]}
EVERY_RULE = [
    Rule("exact_match", "paris"),
    Rule("number_equal", "72", {"tolerance": "0.5"}),
    Rule("json_valid"),
    Rule("json_valid", TREE),
    Rule("code_passes", ADD, {"partial": True}),
    Rule("tool_call", WEATHER),
]


def expression(source, value=None, parameters=("x",), arguments=(3,)):
    """The reason why an expression does not give the value; None if it does."""
    verdict = code_passes(source, {"parameters": list(parameters), "cases": [[list(arguments), value]]})
    return None if verdict.passed else str(verdict.reason)


@pytest.mark.parametrize(
    ("name", "target", "answer", "passes"),
    [(name, *example) for name, examples in WORKED_EXAMPLES.items() for example in examples],
)
def test_worked_examples(name, target, answer, passes):
    verdict = Rule(name, target).check(answer)
    assert verdict == RULES[name].function(answer, target)
    assert verdict.passed is passes and verdict.reward == float(passes) and str(verdict.reason)


def test_every_rule_has_examples_of_both_kinds():
    assert list(WORKED_EXAMPLES) == list(RULES)
    assert all({passes for _, _, passes in examples} == {True, False} for examples in WORKED_EXAMPLES.values())


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("72", 72), ("-72", -72), ("+72", 72), ("−72", -72), ("007", 7), ("0.5", "1/2"), (".5", "1/2"), ("-.5", "-1/2"),
        ("1/2", "1/2"), ("-1/2", "-1/2"), ("1 / 2", "1/2"), ("0.5/2", "1/4"), ("50 %", "1/2"), ("50%", "1/2"),
        (r"50\%", "1/2"), ("-12.5%", "-1/8"), ("1e3", 1000), ("1E3", 1000), ("2.5e-1", "1/4"), ("1e+2", 100),
        ("$72", 72), ("-$72", -72), ("$-72", -72), (r"\$72", 72), ("$72$", 72), (r"\(72\)", 72), (r"\[72\]", 72), ("€72", 72),
        ("1,234", 1234), ("1,234,567", 1234567), ("1,234.5", "2469/2"), ("12,345", 12345), ("-1,234", -1234),
        (r"\frac{1}{2}", "1/2"), (r"\dfrac{1}{2}", "1/2"), (r"\tfrac{3}{4}", "3/4"), (r"-\frac{1}{2}", "-1/2"),
        (r"\frac{-1}{2}", "-1/2"), (r"\frac{1}{-2}", "-1/2"), (r"\frac{0.5}{2}", "1/4"),
        (r"\boxed{72}", 72), (r"\boxed{ -72 }", -72), (r"\boxed{\frac{1}{2}}", "1/2"), (r"\boxed{−\dfrac{1}{2}}", "-1/2"),
        (r"$\boxed{72}$, not 73", 72), (r"\boxed{1} or \boxed{2}", 2), (r"\boxed{\$1,234}", 1234), (r"#### 1 \boxed{2}", 2),
        (r"\boxed{-\frac12}", "-1/2"), (r"\boxed{72\text{ cm}}", 72), (r"\boxed{72 \mathrm{kg}}", 72), (r"\boxed{12{,}345}", 12345),
        ("#### 72 dollars", 72), ("#### 72 or 73", 72), (r"\frac34", "3/4"), (r"so it is 5 \text{ of 7}", 5),
        (r"\boxed{\boxed{7}}", 7), ("#### 72", 72), ("1\n#### 72.\nas 5", 72), ("#### $1,234", 1234), ("#### 1\n#### 2", 2),
        ("so the answer is 72.", 72), ("1, 2, 3!", 3), ("x=5", 5), ("x = -5", -5), ("5-3", 3), ("from 3-5", 5),
        (r"\frac{ 1 }{ 2 }", "1/2"), (r"\boxed{\frac{ 1 }{ 2 }}", "1/2"), (r"\frac {1} {2}", "1/2"), ("1/ 2", "1/2"),
        ("1 /2", "1/2"), ("3 1/2", "7/2"), ("-3 1/2", "-7/2"), ("I have 3 1/2 apples", "7/2"), ("10 3 1/2", "1/2"),
        ("4 5/2", "5/2"), ("-$ 72", -72), ("- 72", -72), ("$ 72", 72), ("x = - 72", -72), ("#### - 72", -72),
        ("5 - 3", 3), (r"\boxed{72.}", 72), ("72, so", 72), ("**72**", 72), ("(72)", 72), ("答案是72。", 72), ("72 (my 2nd try)", 72),
    ],
)  # fmt: skip
def test_numbers_that_are_read(text, value):
    assert read_number(text)[0] == Fraction(value)
    assert number_equal(text, Fraction(value)).passed
    assert not number_equal(text, Fraction(value) + Fraction(1, 10**300)).passed


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "nan", "inf", "-inf", "Infinity", "1/0", "0/0", "1e999999999", "1e-999999999", "1e1001", "1/1e2000", "0x1F",
        "0b11", "1_000", "2nd", "x2", "x_2", "10^5", "2^", "1,2", "1,23", "1234,567", "1,2345", "1,234,5", "1.2.3", "2024/01/02",
        "1e", "72kg", r"\sqrt{2}", r"2\pi", r"\frac{1}{0}", r"\frac{x}{2}", r"\boxed{x}", r"\boxed{}", r"\boxed{x = 5}",
        r"\boxed{1, 2}", r"\boxed{72", r"5 \boxed{}", "#### none, 5", r"\frac123", r"\boxed{\text{5}}", "5\n####", "9" * 1001, "9" * 5000, "1" + ",000" * 400,
        "5 and then 1/0", "½", "٣", "five",
    ],
)  # fmt: skip
def test_what_is_no_number(text):
    verdict = number_equal(text, 5)
    assert read_number(text) is None
    assert verdict == Verdict(False, 0.0, Message("no number was found, expected {expected}", {"expected": "5"}))


def test_numbers_near_the_limits_are_read():
    assert read_number("1e1000")[0] == 10**1000 and number_equal("1e400", "1e400").passed
    assert not number_equal("1e400", "1.000001e400").passed
    assert (
        read_number("0." + "0" * 997 + "1")[0] == Fraction(1, 10**998) and read_number("0." + "0" * 998 + "1") is None
    )
    assert read_number("9" * 1000)[0] == 10**1000 - 1


@given(st.fractions(max_denominator=10**200))
def test_a_printed_fraction_is_read(value):
    assert number_equal(str(value), value).passed and number_equal(f"so it is {value}.", value).passed
    assert not number_equal(str(value + 1), value).passed and number_equal(str(-value), -value).passed


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**300), 10**300))
def test_a_printed_number_is_read(value):
    assert number_equal(str(value), value).passed


def test_tolerance_is_absolute_and_exact():
    assert number_equal("0.3", "0.2", 0.1).passed and number_equal("0.1", "0.2", "1/10").passed
    assert not number_equal("0.30000000000000000001", "0.2", 0.1).passed
    assert not number_equal("100.2", "100", Fraction(1, 10)).passed
    assert number_equal("0.1", 0.1).passed and number_equal("1/10", 0.1).passed
    assert str(number_equal("0.5", "0.2", 0.1).reason) == "read 0.5, expected 0.2 ± 0.1"


@pytest.mark.parametrize(
    ("verdict", "says"),
    [
        (number_equal("0.5", "0.25"), "read 0.5, expected 0.25"),
        (exact_match("b\0", "a"), r"read 'b\\x00', expected 'a'"),
        (json_valid("[1,]"), "not JSON: Illegal trailing comma|not JSON: Expecting value"),
        (json_valid('{"a": {"b": "x"}}', {"properties": {"a": {"properties": {"b": {"type": "null"}}}}}), r"at \$.a.b: 'x' is"),
        (code_passes("x * y", ADD), r"^f\(1, 2\) gave 2, expected 3$"),
        (code_passes("x / 0", ADD), r"^f\(1, 2\) failed \(ZeroDivisionError: .*\), expected 3$"),
        (code_passes("x + z", ADD), "answer must not use 'z'"),
        (code_passes("x + y", ADD), "^passes 3 of 3 cases$"),
        (tool_call('{"name": "x", "arguments": {}}', WEATHER), "read 'x', expected 'weather'"),
        (tool_call('{"name": "weather", "arguments": {}}', WEATHER), r"failed \(KeyError: 'city'\)"),
        (tool_call('{"name": "weather", "arguments": {"days": 8}}', WEATHER), r"at \$.days: 8 is greater"),
    ],
)  # fmt: skip
def test_reasons(verdict, says):
    assert re.search(says, str(verdict.reason))


def test_exact_match_ignores_only_the_white_space_around():
    assert exact_match("\t a b \n", "a b").passed and exact_match("a b", " a b").passed
    assert not any(exact_match(answer, "a b").passed for answer in ("a  b", "ab", "A b", "a b c", ""))


@pytest.mark.parametrize(
    "text", ["", "{", "[1] 2", "[NaN]", "-Infinity", "[1e999]", "{'a': 1}", '"\n"', "01", '{"a":1,"a":1}', "\ufeff1"]
)
def test_json_is_strict(text):
    assert not json_valid(text).passed and not json_valid(text, True).passed


@pytest.mark.parametrize("text", ["null", "0", " [1.5e3] ", '"\\ud800"', '{"a":{"a":1}}', "9" * 4000])
def test_json_that_is_valid(text):
    assert json_valid(text).passed and json_valid(text, {}).passed and not json_valid(text, False).passed


def test_a_schema_is_read_as_draft_2020_12_and_may_refer_to_itself():
    tuple_schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "http://x/",
        "prefixItems": [{"type": "null"}],
    }
    assert json_valid("[null]", tuple_schema).passed and not json_valid("[1]", tuple_schema).passed
    assert json_valid("[[], [[]], null]", TREE).passed and not json_valid("[[1]]", json.dumps(TREE)).passed
    assert not json_valid("[[], []]", TREE).passed
    person = {"$defs": {"age": {"minimum": 0}}, "properties": {"age": {"$ref": "#/$defs/age"}}}
    assert json_valid('{"age": 3}', person).passed and not json_valid('{"age": -3}', person).passed
    assert json_valid('"no address"', {"format": "email"}).passed


def test_a_large_honest_document_is_checked():
    column = {"type": "string", "maxLength": 9}
    schema = {
        "items": {"properties": {"id": {"type": "integer"}, "a": column, "b": column}, "additionalProperties": False}
    }
    rows = [{"id": i, "a": "x", "b": "y"} for i in range(300)]
    assert json_valid(json.dumps(rows, separators=(",", ":")), schema).passed
    assert not json_valid(json.dumps([*rows, {"c": 1}], separators=(",", ":")), schema).passed


def branching(combine, last, depth=40):
    """2^depth ways through a schema of `depth` definitions."""
    steps = {f"d{i}": {combine: [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(depth)}
    return {"$ref": "#/$defs/d0", "$defs": {**steps, f"d{depth}": last}}


@pytest.mark.parametrize(
    ("schema", "answer"),
    [
        ({"$ref": "#"}, 1),
        ({"allOf": [{"$ref": "#"}]}, 1),
        (branching("anyOf", False), 1),
        (branching("anyOf", {"type": "null"}), 1),
        (branching("allOf", {}), 1),
        (branching("allOf", True), 1),
        (branching("oneOf", {"const": 1}), 1),
        ({"anyOf": [{"type": "string"}] * 400}, [[0] * 4900]),
        ({"anyOf": [False] * 900}, [[0] * 4900]),
        ({"allOf": [{"items": {}}] * 400}, [0] * 4900),
        ({"allOf": [{"contains": False, "minContains": 0}] * 200}, [0] * 4900),
        ({"items": {"allOf": [{}] * 900}}, [0] * 4900),
        ({"anyOf": [{"items": {"const": [0] * 450}}] * 2}, [0] * 4900),
        ({"uniqueItems": True}, [{"a": i} for i in range(1000)]),
        ({"items": {"uniqueItems": True}}, [[{"a": i} for i in range(100)]] * 10),
        ({"unevaluatedProperties": False, "$ref": "#"}, {"a": 1}),
        ({"multipleOf": 1e-300}, 10**4000),
    ],
)
def test_a_schema_without_end_does_not_pass_and_ends(schema, answer):
    rule = Rule("json_valid", schema)
    verdict = rule.check(json.dumps(answer, separators=(",", ":")))
    assert not verdict.passed and "could not be checked" in str(verdict.reason)


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": "^(a+)+$"},
        {"properties": {"a": {"items": [{"pattern": "(.*)*x"}]}}},
        {"patternProperties": {"^(a|a)*$": {}}},
        {"$defs": {"a": {"not": {"propertyNames": {"pattern": "(a|aa)+$"}}}}},
        {"anyOf": [{"format": "regex"}]},
        {"$ref": "http://127.0.0.1:1/schema"},
        {"properties": {"a": {"$ref": "https://json-schema.org/draft/2020-12/schema"}}},
        {"$ref": "file:///etc/passwd"},
        {"$ref": "other.json#/a"},
        {"$ref": "#/$defs/missing"},
        {"$ref": "#missing"},
        {"$ref": "#/type", "type": "object"},
        {"$ref": 3},
        {"$ref": ""},
        {"$dynamicRef": "#"},
        {"items": {"$id": "http://127.0.0.1:1/", "$ref": "#"}},
        {"items": {"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#"}},
        {"type": "number?"},
        {"minimum": "1"},
        {"exclusiveMinimum": True},
        {"enum": [0] * (MAX_PARTS + 1)},
        {"const": "x" * MAX_JSON},
        {"const": math.nan},
        {"const": {1, 2}},
        '{"type": "null"',
        "[" * 100_000,
        json.loads('{"not":' * 400 + "{}" + "}" * 400),
        [],
        3,
    ],
    ids=lambda schema: str(schema)[:50],
)
def test_a_schema_that_is_not_one_or_not_safe_is_refused(schema, monkeypatch):
    monkeypatch.setattr(socket, "socket", lambda *_, **__: pytest.fail("a connection was made"))
    for make in (
        lambda: Rule("json_valid", schema),
        lambda: json_valid("1", schema),
        lambda: Rule("tool_call", {"name": "a", "schema": schema}),
    ):
        with pytest.raises(FieldError) as raised:
            make()
        assert isinstance(raised.value, ValueError)
        assert raised.value.field in ("schema", "target")  # a part that is not JSON is the whole target's fault


def test_a_circular_schema_is_refused():
    schema = {}
    schema["not"] = schema
    with pytest.raises(FieldError, match="schema must be JSON"):
        Rule("json_valid", schema)


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("x + 1", 4), ("x - 1.5", 1.5), ("x * -2", -6), ("x / 2", 1.5), ("x / 3", 1), ("x // 2", 1), ("-x % 5", 2), ("x ** 2", 9), ("2 ** -1", 0.5),
        ("4 ** 0.5", 2), ("+x", 3), ("not x", False), ("x > 1 and x < 5", True), ("x == 4 or x", 3), ("1 < x <= 3", True),
        ("x != 3", False), ("x >= 4", False), ("'big' if x > 2 else 'small'", "big"), ("'ab' + 'c'", "abc"), ("'ab' * 2", "abab"),
        ("2 * 'ab'", "abab"), ("'abc'[1]", "b"), ("'abcd'[1:3]", "bc"), ("'abcd'[::-1]", "dcba"), ("'b' in 'abc'", True),
        ("'b' not in 'abc'", False), ("abs(-x)", 3), ("min(x, 2)", 2), ("max(x, 2)", 3), ("round(3.14159, 2)", 3.14), ("round(2.6)", 3),
        ("len('abc')", 3), ("int('12')", 12), ("float('0.5')", 0.5), ("str(x)", "3"), ("None", None), ("(x)", 3), (" x\n", 3),
        ("9 ** 1000 % 7", 9**1000 % 7), ("True", True),
    ],
)  # fmt: skip
def test_expressions(source, value):
    assert expression(source, value) is None
    other = not value if isinstance(value, bool) else "other"
    assert "expected" in expression(source, other)


def test_values_of_another_kind_are_not_equal():
    assert expression("x == 3", 1) and expression("1", True) and expression("0", False) and expression("'3'", 3)
    assert expression("0", None) and expression("''", None) and expression("False", 0)
    assert expression("2.0", 2) is None and expression("2", 2.0) is None and expression("0.1 + 0.2", 0.3)
    assert expression("x", [1, "a"], arguments=([1, "a"],)) is None and expression("x", [True], arguments=([1],))
    assert expression("x[1:]", [2], arguments=([1, 2],)) is None and expression("x", [1], arguments=([1, 2],))
    assert expression("sum(x) / len(x)", 2, arguments=([1, 2, 3],)) is None


REFUSED = [
    "x.__class__", "().__class__.__bases__[0].__subclasses__()", "''.__class__.__mro__[1]", "x.real", "'{0.__class__}'.format(x)",
    "f'{x}'", "f'{x:>1000000000}'", "lambda: x", "(lambda: x)()", "[x for x in 'ab']", "{x for x in 'ab'}", "(i for i in x)", "[x]", "(x, x)",
    "{}", "{x}", "x << 1", "1 << 10 ** 9", "x >> 1", "x | 1", "x & 1", "x ^ 1", "~x", "x @ x", "(y := x)", "x is x", "x is not x",
    "abs(*[x])", "abs(x=3)", "round(3.5, ndigits=1)", "abs", "max == max", "abs(abs)", "x(3)", "abs(x)(3)", "print(x)", "eval('3')",
    "exec('3')", "open('/etc/passwd')", "__import__('os')", "range(3)", "sorted(x)", "type(x)", "getattr(x, 'real')", "pow(9, 9)",
    "y", "_", "b'a'", "1j", "...", "await x", "yield", "x; x", "x\nx", "x = 3", "return x", "import os", "def f(): 3", "", "# x", "3 x",
    "-" * 200 + "x", "+".join("x" * 101), "x + " * 500 + "x", "x" + " " * 1000 + "+ 1", "(" * 900, "9" * 5000, "\0", "x\0", "\ud800", "'\ud800'",
]  # fmt: skip


@pytest.mark.parametrize("source", REFUSED, ids=lambda source: ascii(source)[:40])
def test_what_an_expression_must_not_use(source):
    assert expression(source, 3).startswith("answer must")
    with pytest.raises(FieldError) as raised:
        Rule("tool_call", {"name": "a", "condition": source})
    assert raised.value.field == "condition"


@pytest.mark.parametrize(
    "source",
    [
        "9**9**9", "10**10**10", "x**10**9", "(10**1000)**10", "2.0**10**6", "(-8)**0.5", "10**1000*10**1000", "1e308**2", "'a'*10**9",
        "10**9*'a'", "'a'*9999*9999", "'a'*10000+'a'", "'%1000000000d'%x", "'a'-'b'", "-'a'", "'a'+x", "'a'*1.5", "round(x,-10**9)",
        "round(x,10**9)", "int('9'*5000)", "int('9'*4000)", "str('a'*9999+'aaa')", "float('x')", "int(1e999)", "x//0", "x%0", "1/(x-3)",
        "x[0]", "'a'[9]", "'a'[10**30]", "'a'['b']", "abs()", "len(x)", "sum(x)", "sum('ab')", "min()", "10**1200/3", "x in x", "x<'a'",
    ],
)  # fmt: skip
def test_expressions_that_fail_when_they_are_run(source):
    assert " failed (" in expression(source, 3)


def test_lists_are_only_read():
    for source in ("x + x", "x * 2", "x * 10**9", "2 * x", "sum(x, x)", "x % x"):
        assert " failed (" in expression(source, 3, arguments=([1, 2],))


def test_partial_credit_is_the_share_of_cases():
    verdict = code_passes("x * 2 if x == y else 1.5", ADD, partial=True)
    assert verdict.reward == pytest.approx(2 / 3) and not verdict.passed
    assert str(verdict.reason) == "f(1, 2) gave 1.5, expected 3"
    assert code_passes("x * 2 if x == y else 1.5", ADD).reward == 0
    assert str(code_passes("5", ADD, partial=True).reason) == "f(1, 2) gave 5, expected 3"
    assert code_passes("x + y", ADD, partial=True).reward == 1 and code_passes("x.y", ADD, partial=True).reward == 0


@pytest.mark.parametrize(
    ("answer", "passes"),
    [
        ({"name": "weather", "arguments": {"city": "Paris", "days": 2}}, True),
        ({"name": "weather", "arguments": {"city": "Paris", "days": 1}}, False),
        ({"name": "weather", "arguments": {"city": "Paris", "days": 8}}, False),
        ({"name": "weather", "arguments": {"city": "Rome", "days": 2}}, False),
        ({"name": "Weather", "arguments": {"city": "Paris", "days": 2}}, False),
        ({"name": "weather", "arguments": {"city": "Paris", "days": 2}, "id": 1}, False),
        ({"name": "weather", "arguments": '{"city": "Paris", "days": 2}'}, False),
        ({"name": "weather"}, False),
        ({"arguments": {}}, False),
        (["weather", {}], False),
        ("weather", False),
    ],
)
def test_tool_calls(answer, passes):
    assert tool_call(json.dumps(answer), WEATHER).passed is passes
    assert tool_call(json.dumps(answer), json.dumps(WEATHER)).passed is passes


def test_a_tool_call_without_schema_or_condition_and_a_condition_that_is_not_true_or_false():
    call = '{"name": "a", "arguments": {"n": 1, "list": [{"x": 5}]}}'
    assert tool_call(call, {"name": "a"}).passed and not tool_call(call, {"name": "b"}).passed
    assert tool_call(call, {"name": "a", "condition": "arguments['list'][0]['x'] == 5 and 'n' in arguments"}).passed
    assert not tool_call(call, {"name": "a", "condition": "arguments['n']"}).passed
    assert not tool_call(call, {"name": "a", "schema": False}).passed
    assert not any(
        tool_call(f'{{"name": "a", "arguments": {other}}}', {"name": "a"}).passed for other in ("[]", "null", '""')
    )


def test_weighted_rules():
    rules = [(0.1, Rule("json_valid")), (0.9, Rule("number_equal", 72))]
    assert [weighted(answer, rules).reward for answer in ("72", "73", "so 72", "so")] == [1.0, 0.1, 0.9, 0.0]
    assert [weighted(answer, rules).passed for answer in ("72", "73", "so 72", "so")] == [True, False, False, False]
    assert (
        str(weighted("73", rules).reason)
        == "json_valid 0.1 * 1 (valid JSON); number_equal 0.9 * 0 (read 73, expected 72)"
    )
    half = Rule("code_passes", {"parameters": ["x"], "cases": [[[1], 1], [[2], 4]]}, {"partial": True})
    assert weighted("x", [(-2, half)]).reward == -1


HOSTILE = {
    "empty": "", "spaces": " " * 10_000_000, "ten megabytes": "9" * 10_000_000, "ten megabytes of JSON": "[" + "1," * 5_000_000 + "1]",
    "ten megabytes of names": "x" * 10_000_000, "digits": "9" * 5000, "most digits": "9" * MAX_ANSWER, "NUL": "\0", "NUL in a number": "7\x002",
    "lone surrogate": "\ud800", "surrogate in JSON": '{"\ud800": "\udfff"}', "escaped surrogate": '"\\ud800"', "BOM": "\ufeff72",
    "right to left": "\u202e27", "emoji": "🙂" * 20_000, "combining": "e" + "\u0301" * 50_000, "controls": "".join(map(chr, range(32))),
    "latin-1": bytes(range(256)).decode("latin-1"), "deep list": "[" * 100_000, "closed deep list": "[" * 50_000 + "]" * 50_000,
    "deep list of allowed length": "[" * 5000 + "]" * 5000, "deep list of low depth": "[" * 900 + "]" * 900,
    "deep object": '{"a":' * 20_000, "deep arguments": '{"name": "weather", "arguments": {"city": ' + "[" * 900 + "]" * 900 + "}}",
    "huge argument": '{"name": "weather", "arguments": {"city": "Paris", "days": ' + "9" * 4000 + "}}",
    "odd arguments": '{"name": "weather", "arguments": {"city": "Paris", "days": "7"}}', "huge integer in JSON": "[" + "9" * 5000 + "]",
    "huge exponent": "1e999999999", "huge negative exponent": "1e-999999999", "many exponents": "1e9" * 30_000, "nan": "nan", "infinity": "-Infinity",
    "NaN in JSON": "[NaN]", "overflow in JSON": "[1e999]", "division by zero": "1/0", "hexadecimal": "0x1F", "commas": "1," * 50_000,
    "thousands": "1" + ",000" * 24_000, "slashes": "1/" * 50_000, "dots": "1." * 50_000, "signs": "-" * 100_000, "dollars": "-$" * 50_000,
    "percents": "1 % " * 25_000, "boxes": r"\boxed{" * 14_000, "open braces": r"\boxed{" + "{" * 90_000, "braces": r"\boxed{" + "{}" * 45_000,
    "fractions": r"\frac{1" * 14_000, "long fraction": r"\frac{" + "1" * 90_000 + "}{2}", "hashes": "####" * 25_000, "regex bait": "a" * 90_000 + "!",
    "tower": "9**9**9", "tower of tens": "10**10**10", "power and remainder": "x**10**9%7", "repetition": "'a'*10**10", "list repetition": "[0]*10**10",
    "class chain": "().__class__.__bases__[0].__subclasses__()", "class chain of x": "x.__class__.__mro__[1].__subclasses__()",
    "attribute chain": "x" + ".a" * 490, "call chain": "x" + "()" * 490, "import": "__import__('os').system('sleep 9')", "shift": "1<<10**10",
    "format": "'{:>999999999}'.format(1)", "percent format": "'%999999999d'%1", "f-string": "f'{1:>999999999}'", "lambda": "(lambda f: f(f))(lambda f: f(f))",
    "comprehension": "[0 for i in range(10**9)]", "parentheses": "(" * 990, "closed parentheses": "(" * 199 + "x" + ")" * 199,
    "unary": "-" * 999 + "x", "nots": "not " * 240 + "x", "ifs": "x if x else " * 80 + "x", "braces as code": "[{" * 480, "f-strings in f-strings": "f'{" * 300,
    "round": "round(5, -10**9)", "backslashes": "\\" * 999, "quotes": "'" * 999, "new lines": "x\n" * 499, "template": "{field} {0.__class__}",
}  # fmt: skip


@pytest.mark.parametrize("rule", EVERY_RULE, ids=lambda rule: rule.name)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_answers_end_with_a_verdict(rule, name):
    check(rule, HOSTILE[name])


def check(rule, answer):
    verdict = rule.check(answer)
    assert verdict == rule.check(answer)
    assert isinstance(verdict.passed, bool) and isinstance(verdict.reward, float) and 0 <= verdict.reward <= 1
    assert (verdict.reward == 1) is verdict.passed
    reason = str(verdict.reason)
    assert reason.encode() and len(reason) < 500
    return verdict


def test_only_the_honest_ones_of_the_hostile_answers_pass():
    passed = {(rule.name, name) for rule in EVERY_RULE for name in HOSTILE if rule.check(HOSTILE[name]).passed}
    honest = {
        "escaped surrogate",
        "surrogate in JSON",
        "deep list of low depth",
        "deep arguments",
        "huge argument",
        "odd arguments",
        "huge negative exponent",
    }
    assert passed == {("number_equal", "BOM")} | {("json_valid", name) for name in honest}


@given(st.text() | st.binary().map(lambda data: data.decode("latin-1")) | st.text(st.characters(), max_size=20))
def test_no_rule_raises_on_any_text(answer):
    for rule in EVERY_RULE:
        check(rule, answer)


@given(st.text("0123456789.,/-+eE%$\\{}# \n−fracboxed^_", max_size=60))
def test_no_text_of_number_signs_raises(answer):
    check(EVERY_RULE[1], answer)


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@given(st.lists(st.sampled_from(["x", "y", "3", "1.5", "'a'", "(", ")", "[", "]", ":", ",", "+", "-", "*", "**", "/", "//", "%", "<",
    "==", " in ", " and ", " or ", " not ", " if ", " else ", "True", "None", *(f"{name}(" for name in FUNCTIONS)]), max_size=15).map("".join))  # fmt: skip
def test_no_expression_raises(answer):
    check(EVERY_RULE[4], answer)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(json_values)
def test_json_that_is_written_is_read_and_fits_its_const(value):
    text = json.dumps(value)
    assert json_valid(text).passed
    for rule in EVERY_RULE:
        check(rule, text)
    call = tool_call(
        json.dumps({"name": "a", "arguments": {"v": value}}), {"name": "a", "condition": "arguments['v'] == 1"}
    )
    assert call.passed is (value == 1)


def test_a_reason_can_be_sent_also_with_a_lone_surrogate_in_a_path():
    schema = {"additionalProperties": {"type": "null"}}
    assert "\\ud800" in check(Rule("json_valid", schema), '{"\\ud800": 1}').reason.values["place"]


def test_too_long_an_answer_is_not_read():
    rule = Rule("exact_match", "a")
    assert rule.check("a" + " " * (MAX_ANSWER - 1)).passed and not rule.check("a" + " " * MAX_ANSWER).passed
    assert "100001 characters" in str(rule.check("a" + " " * MAX_ANSWER).reason)
    assert json_valid("1" + " " * (MAX_JSON - 1)).passed and not json_valid("1" + " " * MAX_JSON).passed


def cases(*cases, parameters=("x",)):
    return {"parameters": list(parameters), "cases": list(cases)}


@pytest.mark.parametrize(
    ("make", "field", "says"),
    [
        (lambda: Rule("exact", "a"), "name", "exact_match, number_equal, json_valid, code_passes, tool_call, not 'exact'"),
        (lambda: Rule(["exact_match"], "a"), "name", "exact_match"),
        (lambda: Rule("exact_match", "a", {"tolerance": 1}), "options", "tolerance"),
        (lambda: Rule("exact_match", "a", None), "options", "None"),
        (lambda: Rule("exact_match"), "target", "not None"),
        (lambda: exact_match("a", " "), "target", "1 to 100000 characters, not ' '"),
        (lambda: exact_match("a", 4), "target", "not 4"),
        (lambda: number_equal("1", "x"), "target", "must be a number such as 72, 0.5 or 1/2, not 'x'"),
        (lambda: number_equal("1", True), "target", "not True"),
        (lambda: number_equal("1", None), "target", "not None"),
        (lambda: number_equal("1", math.nan), "target", "not nan"),
        (lambda: number_equal("1", math.inf), "target", "not inf"),
        (lambda: number_equal("1", "1e9999"), "target", "1e9999"),
        (lambda: number_equal("1", 10**5000), "target", "not int"),
        (lambda: number_equal("1", "9" * 10**7), "target", "9…"),
        (lambda: number_equal("1", 1, -0.1), "tolerance", "at least 0, not -0.1"),
        (lambda: number_equal("1", 1, "x"), "tolerance", "not 'x'"),
        (lambda: number_equal("1", 1, math.nan), "tolerance", "not nan"),
        (lambda: code_passes("x", None), "target", "must have parameters, cases, may have -, and nothing else, not None"),
        (lambda: code_passes("x", {"parameters": ["x"]}), "target", "cases"),
        (lambda: code_passes("x", cases([[1], 1]) | {"code": ""}), "target", "code"),
        (lambda: code_passes("x", "{"), "target", "must be JSON"),
        (lambda: code_passes("x", cases([["x" * MAX_JSON], 1])), "target", "longer than 10000"),
        (lambda: code_passes("x", cases()), "cases", "1 to 100 cases"),
        (lambda: code_passes("x", cases(*[[[1], 1]] * 101)), "cases", "1 to 100 cases"),
        (lambda: code_passes("x", {"parameters": ["x"], "cases": "x"}), "cases", "not 'x'"),
        (lambda: code_passes("x", cases([[1, 2], 1])), "cases", r"\[\[1 values\], expected value\]"),
        (lambda: code_passes("x", cases([1, 1])), "cases", "not"),
        (lambda: code_passes("x", cases([[1]])), "cases", "not"),
        (lambda: code_passes("x", cases([[1], 1], 5)), "cases", "not 5"),
        (lambda: code_passes("x", cases([[{"a": 1}], 1])), "cases", "a text, number"),
        (lambda: code_passes("x", cases([[[[1]]], 1])), "cases", "a text, number"),
        (lambda: code_passes("x", cases([[1], [[1]]])), "cases", "a text, number"),
        (lambda: code_passes("x", cases([[10**1300], 1])), "cases", "a text, number"),
        (lambda: code_passes("x", cases([[1], 10**1300])), "cases", "a text, number"),
        (lambda: code_passes("x", cases([[math.nan], 1])), "target", "must be JSON"),
        (lambda: code_passes("x", {"parameters": "x", "cases": [[[1], 1]]}), "parameters", "list of names, not 'x'"),
        *[
            (lambda name=name: code_passes("x", cases([[1], 1], parameters=[name])), "parameters", "different Python names")
            for name in ("1x", "", "x y", "if", "True", "abs", 3, None, "é")
        ],
        (lambda: code_passes("x", cases([[1, 1], 1], parameters="xx")), "parameters", "not 'x'"),
        (lambda: code_passes("x", ADD, partial=0.5), "partial", "true or false, not 0.5"),
        (lambda: tool_call("", {}), "target", "must have name, may have schema, condition, and nothing else"),
        (lambda: tool_call("", {"name": "a", "tool": 1}), "target", "tool"),
        (lambda: tool_call("", {"name": " "}), "name", "not ' '"),
        (lambda: tool_call("", {"name": 3}), "name", "not 3"),
        (lambda: tool_call("", {"name": "a", "condition": 3}), "condition", "not 3"),
        (lambda: tool_call("", {"name": "a", "condition": None}), "condition", "not None"),
        (lambda: tool_call("", {"name": "a", "condition": "city == 1"}), "condition", "'city'"),
        (lambda: tool_call("", {"name": "a", "schema": {"pattern": "a"}}), "schema", "pattern"),
        (lambda: tool_call("", {"name": "a", "schema": None}), "schema", "None"),
        (lambda: weighted("a", []), "rules", "1 to 20"),
        (lambda: weighted("a", None), "rules", "None"),
        (lambda: weighted("a", [(1, Rule("json_valid"))] * 21), "rules", "1 to 20"),
        (lambda: weighted("a", [Rule("json_valid")]), "rules", "pairs"),
        (lambda: weighted("a", [(1, "json_valid")]), "rules", "pairs"),
        *[
            (lambda weight=weight: weighted("a", [(weight, Rule("json_valid"))]), "weight", "from -1000 to 1000, not")
            for weight in (math.nan, math.inf, 1001, True, "1", None)
        ],
    ],
)  # fmt: skip
def test_errors_name_the_field(make, field, says):
    with pytest.raises(FieldError, match=says) as raised:
        make()
    assert raised.value.field == field and field in str(raised.value)


def test_a_rule_keeps_its_own_copy_of_a_target():
    spec = cases([[1], 1])
    rule = Rule("code_passes", spec)
    spec["cases"][0][1] = 2
    assert rule.check("x").passed
