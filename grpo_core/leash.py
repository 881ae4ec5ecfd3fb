"""Experiments on the leash: one batch for several kl_coef, and where small steps come to rest."""

from typing import NamedTuple

import torch

from grpo_core.config import TrainConfig
from grpo_core.kl import categorical_kl
from grpo_core.task import BanditTask
from grpo_core.training import train

FLAT = 0.005
"""A mean probability that changes by less than this, and what chance does, from one quarter of a run to the next is at rest."""


class Rest(NamedTuple):
    """[K] mean probability over seeds and the last quarter of a run, and whether it has stopped moving."""

    probability: torch.Tensor
    flat: torch.Tensor


def train_leashes(task: BanditTask, config: TrainConfig, kl_coefs, seeds, scale: str = "std") -> torch.Tensor:
    """The same run under K coefficients, trained as one batch: probabilities [K, S, E+1, P, A]."""
    kl_coefs, seeds = tuple(kl_coefs), tuple(seeds)
    coefficient_of_each = [value for value in kl_coefs for _ in seeds]
    together = train(task, config, seeds * len(kl_coefs), keep_samples=0, kl_coefs=coefficient_of_each, scale=scale)
    return together.probabilities.unflatten(0, (len(kl_coefs), len(seeds)))


def textbook_policy(task: BanditTask, kl_coef: float) -> torch.Tensor:
    """The policy that maximises reward - kl_coef * KL: proportional to reference * exp(reward / kl_coef), [P, A].

    Over all kl_coef these are the best rewards that any policy has at their KL. GRPO does not stop there:
    its advantage is not the reward, but the reward against its group. (Rafailov et al., arXiv 2305.18290, eq. 4)
    """
    return (task.reference_policy.log() + task.rewards / kl_coef).softmax(-1)


def kl_and_reward(task: BanditTask, policies: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """What policies cost and bring: KL in nats and expected reward, means over prompts, [..., P, A] -> two [...]."""
    kl = categorical_kl(policies, task.reference_policy).mean(-1)
    return kl, torch.linalg.vecdot(policies, task.rewards).mean(-1)


def textbook_frontier(task: BanditTask, kl_coefs) -> tuple[torch.Tensor, torch.Tensor]:
    """KL and expected reward of the textbook policy under each coefficient, two [K]: no policy has more reward at its KL.

    The coefficients are in units of the widest spread of a prompt's rewards, so that any rewards give the whole line.
    """
    unit = (task.rewards.amax(-1) - task.rewards.amin(-1)).max().item() or 1.0
    return kl_and_reward(task, torch.stack([textbook_policy(task, value * unit) for value in kl_coefs]))


def measure_rest(
    kl_coefs,
    group_size: int,
    scale: str = "std",
    reference_probability: float = 1 / 3,
    learning_rate: float = 0.05,
    optimizer: str = "sgd",
    seeds: int = 16,
    epochs: int = 4_000,
) -> Rest:
    """Train one prompt with one right answer of three until it rests.

    The prediction (`theory.resting_probability`) is for small steps: larger ones rest further out.
    """
    wrong = (1 - reference_probability) / 2
    task = BanditTask(["prompt"], ["right", "wrong", "other"], [[1, 0, 0]], [[reference_probability, wrong, wrong]])
    config = TrainConfig(
        epochs=epochs, group_size=group_size, learning_rate=learning_rate, optimizer=optimizer, epsilon=0.0
    )
    right = train_leashes(task, config, kl_coefs, range(seeds), scale)[..., 0, 0]  # [K, S, E+1]
    quarter = epochs // 4
    before, last = right[..., -2 * quarter : -quarter].mean(-1), right[..., -quarter:].mean(-1)
    chance = 2 * (last - before).std(1) / seeds**0.5
    return Rest(last.mean(1), (last - before).mean(1).abs() < FLAT + chance)
