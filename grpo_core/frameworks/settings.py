"""What is wrong with a setting, said by name: nothing that a framework was told is silently ignored."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from numbers import Real

from grpo_core.messages import N_, FieldError, Message


class UnsupportedSetting(FieldError):
    """A setting, or a value of one, that is not covered: `field` names it."""


@dataclass(frozen=True)
class Exported:
    """An algorithm in a framework's settings, and what these cannot say, in words."""

    settings: dict
    differences: tuple[Message, ...]


def with_defaults(
    settings: Mapping, defaults: Mapping, neutral: Mapping, framework: str, optional=(), numbers=(), counts=(), lists=()
) -> dict:
    """The settings, the missing ones at the framework's default.

    neutral  settings that are accepted only at the values at which they do nothing
    optional settings whose default is a number and that can be None
    numbers, counts, lists  settings that are None or a number, a number from 1 on, a list of numbers
    """
    for name, value in settings.items():
        if name in neutral:
            if value not in neutral[name]:
                raise UnsupportedSetting(
                    name, N_("{field} is covered only as {neutral!r}, not {value!r}"), neutral=neutral[name][0], value=value
                )  # fmt: skip
        elif name not in defaults:
            raise UnsupportedSetting(
                name, N_("{field} is not among the covered settings of {framework}"), framework=framework
            )
        elif isinstance(defaults[name], bool):
            choose(name, value, {True: True, False: False, None: False})
        elif isinstance(defaults[name], Real):
            check_number(name, value, defaults[name], optional)
        elif name in (*numbers, *counts):
            check_number(name, value, 1 if name in counts else 0.0, (name,))
        elif name in lists:
            check_list(name, value)
        elif isinstance(defaults[name], Mapping) and not isinstance(value, Mapping):
            raise FieldError(name, N_("{field} must be settings by name, not {value!r}"), value=value)
    return {**defaults, **{name: value for name, value in settings.items() if name not in neutral}}


def choose(name: str, value, choices: Mapping):
    """The choice that a setting stands for; UnsupportedSetting if it is none of them."""
    if not isinstance(value, Hashable) or value not in choices:
        raise UnsupportedSetting(
            name, N_("{field} is covered for {allowed}, not {value!r}"), value=value, allowed=", ".join(map(str, choices))
        )  # fmt: skip
    return choices[value]


def check_list(name: str, value):
    """None or a list of numbers."""
    if value is None:
        return
    if not isinstance(value, list | tuple):
        raise FieldError(name, N_("{field} must be a list of numbers, not {value!r}"), value=value)
    for part in value:
        check_number(name, part, 0.0, ())


def check_number(name: str, value, default: Real, optional):
    """A number where the default is one; from 1 on where the default is a whole number."""
    if value is None and name in optional:
        return
    if isinstance(value, bool) or not isinstance(value, Real) or value != value:
        raise FieldError(name, N_("{field} must be a number, not {value!r}"), value=value)
    if isinstance(default, int) and value < 1:
        raise FieldError(name, N_("{field} must be at least {minimum}, not {value!r}"), minimum=1, value=value)
