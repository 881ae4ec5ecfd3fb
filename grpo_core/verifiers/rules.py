"""The rules by name, checked when they are made, and their weighted sum."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from grpo_core.messages import N_, FieldError, Message
from grpo_core.verifiers.code import code_judge
from grpo_core.verifiers.json_text import json_judge
from grpo_core.verifiers.number import number_judge
from grpo_core.verifiers.tool import tool_judge
from grpo_core.verifiers.verdict import MAX_ANSWER, Verdict, shown, verdict

MAX_RULES = 20
MAX_WEIGHT = 1000


@dataclass(frozen=True, eq=False)
class Rule:
    """A rule with its target: made once, a `FieldError` if the target is not one, then it never raises.

    name     one of RULES
    target   what the rule compares with, see the function of that name
    options  the function's other arguments, such as {"tolerance": 0.01}
    """

    name: str
    target: object = None
    options: dict = field(default_factory=dict)

    def __post_init__(self):
        if not isinstance(self.name, str) or self.name not in RULES:
            raise FieldError(
                "name", N_("{field} must be one of {allowed}, not {value}"),
                allowed=", ".join(RULES), value=shown(self.name),
            )  # fmt: skip
        kind = RULES[self.name]
        if not isinstance(self.options, dict) or not set(self.options) <= set(kind.options):
            raise FieldError(
                "options", N_("{field} of this rule may be {allowed}, not {value}"),
                allowed=", ".join(kind.options) or "-", value=shown(self.options),
            )  # fmt: skip
        object.__setattr__(self, "_judge", kind.judge(self.target, **self.options))

    def check(self, answer: str) -> Verdict:
        """The verdict on any text; one longer than MAX_ANSWER does not pass."""
        if len(answer) > MAX_ANSWER:
            return verdict(
                False, N_("the answer has {count} characters, at most {maximum} are read"),
                count=len(answer), maximum=MAX_ANSWER,
            )  # fmt: skip
        return self._judge(answer)


def exact_match(answer: str, target: str) -> Verdict:
    """The answer is the target, apart from white space around either. Case and accents count."""
    return Rule("exact_match", target).check(answer)


def number_equal(answer: str, target, tolerance=0) -> Verdict:
    """|number of the answer - target| <= tolerance, as exact fractions. What is read: `read_number`.

    target, tolerance  an int, float (as it prints: 0.1 is 1/10), Fraction, or a text that is read likewise
    """
    return Rule("number_equal", target, {"tolerance": tolerance}).check(answer)


def json_valid(answer: str, schema=None) -> Verdict:
    """The answer is strict JSON (`parse_json`) and fits the schema, if there is one (`schema_judge`).

    schema  a JSON Schema as a dict, a bool or a JSON text
    """
    return Rule("json_valid", schema).check(answer)


def code_passes(answer: str, spec, partial: bool = False) -> Verdict:
    """The answer is one Python expression that gives the expected value in every case.

    spec     {"parameters": ["x", "y"], "cases": [[[1, 2], 3], ...]} or its JSON text
    partial  True: the reward is the share of cases that pass, else 1 if all pass and 0 otherwise

    Values are equal as in Python, but True is not 1. What an expression may be: `grpo_core.verifiers.expression`.
    """
    return Rule("code_passes", spec, {"partial": partial}).check(answer)


def tool_call(answer: str, spec) -> Verdict:
    """The answer is a JSON object with exactly a `name`, the right one, and `arguments`, an object.

    spec  {"name": "weather", "schema": {...}, "condition": "arguments['city'] == 'Paris'"} or its JSON text:
          a schema for the arguments and an expression in them that must give True; both may be left out
    """
    return Rule("tool_call", spec).check(answer)


def weighted(answer: str, rules: list[tuple[float, Rule]]) -> Verdict:
    """Several rules at once: reward sum_i weight_i * reward_i, passed if all pass, the reason of each."""
    if not isinstance(rules, list | tuple) or not 1 <= len(rules) <= MAX_RULES:
        raise FieldError(
            "rules", N_("{field} must be a list of 1 to {maximum} pairs (weight, rule), not {value}"),
            maximum=MAX_RULES, value=shown(rules),
        )  # fmt: skip
    reward, passed, reason = 0.0, True, None
    for part in rules:
        if not isinstance(part, list | tuple) or len(part) != 2 or not isinstance(part[1], Rule):
            raise FieldError("rules", N_("{field} must be pairs (weight, rule), not {value}"), value=shown(part))
        weight, rule = part
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not abs(weight) <= MAX_WEIGHT:
            raise FieldError(
                "weight", N_("{field} must be a number from {minimum} to {maximum}, not {value}"),
                minimum=-MAX_WEIGHT, maximum=MAX_WEIGHT, value=shown(weight),
            )  # fmt: skip
        one = rule.check(answer)
        reward, passed = math.fsum((reward, weight * one.reward)), passed and one.passed
        values = {"rule": rule.name, "weight": weight, "reward": one.reward, "reason": one.reason}
        this = Message(N_("{rule} {weight:g} * {reward:g} ({reason})"), values)
        reason = this if reason is None else Message(N_("{first}; {then}"), {"first": reason, "then": this})
    return Verdict(passed, reward, reason)


def _match_judge(target):
    if not isinstance(target, str) or not target.strip() or len(target) > MAX_ANSWER:
        raise FieldError(
            "target", N_("{field} must be a text of 1 to {maximum} characters, not {value}"),
            maximum=MAX_ANSWER, value=shown(target),
        )  # fmt: skip
    target = target.strip()

    def judge(answer: str) -> Verdict:
        if answer.strip() == target:
            return verdict(True, N_("read {read}, as expected"), read=shown(target))
        return verdict(
            False, N_("read {read}, expected {expected}"), read=shown(answer.strip()), expected=shown(target)
        )

    return judge


class _Kind(NamedTuple):
    """The function of a rule, the check of its target that makes its judge, and the names of its options."""

    function: Callable
    judge: Callable
    options: tuple[str, ...] = ()


RULES = {
    "exact_match": _Kind(exact_match, _match_judge),
    "number_equal": _Kind(number_equal, number_judge, ("tolerance",)),
    "json_valid": _Kind(json_valid, json_judge),
    "code_passes": _Kind(code_passes, code_judge, ("partial",)),
    "tool_call": _Kind(tool_call, tool_judge),
}
