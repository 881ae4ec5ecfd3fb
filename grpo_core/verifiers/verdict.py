"""What a rule says about an answer, and how it quotes what a visitor wrote."""

from dataclasses import dataclass

from grpo_core.messages import Message

MAX_ANSWER = 100_000
"""Characters of the longest answer that a rule reads; a longer one does not pass."""


@dataclass(frozen=True)
class Verdict:
    """Whether an answer passed, its reward, and the sentence that says why."""

    passed: bool
    reward: float
    reason: Message


def verdict(passed: bool, template: str, **values) -> Verdict:
    """The verdict of a rule without partial credit: reward 1 or 0."""
    return Verdict(passed, float(passed), Message(template, values))


def cut(text: str, limit: int = 80) -> str:
    """At most `limit` characters, without lone surrogates: it can be printed and sent."""
    short = text if len(text) <= limit else text[:limit] + "…"
    return short.encode("utf-8", "backslashreplace").decode()


def shown(value, limit: int = 80) -> str:
    """A value as Python writes it, cut; the name of its type if it cannot be written."""
    try:
        return cut(repr(value[: limit + 1] if isinstance(value, str) else value), limit)
    except (ValueError, RecursionError):  # an int of more than 4300 digits, a deep list
        return type(value).__name__


def named(error: Exception) -> str:
    return cut(f"{type(error).__name__}: {error}")
