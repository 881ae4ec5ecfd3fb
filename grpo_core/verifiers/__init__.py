"""Rules that score an answer: the verifiable rewards. Every rule returns a `Verdict` for every text."""

from grpo_core.verifiers.examples import WORKED_EXAMPLES
from grpo_core.verifiers.rules import (
    RULES,
    Rule,
    code_passes,
    exact_match,
    json_valid,
    number_equal,
    tool_call,
    weighted,
)
from grpo_core.verifiers.verdict import MAX_ANSWER, Verdict

__all__ = [
    "MAX_ANSWER",
    "RULES",
    "WORKED_EXAMPLES",
    "Rule",
    "Verdict",
    "code_passes",
    "exact_match",
    "json_valid",
    "number_equal",
    "tool_call",
    "weighted",
]  # fmt: skip
