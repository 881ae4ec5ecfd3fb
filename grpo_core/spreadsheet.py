"""Texts in a CSV file that a spreadsheet would read as a formula, made harmless and read back."""

import re

_START = r"(^|[;\t\r\n])"  # where a cell begins, also for a spreadsheet that separates by semicolons or tabs
_FORMULA = "'*[=+\\-@\t\r＝＋－＠]"


def protect(text: str) -> str:
    """An apostrophe in front of each = + - @ tab or CR that begins a cell: the cell is then a text (OWASP)."""
    return re.sub(f"{_START}(?={_FORMULA})", r"\1'", text)


def unprotect(text: str) -> str:
    """The text that `protect` was given."""
    return re.sub(f"{_START}'(?={_FORMULA})", r"\1", text)
