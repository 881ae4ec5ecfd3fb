"""Every hyperparameter of a run: its name, default, allowed range, and what it does.

The help text of a field is the `--help` of the command and the help of the widget.
"""

import dataclasses
import math
import numbers
from dataclasses import dataclass, field

from grpo_core.messages import N_, FieldError


@dataclass(frozen=True)
class Setting:
    """What a field allows. `app_maximum` keeps a public app quick; the core allows `maximum`."""

    help: str
    minimum: float | None = None
    maximum: float | None = None
    app_maximum: float | None = None
    step: float | None = None
    choices: tuple = ()
    advanced: bool = False


def _setting(default, help, **limits):
    return field(default=default, metadata={"setting": Setting(help, **limits)})


@dataclass(frozen=True)
class TrainConfig:
    """The settings of one run. Checked on construction; a wrong value is a `FieldError`."""

    epochs: int = _setting(
        40,
        N_("How many times every prompt is sampled and the policy updated."),
        minimum=1,
        maximum=10_000,
        app_maximum=500,
        step=1,
    )
    group_size: int = _setting(
        4,
        N_(
            "Answers sampled per prompt and epoch. They are compared with each other; a group of 1 has no peers and learns nothing."
        ),
        minimum=1,
        maximum=64,
        step=1,
    )
    learning_rate: float = _setting(
        0.1,
        N_("Step size of the optimizer, in logits."),
        minimum=0.0,
        maximum=1.0,
        step=0.01,
    )
    kl_coef: float = _setting(
        0.02,
        N_(
            "Weight of KL(policy || reference) in the loss: how short the leash to the initial policy is. 0 removes it."
        ),
        minimum=0.0,
        maximum=2.0,
        step=0.01,
    )
    seed: int = _setting(
        0,
        N_("Start of the random numbers. The same seed gives the same samples on every machine."),
        minimum=0,
        maximum=2**31 - 1,
        step=1,
    )
    epsilon: float = _setting(
        1e-6,
        N_("Added to the group's standard deviation, against division by zero."),
        minimum=0.0,
        maximum=1.0,
        step=1e-6,
        advanced=True,
    )
    ddof: int = _setting(
        0,
        N_("Standard deviation of the group: 0 divides by G (the chapter), 1 by G - 1 (TRL, verl, OpenRLHF)."),
        choices=(0, 1),
        advanced=True,
    )
    optimizer: str = _setting(
        "adam",
        N_("adam scales each logit's step to about the learning rate; sgd moves by learning rate x gradient."),
        choices=("adam", "sgd"),
        advanced=True,
    )

    def __post_init__(self):
        for item in dataclasses.fields(self):
            value = check_value(item.name, getattr(self, item.name))
            object.__setattr__(self, item.name, value)


SETTINGS: dict[str, Setting] = {item.name: item.metadata["setting"] for item in dataclasses.fields(TrainConfig)}
DEFAULTS: dict[str, object] = {item.name: item.default for item in dataclasses.fields(TrainConfig)}


def check_value(name: str, value, in_app: bool = False):
    """`value` in the field's own type, or a `FieldError` that says what is allowed."""
    setting, kind = SETTINGS[name], type(DEFAULTS[name])
    if setting.choices:
        if isinstance(value, bool) or value not in setting.choices:
            raise FieldError(
                name,
                N_("{field} must be one of {allowed}, not {value!r}"),
                value=value,
                allowed=", ".join(map(str, setting.choices)),
            )
        return kind(value)
    wanted = numbers.Integral if kind is int else numbers.Real
    if isinstance(value, bool) or not isinstance(value, wanted) or value != value or abs(value) == math.inf:
        template = (
            N_("{field} must be a whole number, not {value!r}")
            if kind is int
            else N_("{field} must be a number, not {value!r}")
        )
        raise FieldError(name, template, value=value)
    maximum = setting.app_maximum if in_app and setting.app_maximum else setting.maximum
    if not setting.minimum <= value <= maximum:
        raise FieldError(
            name,
            N_("{field} must be from {minimum} to {maximum}, not {value!r}"),
            value=value,
            minimum=setting.minimum,
            maximum=maximum,
        )
    return kind(value) + kind(0)  # -0.0 becomes 0.0


def parse_value(name: str, text: str, in_app: bool = False):
    """The field's value from a text (a command-line option, a link), or a `FieldError`."""
    kind = type(DEFAULTS[name])
    try:
        value = kind(text)
    except ValueError:
        value = text
    return check_value(name, value, in_app)
