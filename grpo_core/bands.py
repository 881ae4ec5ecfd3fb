"""The same run over many seeds, as median and 5-95 % bands."""

from dataclasses import dataclass

import torch

from grpo_core.config import TrainConfig
from grpo_core.history import TrainingHistory
from grpo_core.task import BanditTask
from grpo_core.training import train

LEVELS = (0.05, 0.5, 0.95)
SEEDS = 256
MAX_SAMPLES = 4_000_000
"""Samples that one set of bands may draw; a larger run gets fewer seeds."""
MAX_PROBABILITIES = 4_000_000
"""Probabilities that it may hold (32 MB), likewise: seeds x epochs x prompts x actions."""


@dataclass(frozen=True)
class Bands:
    """Quantiles over `seeds` seeds; each tensor leads with [3] for LEVELS.

    mean_reward [3, E]; mean_kl, entropy, greedy_reward [3, E+1]; target_probabilities [3, E+1, P].
    """

    seeds: int
    mean_reward: torch.Tensor
    greedy_reward: torch.Tensor
    mean_kl: torch.Tensor
    entropy: torch.Tensor
    target_probabilities: torch.Tensor
    silent_share: torch.Tensor


def band_seeds(task: BanditTask, config: TrainConfig) -> int:
    """How many seeds the bands of a run can afford: 256, fewer when the run is large, at least 8."""
    samples = config.epochs * config.group_size * len(task.prompts)
    probabilities = config.epochs * task.rewards.numel()
    return max(8, min(SEEDS, MAX_SAMPLES // samples, MAX_PROBABILITIES // probabilities))


def train_bands(task: BanditTask, config: TrainConfig) -> Bands:
    """Train seeds 0, 1, 2, ... of a configuration (whatever its own seed) and keep the quantiles."""
    seeds = band_seeds(task, config)
    history = train(task, config, seeds=range(seeds), keep_samples=0)
    return Bands(seeds, **{name: quantiles(history, name) for name in Bands.__annotations__ if name != "seeds"})


def quantiles(history: TrainingHistory, name: str) -> torch.Tensor:
    """LEVELS over the seeds of one metric: [S, ...] -> [3, ...]."""
    return torch.quantile(getattr(history, name), torch.tensor(LEVELS, dtype=torch.float64), dim=0)
