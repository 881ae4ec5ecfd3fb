"""The methods over many seeds, for comparing them: medians and 5-95 % bands, what was drawn, what was kept."""

from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple

import torch

from grpo_core.bands import LEVELS, band_seeds
from grpo_core.config import TrainConfig
from grpo_core.family import Told, tell_apart
from grpo_core.messages import N_, FieldError
from grpo_core.method_training import train_method
from grpo_core.methods import Method, MethodHistory
from grpo_core.task import BanditTask
from grpo_core.training import train

SEEDS = 64


@dataclass(frozen=True, eq=False)
class MethodBands:
    """Quantiles over `seeds` seeds; [3] is LEVELS, E epochs.

    mean_reward, mean_kl, value [3, E+1]; value is the mean over prompts of what rewards are compared with
    margin        [3, E+1] over the seeds that have pairs; NaN where none has
    samples_used  [E+1] samples drawn before epoch e
    pairs_kept    median number of DPO's pairs that can teach
    without_pair  DPO's share of seeds x prompts with no pair at all; 0 for online methods
    """

    method: Method
    seeds: int
    mean_reward: torch.Tensor
    mean_kl: torch.Tensor
    value: torch.Tensor
    margin: torch.Tensor
    samples_used: torch.Tensor
    pairs_kept: float
    without_pair: float
    extra_parameters: int


def method_seeds(task: BanditTask, config: TrainConfig) -> int:
    """How many seeds each method gets: 64, fewer when the run is large, at least 8."""
    return max(8, min(SEEDS, band_seeds(task, config) // 2))


def train_method_bands(task: BanditTask, config: TrainConfig, method: Method) -> MethodBands:
    """Train seeds 0, 1, 2, ... of a configuration (whatever its own seed) and keep the quantiles."""
    return bands_of(train_method(task, config, method, range(method_seeds(task, config))))


def bands_of(history: MethodHistory) -> MethodBands:
    method = history.method
    bare = (history.pairs.sum((-2, -1)) == 0) & (method.pairs is not None)
    return MethodBands(
        method,
        len(history.seeds),
        *(_quantiles(values) for values in (history.mean_reward, history.mean_kl, history.values.mean(-1))),
        _quantiles(history.margin),
        history.samples_used,
        history.pairs.sum((-3, -2, -1)).quantile(0.5).item(),
        bare.double().mean().item(),
        history.extra_parameters,
    )


class Family(NamedTuple):
    """Algorithms over the same seeds: each one's bands, what tells each pair apart, and the errors of those that cannot run."""

    bands: dict[str, MethodBands]
    told: dict[tuple[str, str], Told]
    errors: dict[str, FieldError]


def train_family(task: BanditTask, config: TrainConfig, methods: dict[str, Method]) -> Family:
    """Train methods that are algorithms of the GRPO family, each on seeds 0, 1, 2, ..."""
    histories, errors = {}, {}
    for name, method in methods.items():
        try:
            history = train_method(task, config, method, range(method_seeds(task, config)))
            if not history.log_probabilities.isfinite().all():
                raise FieldError(name, N_("{field}: with these values the policy leaves the range of numbers"))
            histories[name] = history
        except FieldError as error:
            errors[name] = error
    told = {
        (first, second): tell_apart(histories[first], histories[second]) for first, second in permutations(histories, 2)
    }
    return Family({name: bands_of(history) for name, history in histories.items()}, told, errors)


def silent_shares(task: BanditTask, config: TrainConfig) -> torch.Tensor:
    """[E] share of silent groups of each epoch of GRPO, over all prompts and `method_seeds` seeds."""
    history = train(task, config, seeds=range(method_seeds(task, config)), keep_samples=0)
    return history.silent_share.mean(0)


def _quantiles(values: torch.Tensor) -> torch.Tensor:
    """LEVELS over the first dimension, NaN left out: [S, ...] -> [3, ...]."""
    return torch.nanquantile(values, torch.tensor(LEVELS, dtype=torch.float64), dim=0)
