"""Code that must pass its tests: an expression in the parameters, and what it must give for each case."""

import keyword

from grpo_core.messages import N_, FieldError, Message
from grpo_core.verifiers.expression import FUNCTIONS, MAX_BITS, evaluate, parse_expression
from grpo_core.verifiers.json_text import checked_fields
from grpo_core.verifiers.verdict import Verdict, cut, named, shown, verdict

MAX_CASES = 100


def code_judge(spec, partial=False):
    """The judge for `code_passes`; FieldError if the specification is not one."""
    spec = checked_fields(spec, required=("parameters", "cases"))
    parameters, cases = _parameters(spec["parameters"]), spec["cases"]
    if not isinstance(cases, list) or not 1 <= len(cases) <= MAX_CASES:
        raise FieldError(
            "cases", N_("{field} must be a list of 1 to {maximum} cases, not {value}"),
            maximum=MAX_CASES, value=shown(cases),
        )  # fmt: skip
    for case in cases:
        _check_case(case, len(parameters))
    if not isinstance(partial, bool):
        raise FieldError("partial", N_("{field} must be true or false, not {value}"), value=shown(partial))

    def judge(answer: str) -> Verdict:
        try:
            tree = parse_expression("answer", answer, parameters)
        except FieldError as error:
            return Verdict(False, 0.0, error.message)
        failures = []
        for values, expected in cases:
            failure = _failure(tree, dict(zip(parameters, values, strict=True)), expected)
            if failure:
                failures.append(failure)
                if not partial:
                    break
        if not failures:
            return verdict(True, N_("passes {count} of {count} cases"), count=len(cases))
        return Verdict(False, 1 - len(failures) / len(cases) if partial else 0.0, failures[0])

    return judge


def _failure(tree, arguments: dict, expected) -> Message | None:
    """What is wrong with the value of a case; None if it is the expected one."""
    call = f"f({', '.join(shown(value, 20) for value in arguments.values())})"
    try:
        value = evaluate(tree, arguments)
    except Exception as error:  # whatever a visitor's expression does, the case fails
        return Message(
            N_("{call} failed ({problem}), expected {expected}"),
            {"call": cut(call), "problem": named(error), "expected": shown(expected)},
        )
    if _same(value, expected):
        return None
    return Message(
        N_("{call} gave {value}, expected {expected}"),
        {"call": cut(call), "value": shown(value), "expected": shown(expected)},
    )


def _same(value, expected) -> bool:
    """Equal and of one kind: 2 and 2.0 are the same number, True and 1 are not the same."""
    if isinstance(value, list) and isinstance(expected, list):
        return len(value) == len(expected) and all(map(_same, value, expected))
    return value == expected and isinstance(value, bool) == isinstance(expected, bool)


def _parameters(names) -> list[str]:
    if not isinstance(names, list):
        raise FieldError("parameters", N_("{field} must be a list of names, not {value}"), value=shown(names))
    for name in names:
        if (
            not isinstance(name, str) or not name.isascii() or not name.isidentifier()
            or keyword.iskeyword(name) or name in FUNCTIONS or names.count(name) > 1
        ):  # fmt: skip
            raise FieldError(
                "parameters", N_("{field} must be different Python names that are not {functions}, not {value}"),
                functions=", ".join(FUNCTIONS), value=shown(name),
            )  # fmt: skip
    return names


def _check_case(case, count: int):
    fits = isinstance(case, list) and len(case) == 2 and isinstance(case[0], list) and len(case[0]) == count
    if not fits or not all(_is_value(value) for value in (*case[0], case[1])):
        raise FieldError(
            "cases",
            N_("{field} must be [[{count} values], expected value] each, a value being a text, number, true, false, null or a list of these, not {value}"),
            count=count, value=shown(case),
        )  # fmt: skip


def _is_value(value, in_list=False) -> bool:
    if isinstance(value, list):
        return not in_list and all(_is_value(item, True) for item in value)
    return not isinstance(value, dict) and not (isinstance(value, int) and value.bit_length() > MAX_BITS)
