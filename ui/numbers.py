"""Numbers as text, for hover, tables and LaTeX: enough digits that the arithmetic shown comes out."""

import math

MINUS = "−"


def number(value: float) -> str:
    """A number as it was typed: 0.5, 100000.4, 1e-06."""
    return f"{value:.12g}"


def fitting(value: float, spread: float, digits: int = 2) -> str:
    """`digits` decimals, or as many as tell it from another number one `spread` away."""
    decimals = digits if spread <= 0 else max(digits, digits - 1 - math.floor(math.log10(spread)))
    if value == 0 or (decimals <= 6 and abs(value) < 1e9):
        return f"{value:.{min(decimals, 6)}f}"
    significant = max(digits, decimals + 1 + math.floor(math.log10(abs(value))))
    return f"{value:.{min(significant, 17)}g}"


def signed(value: float, digits: int = 2, spread: float = 0.0) -> str:
    """A number with its sign, a true minus, and no sign on a rounded zero."""
    text = fitting(value, spread, digits)
    if float(text) == 0:
        return text.removeprefix("-")
    return text.replace("-", MINUS, 1) if value < 0 else "+" + text


def tex(text: str) -> str:
    """A number's text for LaTeX: 1e-06 as a power of ten."""
    mantissa, _, exponent = text.partition("e")
    if not exponent:
        return mantissa
    power = rf"10^{{{int(exponent)}}}"
    return power if mantissa == "1" else rf"{mantissa} \cdot {power}"


def tex_signed(value: float, digits: int = 4) -> str:
    """A number with its sign for LaTeX; a rounded zero is +0."""
    text = f"{value:+.{digits}f}"
    return "+" + text[1:] if float(text) == 0 else text
