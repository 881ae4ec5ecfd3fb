"""Advantage estimators of the frameworks: baseline, scale, whitening, each a slot.

advantage = whiten((reward - baseline) / scale), for groups of completions, NaN = not scored.
Not about: the chapter's own advantage (`grpo_core.advantages`, whose group statistics are used here).
"""

import math
from dataclasses import dataclass, replace
from functools import cache
from math import comb
from typing import NamedTuple

import torch

from grpo_core.advantages import checked_rewards, compare_in_group
from grpo_core.messages import N_, FieldError

BASELINES = ("none", "group mean", "leave-one-out", "batch mean", "length-weighted mean", "second best", "best of k")
SCALES = ("none", "group std", "batch std", "group mean", "share of non-zero rewards")


@dataclass(frozen=True)
class Estimator:
    """How rewards become advantages. The defaults are the chapter's.

    baseline    what a reward r is compared with. group mean; leave-one-out: the mean of the others (RLOO,
                arXiv 2402.14740); batch mean: of all completions; length-weighted mean: of the group (OPO,
                arXiv 2505.23585); second best: the best keeps its lead, all others get 0 (pass@k, arXiv 2503.19595);
                best of k: the mean best reward of k completions, itself compared by that of the k that include it
                (pass@k training, arXiv 2508.10751); its group std is that of the best rewards
    scale       what the difference is divided by. group std; batch std: of all rewards; group mean (MaxRL, arXiv
                2602.02710); share of non-zero rewards: of all completions (GPG, arXiv 2504.02546)
    ddof        of the stds; epsilon is added to std and group mean; k is that of "best of k"
    lone        a group with one scored completion: "zero", or "reward" (its own reward, over 1 + epsilon)
    smallest    groups of fewer completions are refused; group_size: of any other number, None: of none
    whitening   afterwards: None; "completions": (a - mean) / (std + epsilon) over all completions;
                "tokens": verl's, a counted once per response token, ddof 1, (a - mean) / sqrt(var + 1e-8);
                "tokens, ddof 0": OpenRLHF's, / sqrt(max(var, 1e-8)); "token mean": a - mean
    decoupled   each reward function is compared on its own before the weighted sum (GDPO, arXiv 2601.05242)
    weights     of the reward functions; None: all 1
    limits      the advantage is clipped to this range, before whitening
    kl_in       with a KL in the reward: "reward": it is subtracted before comparing (verl); "return": each token's
                advantage loses the KL from there on, after comparing (OpenRLHF); kl_coef is its coefficient
    """

    baseline: str = "group mean"
    scale: str = "group std"
    ddof: int = 0
    epsilon: float = 1e-6
    lone: str = "zero"
    smallest: int = 1
    group_size: int | None = None
    whitening: str | None = None
    decoupled: bool = False
    weights: tuple[float, ...] | None = None
    limits: tuple[float, float] | None = None
    kl_in: str | None = None
    kl_coef: float = 0.0
    k: int = 2

    def __call__(self, rewards, lengths=None, kl=None) -> torch.Tensor:
        """Rewards [N, G] or [N, G, F] -> advantages [N, G]; see `Algorithm.advantages`."""
        rewards = padded(rewards)
        if rewards.shape[1] < self.smallest:
            raise too_small(self.smallest)
        if self.group_size not in (None, rewards.shape[1]):
            raise FieldError("rewards", N_("{field} must have {size} samples in each group"), size=self.group_size)
        total = self.total(rewards)
        lengths = torch.ones_like(total) if lengths is None else lengths_of(lengths, total)
        compared = self.decoupled_sum(rewards, lengths) if self.decoupled else None
        return self._advantages(total, lengths, kl, compared)

    def of_batches(self, rewards: torch.Tensor, kl=None) -> torch.Tensor:
        """Many batches at once, completions of one token: total rewards and KL [S, N, G] -> [S, N, G]."""
        if rewards.shape[-1] < self.smallest:
            raise too_small(self.smallest)
        kl = None if kl is None else kl[..., None]
        advantages = self._advantages(rewards, torch.ones_like(rewards), kl)
        return advantages if advantages.ndim == rewards.ndim else advantages[..., 0]

    def _advantages(self, total, lengths, kl, compared=None) -> torch.Tensor:
        """Total rewards and lengths [..., N, G], KL [..., N, G, T]; one batch is the last two dimensions."""
        unscored, batch = total.isnan(), (-2, -1)
        if kl is not None:
            kl = torch.as_tensor(kl, dtype=total.dtype)
        if kl is not None and self.kl_in == "reward":
            total = total - self.kl_coef * kl.sum(-1)
        advantages = self.compare(total, lengths) if compared is None else compared
        if self.limits is not None:
            advantages = advantages.clamp(*self.limits)
        counted = lengths
        if kl is not None and self.kl_in == "return":
            batch = (-3, -2, -1)
            counted = (torch.arange(kl.shape[-1]) < lengths[..., None]).to(total)
            to_come = (kl * counted).flip(-1).cumsum(-1).flip(-1)
            advantages = (advantages[..., None] - self.kl_coef * to_come) * counted
            unscored = unscored[..., None].expand_as(advantages)
        if self.whitening is not None:
            advantages = whiten(
                advantages.masked_fill(unscored, math.nan), counted, self.whitening, self.epsilon, batch
            )
        return advantages.masked_fill(unscored, 0.0)

    def worked(self, rewards) -> "Worked":
        """One group's largest advantage step by step: rewards [G]."""
        group = padded([list(rewards)])
        plain = replace(self, group_size=None, decoupled=False, whitening=None, limits=None)
        difference, scaled = (estimator(group)[0] for estimator in (replace(plain, scale="none"), plain))
        final = replace(self, group_size=None)(group)[0]
        index = int(difference.argmax())
        value = group[0, index].item()
        if self.baseline == "best of k":
            value = (best_of(group, self.k)[1][0] + difference[index]).item()
        divisor = (difference[index] / scaled[index]).item() if scaled[index] else None
        return Worked(
            index, value, value - difference[index].item(), divisor, scaled[index].item(), final[index].item()
        )  # fmt: skip

    def total(self, rewards: torch.Tensor) -> torch.Tensor:
        """The weighted sum over reward functions, NaN where none scored: [N, G, F] -> [N, G]; [N, G] is one already."""
        if rewards.ndim == 2:
            return rewards
        return (rewards * self.weight(rewards)).nansum(-1).masked_fill(rewards.isnan().all(-1), math.nan)

    def weight(self, rewards: torch.Tensor) -> torch.Tensor:
        functions = rewards.shape[-1]
        weights = (1.0,) * functions if self.weights is None else self.weights
        if len(weights) != functions:
            raise FieldError(
                "rewards", N_("{field} must be of {weights} reward functions, one a weight, not of {functions}"),
                weights=len(weights), functions=functions,
            )  # fmt: skip
        return torch.tensor(weights, dtype=rewards.dtype)

    def decoupled_sum(self, rewards: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Each reward function compared on its own, then the weighted sum: [N, G, F] -> [N, G], NaN where none scored."""
        each = rewards if rewards.ndim == 3 else rewards[..., None]
        compared = torch.stack([self.compare(reward, lengths) for reward in each.unbind(-1)], -1)
        return (compared * self.weight(each)).nansum(-1).masked_fill(each.isnan().all(-1), math.nan)

    def compare(self, rewards: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """(reward - baseline) / scale: [..., N, G] -> [..., N, G], NaN or 0 where not scored."""
        unscored = rewards.isnan()
        count = (~unscored).sum(-1, keepdim=True)
        mean, std, _, difference = compare_in_group(rewards, self.ddof, self.epsilon, "none")
        alone = (count == 1) & (self.lone == "reward")
        if self.baseline == "none":
            difference = rewards
        elif self.baseline == "leave-one-out":
            difference = difference * (count.to(rewards) / (count - 1).clamp(min=1))
        elif self.baseline == "batch mean":
            difference = compare_in_group(rewards.flatten(-2), self.ddof, self.epsilon, "none")[-1].view_as(rewards)
        elif self.baseline == "length-weighted mean":
            weight = lengths * ~unscored
            # Averaging the differences, not the rewards, keeps a silent group at exactly 0.
            difference = difference - (weight * difference).sum(-1, keepdim=True) / weight.sum(-1, keepdim=True)
        elif self.baseline == "second best":
            difference = lead(rewards)
        elif self.baseline == "best of k":
            difference, _mean, std = best_of(rewards, self.k)
        difference = torch.where(alone, rewards, difference)
        if self.scale == "none":
            return difference
        if self.scale == "group std":
            return difference / (torch.where(alone, 1.0, std[..., None]) + self.epsilon)
        if self.scale == "batch std":
            return (
                difference / (compare_in_group(rewards.flatten(-2), self.ddof, 0.0)[1] + self.epsilon)[..., None, None]
            )
        if self.scale == "group mean":
            return difference / (mean[..., None] + self.epsilon)
        scored, nonzero = (marks.sum((-2, -1), keepdim=True) for marks in (~unscored, rewards.nan_to_num(nan=0.0) != 0))
        return difference * (scored.to(rewards) / nonzero.clamp(min=1))


class Worked(NamedTuple):
    """(value - baseline) / divisor = scaled, and `advantage` after clipping and whitening; divisor None where all is 0."""

    index: int
    value: float
    baseline: float
    divisor: float | None
    scaled: float
    advantage: float


def too_small(minimum: int) -> FieldError:
    return FieldError("rewards", N_("{field} must have at least {minimum} samples in each group"), minimum=minimum)


def padded(rows) -> torch.Tensor:
    """Rows as a tensor [N, G] or [N, G, F]; lists of unequal length are filled with NaN, None is NaN."""
    if isinstance(rows, list | tuple) and all(isinstance(row, list | tuple) for row in rows):
        longest = max(map(len, rows), default=0)
        rows = [[*row, *[None] * (longest - len(row))] for row in rows]
        functions = next((len(cell) for row in rows for cell in row if isinstance(cell, list | tuple)), 0)
        blank = [math.nan] * functions or math.nan
        rows = [[blank if cell is None else cell for cell in row] for row in rows]
        if functions:
            rows = [[[math.nan if x is None else x for x in cell] for cell in row] for row in rows]
    rewards = checked_rewards(rows)
    if rewards.ndim not in (2, 3):
        raise FieldError(
            "rewards", N_("{field} must be groups of samples: [groups, G] or [groups, G, reward functions]")
        )
    return rewards


def lengths_of(rows, rewards: torch.Tensor) -> torch.Tensor:
    """Tokens of each completion, [N, G] as the rewards; 0 where there is none."""
    try:
        lengths = padded(rows).to(rewards)
    except FieldError as error:
        raise FieldError("lengths", N_("{field} must be groups of numbers: [groups, G]")) from error
    if lengths.shape != rewards.shape:
        raise FieldError(
            "lengths", N_("{field} must have the shape {shape} of the rewards, not {value}"),
            shape=list(rewards.shape), value=list(lengths.shape),
        )  # fmt: skip
    return lengths.nan_to_num(nan=0.0)


def lead(rewards: torch.Tensor) -> torch.Tensor:
    """The best completion's reward minus the second best's, 0 for the others: [N, G] -> [N, G]."""
    if ((~rewards.isnan()).sum(-1) < 2).any():
        raise too_small(2)
    best = rewards.masked_fill(rewards.isnan(), -math.inf).topk(2, dim=-1)
    return torch.zeros_like(rewards).scatter(-1, best.indices[..., :1], best.values[..., :1] - best.values[..., 1:])


def best_of(rewards: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Of all ways to take k of a group's n scored completions, by their best reward: [..., G] -> [..., G], [...], [...].

    The mean best of those with completion i in them minus the mean best of all; the latter; the std of the best.
    With rewards of 0 and 1, n0 of them 0: mean = 1 - C(n0, k) / C(n, k), std = sqrt(mean (1 - mean)); a 1 has
    1 - mean, a 0 has 1 - mean - C(n0 - 1, k - 1) / C(n - 1, k - 1) (arXiv 2508.10751, section 2.4).
    In general the j-th lowest of n (from 0) is the best of C(j, k - 1) of the C(n, k) ways, of C(j - 1, k - 2) with
    a given lower one among them. Of fewer than k completions all are taken.
    """
    size = rewards.shape[-1]
    scored = ~rewards.isnan()
    count = scored.sum(-1, keepdim=True)
    taken = count.clamp(max=k)
    ways = binomials(size)
    ascending, order = rewards.masked_fill(~scored, -math.inf).sort(-1)
    place = torch.arange(size) - (size - count)  # negative: not scored
    first = ascending.masked_fill(place < 0, math.inf).amin(-1, keepdim=True)
    above = (ascending - first).masked_fill(place < 0, 0.0)  # equal rewards are exactly 0
    is_best = torch.where(place < 0, 0.0, ways[place.clamp(min=0), (taken - 1).clamp(min=0)])
    share = is_best / ways[count, taken]
    mean = (share * above).sum(-1, keepdim=True)
    variance = (share * (above - mean).square()).sum(-1)
    passed = torch.where((place < 1) | (taken < 2), 0.0, ways[(place - 1).clamp(min=0), (taken - 2).clamp(min=0)])
    better = (passed * above).flip(-1).cumsum(-1).flip(-1) - passed * above
    with_it = (is_best * above + better) / ways[(count - 1).clamp(min=0), (taken - 1).clamp(min=0)]
    difference = torch.zeros_like(rewards).scatter(-1, order, with_it - mean)
    return difference.masked_fill(~scored, math.nan), (first + mean)[..., 0], variance.sqrt()


@cache
def binomials(size: int) -> torch.Tensor:
    """C(n, m) for n and m up to `size`."""
    return torch.tensor([[comb(n, m) for m in range(size + 1)] for n in range(size + 1)], dtype=torch.float64)


def whiten(values: torch.Tensor, counted: torch.Tensor, kind: str, epsilon: float, batch=(-2, -1)) -> torch.Tensor:
    """Values compared with all of their batch's, NaN left out; `counted` is how often each counts. See `Estimator`.

    `batch` are the dimensions of one batch.
    """
    if kind == "completions":
        return compare_in_group(values.flatten(batch[0]), 1, epsilon)[-1].view_as(values)
    counted = counted * ~values.isnan()
    values = values.nan_to_num(nan=0.0)
    number = counted.sum(batch, keepdim=True)
    total = (values * counted).sum(batch, keepdim=True)
    if kind == "tokens":
        if (number < 2).any():
            raise FieldError("lengths", N_("{field} must add up to at least 2 tokens: their std is taken"))
        deviation = values - total / (number + 1e-8)
        variance = (deviation.square() * counted).sum(batch, keepdim=True) / (number + 1e-8) * number / (number - 1)
        return deviation * (variance + 1e-8).rsqrt()
    deviation = values - total / number
    if kind == "token mean":
        return deviation
    variance = (deviation.square() * counted).sum(batch, keepdim=True) / number
    return deviation * variance.clamp(min=1e-8).rsqrt()
