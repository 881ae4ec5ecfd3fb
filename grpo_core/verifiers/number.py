"""Reading the number that an answer ends with, exactly."""

import math
import re
from fractions import Fraction

from grpo_core.messages import N_, FieldError
from grpo_core.verifiers.verdict import cut, shown, verdict

MAX_DIGITS = 1000
"""Characters of the longest number, and the largest size of a power of ten."""

_UNSIGNED = r"(?>[0-9]{1,3}(?:,[0-9]{3})++(?![0-9])|[0-9]++)(?:\.[0-9]++)?+|\.[0-9]++"
_PLAIN = rf"(?>{_UNSIGNED})(?:[eE][-+]?[0-9]++)?+"
# Possessive (++, ?+) and atomic (?>): a text of any kind is read once, and never half a number.
# ASCII letters only: a Chinese character may touch a number.
_NUMBER = re.compile(
    rf"""
    (?<![0-9A-Za-z_.,/^{{\\])                # not the end of a name, a power, a date, a LaTeX argument
    (?P<sign>[-+]?)\$?(?P<sign2>[-+]?)
    (?>
        \\frac\{{(?P<top>[-+]?{_PLAIN})\}}\{{(?P<bottom>[-+]?{_PLAIN})\}}
      | (?P<number>{_PLAIN})(?:/(?P<divisor>{_PLAIN}))?+
    )
    (?P<percent>[ ]?%)?+
    (?![0-9A-Za-z_^/\\{{]|[.,][0-9])         # not the start of one either
    """,
    re.VERBOSE,
)
_SAME = (
    ("\N{MINUS SIGN}", "-"), (r"\dfrac", r"\frac"), (r"\tfrac", r"\frac"), (r"\%", "%"), (r"\$", "$"),
    (r"\(", " "), (r"\)", " "), (r"\[", " "), (r"\]", " "), (r"\!", ""), (r"{,}", ","),
)  # fmt: skip
_UNIT = re.compile(r"\\(?:text|mathrm)\{[^{}]{0,100}\}")
_REWRITTEN = (
    (re.compile(r"\\frac([0-9])([0-9])(?![0-9])"), r"\\frac{\1}{\2}"),
    (re.compile(r"\{ {1,9}|(?<=\\frac)\s{1,9}(?=\{)"), lambda found: found[0].strip()),
    (re.compile(r"(?<=[0-9]) {1,9}(?=\})|(?<=[0-9]\}) {1,9}(?=\{)"), ""),
    (re.compile(r"(?<=[0-9]) {0,9}/ {0,9}(?=[.0-9])"), "/"),
    (re.compile(r"(?<=\$) {1,9}(?=[.0-9])"), ""),
    (re.compile(r"((?:^|[\n=:({#]) {0,9}[-+]\$?) {1,9}(?=[.$0-9])"), r"\1"),
)
"""The spaces within one number: 1 / 2, - 72, $ 72, \frac{ 1 }{ 2 }."""
_MIXED = re.compile(r"(?<![0-9] )(?<![\w.,/^{\\])([0-9]{1,9}) ([0-9]{1,9})/([0-9]{1,9})(?![\w/]|[.,][0-9])")


def read_number(text: str) -> tuple[Fraction, str] | None:
    r"""The number of an answer and how it is written there; None if there is none.

    Where it is looked for, the first that is there:
      the last \boxed{...}      nothing but one number in it, and its unit as \text{...}
      the line behind the last ####    begins with a number (GSM8K)
      the whole text            its last number
    A number is 72, -0.5, .5, 1e3, 1/2, 3 1/2 (a half more than 3), \frac{1}{2}, \frac12, 50 % (one half), $72,
    1,234,567 (commas before every third digit), with a few spaces where people put them. What touches a letter, _, ^, \ or a further ./, with a digit is not a number: 0x1F,
    x2, 10^5, 1,2, 1.2.3, 2024/01/02. A last number that is 1/0 or beyond MAX_DIGITS is none either.
    """
    for other, plain in _SAME:
        text = text.replace(other, plain)
    text = _UNIT.sub(" ", text)
    for pattern, plain in _REWRITTEN:
        text = pattern.sub(plain, text)
    text = _MIXED.sub(_improper, text)
    boxed = _boxed(text)
    if boxed is not None:
        found = _NUMBER.fullmatch(boxed.strip().strip("$").strip().removesuffix("."))
    elif "####" in text:
        found = _NUMBER.match(text.rpartition("####")[2].split("\n", 1)[0].strip())
    else:
        found = None
        for match in _NUMBER.finditer(text):
            found = match
    return found and _value(found)


def number_judge(target, tolerance=0):
    """The judge for `number_equal`; FieldError if target or tolerance is not a number."""
    expected, expected_text = _checked("target", target)
    tolerance, tolerance_text = _checked("tolerance", tolerance)
    if tolerance < 0:
        raise FieldError("tolerance", N_("{field} must be at least 0, not {value}"), value=tolerance_text)
    if tolerance:
        expected_text = f"{cut(expected_text)} ± {cut(tolerance_text)}"

    def judge(answer: str):
        number = read_number(answer)
        if number is None:
            return verdict(False, N_("no number was found, expected {expected}"), expected=expected_text)
        value, text = number
        if abs(value - expected) <= tolerance:
            return verdict(True, N_("read {read}, equal to {expected}"), read=cut(text), expected=expected_text)
        return verdict(False, N_("read {read}, expected {expected}"), read=cut(text), expected=expected_text)

    return judge


def _boxed(text: str) -> str | None:
    r"""What stands in the last \boxed{...}; None if there is none or its braces do not close."""
    depth, inside = 1, text.rpartition(r"\boxed{")
    if not inside[1]:
        return None
    for end, character in enumerate(inside[2]):
        depth += (character == "{") - (character == "}")
        if depth == 0:
            return inside[2][:end]
    return None


def _improper(found: re.Match) -> str:
    """3 1/2 as 7/2; two numbers that only stand side by side stay as they are."""
    whole, top, bottom = map(int, found.groups())
    return f"{whole * bottom + top}/{bottom}" if 0 < top < bottom else found[0]


def _value(found: re.Match) -> tuple[Fraction, str] | None:
    part = found.groupdict()
    if len(found[0]) > MAX_DIGITS or (part["sign"] and part["sign2"]):
        return None
    numbers = [part["top"] or part["number"], part["bottom"] or part["divisor"] or "1"]
    if any(abs(int(re.split("[eE]", number + "e0")[1])) > MAX_DIGITS for number in numbers):
        return None
    top, bottom = (Fraction(number.replace(",", "")) for number in numbers)
    if bottom == 0:
        return None
    value = top / bottom / (100 if part["percent"] else 1)
    return (-value if "-" in part["sign"] + part["sign2"] else value), found[0]


def _checked(name: str, value) -> tuple[Fraction, str]:
    """A number that a rule is made with; a float is the decimal number that it prints as."""
    written = value
    if isinstance(value, float) and math.isfinite(value):
        written = str(float(value))
    elif isinstance(value, Fraction | int):
        written = str(value) if max(value.numerator.bit_length(), value.denominator.bit_length()) < 1600 else None
    number = read_number(written) if isinstance(written, str) and len(written) <= 2 * MAX_DIGITS else None
    if number is None:
        raise FieldError(name, N_("{field} must be a number such as 72, 0.5 or 1/2, not {value}"), value=shown(value))
    return number
