"""What makes REINFORCE, PPO, GRPO and DPO different, as data, and what a run of one leaves behind.

The online ones differ in the advantage, the clip and the number of updates a rollout; DPO learns from a
fixed set of preference pairs. The loop that they share is in `method_training`.
"""

from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real

import torch

from grpo_core.config import TrainConfig
from grpo_core.frameworks.algorithm import Algorithm
from grpo_core.kl import categorical_kl
from grpo_core.messages import N_, FieldError
from grpo_core.task import BanditTask

ADVANTAGES = ("reward", "baseline", "value", "group")
LABELS = ("deterministic", "bradley_terry")
_RANGES = {
    "inner_epochs": (1, 64),
    "max_draws": (1, 100),
    "clip": (0, 1),
    "value_learning_rate": (0, 1),
    "beta": (0, 10),
}


@dataclass(frozen=True)
class Method:
    """What makes a method. Checked on construction; a wrong value is a `FieldError`.

    advantage            of an online method. reward: the reward itself; baseline: minus the prompt's mean
                         reward over all earlier epochs (0 in the first); value: minus the value learned
                         for the prompt; group: group-relative
    clip                 the ratio to the old policy earns nothing beyond 1 ± clip; None: never clipped
    algorithm            of the GRPO family, with everything in it: instead of advantage, clip and kl_coef
    max_draws            a silent group is drawn again, up to so many draws in all
    inner_epochs         updates on the same rollout, or on the same pairs
    value_learning_rate  SGD step of the value table, per inner epoch
    pairs                of DPO, instead of an advantage. deterministic: the larger reward is chosen, ties are
                         left out; bradley_terry: chosen with probability sigmoid(r_chosen - r_rejected)
    beta                 DPO's leash: the smaller, the further from the reference
    """

    name: str
    advantage: str | None = None
    clip: float | None = None
    inner_epochs: int = 1
    value_learning_rate: float = 0.1
    pairs: str | None = None
    beta: float = 0.1
    algorithm: Algorithm | None = None
    max_draws: int = 1

    def __post_init__(self):
        _check_choice("pairs", self.pairs, (None, *LABELS) if self.algorithm is None else (None,))
        plain = self.pairs is None and self.algorithm is None
        _check_choice("advantage", self.advantage, ADVANTAGES if plain else (None,))
        if not plain:
            _check_choice("clip", self.clip, (None,))
        for name, (minimum, maximum) in _RANGES.items():
            if name != "clip" or self.clip is not None:
                _check_number(name, getattr(self, name), minimum, maximum)


def _check_choice(name: str, value, choices: tuple):
    if value not in choices:
        raise FieldError(
            name, N_("{field} must be one of {allowed}, not {value!r}"), value=value, allowed=", ".join(map(str, choices))
        )  # fmt: skip


def _check_number(name: str, value, minimum, maximum):
    if name in ("inner_epochs", "max_draws"):
        kind, template = Integral, N_("{field} must be a whole number, not {value!r}")
    else:
        kind, template = Real, N_("{field} must be a number, not {value!r}")
    if isinstance(value, bool) or not isinstance(value, kind):
        raise FieldError(name, template, value=value)
    if not minimum <= value <= maximum:
        raise FieldError(
            name, N_("{field} must be from {minimum} to {maximum}, not {value!r}"),
            value=value, minimum=minimum, maximum=maximum,
        )  # fmt: skip


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("REINFORCE", "reward"),
        Method("REINFORCE with baseline", "baseline"),
        Method("PPO", "value", clip=0.2, inner_epochs=4),
        Method("GRPO", "group"),
        Method("GRPO with clipping", "group", clip=0.2, inner_epochs=4),
        Method("DPO", pairs="deterministic"),
    )
}
"""The presets. GRPO is the chapter's: `train` gives the same run."""


@dataclass(frozen=True, eq=False)
class MethodHistory:
    """The result of `train_method`. S seeds, E epochs, P prompts, A actions.

    log_probabilities  [S, E+1, P, A] row e sampled epoch e, the last is after the last update
    values             [S, E+1, P] what rewards are compared with in epoch e; 0 unless baseline or value
    loss               [S, E] mean over the epoch's updates, each before its step
    clip_fraction      [S, E] share of the epoch's samples x updates whose gradient the clip cut to 0
    pairs              [S, P, A, A] how often (chosen, rejected) is in DPO's data; 0 for online methods
    samples_used       [E+1] samples drawn before epoch e, the mean over seeds; DPO draws all of its own before the first
    """

    task: BanditTask
    config: TrainConfig
    method: Method
    seeds: tuple[int, ...]
    log_probabilities: torch.Tensor
    values: torch.Tensor
    loss: torch.Tensor
    clip_fraction: torch.Tensor
    pairs: torch.Tensor
    samples_used: torch.Tensor

    @cached_property
    def probabilities(self) -> torch.Tensor:
        """[S, E+1, P, A]."""
        return self.log_probabilities.exp()

    @cached_property
    def mean_reward(self) -> torch.Tensor:
        """[S, E+1] expected reward of the policy, mean over prompts: no samples, so DPO has it too."""
        return torch.linalg.vecdot(self.probabilities, self.task.rewards).mean(-1)

    @cached_property
    def mean_kl(self) -> torch.Tensor:
        """[S, E+1] KL(policy || reference) in nats, mean over prompts."""
        return categorical_kl(self.probabilities, self.task.reference_policy).mean(-1)

    @cached_property
    def target_probability(self) -> torch.Tensor:
        """[S, E+1] probability of the target action (of all targets together), mean over prompts."""
        return (self.probabilities * self.task.is_target).sum(-1).mean(-1)

    @cached_property
    def margin(self) -> torch.Tensor:
        """[S, E+1] DPO's mean over pairs of beta * (log-ratio(chosen) - log-ratio(rejected)); NaN without pairs."""
        log_ratio = self.log_probabilities - self.task.reference_policy.log()
        surplus = (self.pairs.sum(-1) - self.pairs.sum(-2))[:, None]
        return self.method.beta * (log_ratio * surplus).sum((-2, -1)) / self.pairs.sum((-3, -2, -1))[:, None]

    @property
    def extra_parameters(self) -> int:
        """Numbers learned beside the policy: PPO's value of each prompt."""
        return len(self.task.prompts) if self.method.advantage == "value" else 0
