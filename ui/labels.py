"""A visitor's texts as short labels: prompts and answers may be 500 characters long."""

import re


def labels(texts, limit: int) -> list[str]:
    """Each text on one line with at most about `limit` characters, and still different from the others."""
    short = [_short(text, limit) for text in texts]
    return [f"{i} · {text}" if short.count(text) > 1 else text for i, text in enumerate(short, 1)]


def _short(text: str, limit: int) -> str:
    line = re.sub(r"\s+", " ", text)
    return line if len(line) <= limit else line[: limit - 1] + "…"
