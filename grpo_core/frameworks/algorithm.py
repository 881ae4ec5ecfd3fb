"""An algorithm of the GRPO family as data: one choice in each slot.

A preset is an `Algorithm`; `trl`, `verl` and `openrlhf` translate a framework's settings into one.
Tensors are [B, T] (sequences x tokens) with a mask; a bandit's are [B, 1].
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import torch

from grpo_core.advantages import compare_in_group
from grpo_core.frameworks.advantages import Estimator, padded
from grpo_core.frameworks.aggregation import Aggregation
from grpo_core.frameworks.kl import TokenKl
from grpo_core.frameworks.settings import UnsupportedSetting
from grpo_core.frameworks.surrogates import GeoMean, LogProb, Ratio, Tokens
from grpo_core.messages import N_, FieldError


class Loss(NamedTuple):
    """value: the loss, differentiable; per_token: [B, T], KL term included, 0 where masked; metrics: the framework's."""

    value: torch.Tensor
    per_token: torch.Tensor
    metrics: dict[str, float]


class Scored(NamedTuple):
    """A batch and what the surrogate and the KL made of it: what a framework's metrics are computed from."""

    algorithm: "Algorithm"
    tokens: Tokens
    marks: dict[str, torch.Tensor]
    kl: torch.Tensor | None


def no_metrics(*_) -> dict:
    return {}


@dataclass(frozen=True)
class Algorithm:
    """The defaults are the chapter's loss with a kl_coef of 0.

    framework        whose settings it stands for, with version
    estimator        advantages: baseline, scale, whitening. None: they need a model, or more than rewards
    ratio            to the old policy
    surrogate        the clip, and what replaces it. None: the KL term alone
    token_kl         the KL; kl_coef is its coefficient in the loss
    aggregation      over tokens and sequences
    kl_aggregation   of the KL term, where it is another
    drop_above       with A < 0, a sequence whose mean log(old / policy) is above this is left out
                     (off-policy sequence masking, DeepSeek-V3.2 arXiv 2512.02556)
    rollout_weights  [B][T] importance weights of the old policy over the one that sampled
    loss_metrics     what the framework logs about a loss; group_metrics: about rewards
    """

    framework: str = "the chapter"
    estimator: Estimator | None = field(default_factory=Estimator)
    ratio: Ratio = field(default_factory=Ratio)
    surrogate: Callable | None = field(default_factory=LogProb)
    token_kl: TokenKl = field(default_factory=lambda: TokenKl("exact"))
    kl_coef: float = 0.0
    aggregation: Aggregation = field(default_factory=lambda: Aggregation("seq-mean-token-mean"))
    kl_aggregation: Aggregation | None = None
    drop_above: float | None = None
    rollout_weights: tuple | None = None
    loss_metrics: Callable[[Scored], dict] = no_metrics
    group_metrics: Callable[["Algorithm", torch.Tensor], dict] = no_metrics

    def advantages(self, rewards, lengths=None, kl=None) -> torch.Tensor:
        """Rewards [groups, G], or [groups, G, reward functions] -> advantages [groups, G].

        rewards  NaN (or None in a list) = not scored: advantage 0. Lists of unequal length are padded so.
                 [groups, G] is the total reward: weights of reward functions are already in it
        lengths  [groups, G] tokens of each completion, 1 if left out; matters when tokens are counted
        kl       [groups, G, T] per-token KL of the old policy, masked, for an algorithm with the KL in the
                 reward; left out it is 0. Where it is subtracted token by token the result is [groups, G, T]
        """
        if self.estimator is None:
            raise UnsupportedSetting(
                "advantage estimator", N_("{field}: these advantages cannot be computed from rewards alone")
            )
        if kl is not None and self.estimator.kl_in is None:
            raise FieldError("kl", N_("{field}: this algorithm has no KL in the reward"))
        return self.estimator(rewards, lengths, kl)

    def reward_metrics(self, rewards) -> dict:
        """What the framework logs about these rewards, under its own keys."""
        return self.group_metrics(self, padded(rewards))

    def kl(self, log_prob, ref_log_prob, old_log_prob=None, mask=None) -> torch.Tensor:
        """KL(policy || reference) per token, before its coefficient, differentiable: [B, T] -> [B, T]."""
        tokens = self.tokens(log_prob, old_log_prob, mask, None)
        return self._estimated_kl(tokens, same_shape("ref_log_prob", ref_log_prob, tokens.log_prob))

    def loss(self, log_prob, old_log_prob, ref_log_prob, mask, advantages, kl=None) -> Loss:
        """The loss of one batch: log-probs and mask [B, T], advantages [B] or [B, T].

        old_log_prob None: on-policy, the old policy is the current one, detached.
        ref_log_prob is needed for a KL term, advantages for everything else.
        kl [B, T] takes the place of an estimate: the exact KL of each token's distribution.
        """
        tokens = self.tokens(log_prob, old_log_prob, mask, advantages)
        value = per_token = torch.zeros_like(tokens.log_prob).sum()
        marks = {}
        if self.surrogate is not None:
            if advantages is None:
                raise FieldError("advantages", N_("{field} are needed for this loss"))
            per_token, marks = self.policy_term(tokens)
            value = self.aggregation(per_token, tokens.mask)
        if self.kl_coef != 0:
            if kl is None and ref_log_prob is None:
                raise FieldError("ref_log_prob", N_("{field} is needed: the loss has a KL term"))
            if kl is None:
                ref_log_prob = same_shape("ref_log_prob", ref_log_prob, tokens.log_prob)
                kl = self._estimated_kl(tokens, ref_log_prob)
            per_token = per_token + self.kl_coef * kl
            value = value + self.kl_coef * (self.kl_aggregation or self.aggregation)(kl, tokens.mask)
        with torch.no_grad():
            metrics = self.loss_metrics(Scored(self, tokens, marks, kl))
        return Loss(value, torch.where(tokens.mask > 0, per_token, 0.0) * tokens.mask, metrics)

    def _estimated_kl(self, tokens: Tokens, ref_log_prob: torch.Tensor) -> torch.Tensor:
        # OpenRLHF's weight is each token's own ratio, whatever ratio its surrogate has.
        weighted = self.token_kl.gradient == "weighted k2"
        return self.token_kl(tokens.log_prob, ref_log_prob, tokens.log_ratio.exp() if weighted else tokens.ratio)

    def tokens(self, log_prob, old_log_prob, mask, advantages) -> Tokens:
        """A batch as the surrogate sees it; the arguments are those of `loss`."""
        if not isinstance(log_prob, torch.Tensor):
            log_prob = torch.as_tensor(log_prob, dtype=torch.float64)
        old = log_prob.detach() if old_log_prob is None else same_shape("old_log_prob", old_log_prob, log_prob)
        mask = torch.ones_like(log_prob) if mask is None else same_shape("mask", mask, log_prob)
        if advantages is None:
            advantages = torch.zeros_like(log_prob)
        else:
            advantages = torch.as_tensor(advantages).to(log_prob)
            advantages = advantages[:, None] if advantages.ndim == 1 else advantages
            same_shape("advantages", advantages.expand(*advantages.shape[:-1], log_prob.shape[-1]), log_prob)
        log_ratio = log_prob - old
        return Tokens(log_prob, old, log_ratio, self.ratio(log_prob, log_ratio, mask), advantages, mask)

    def policy_term(self, tokens: Tokens) -> tuple[torch.Tensor, dict]:
        """The surrogate of each token with its weight, and the surrogate's marks."""
        policy, marks = self.surrogate(tokens)
        return policy * self._weights(tokens), marks

    def _weights(self, tokens: Tokens) -> torch.Tensor | float:
        """What each token's surrogate is multiplied by."""
        weights = 1.0
        if self.drop_above is not None:
            drift = tokens.sequence_mean(-tokens.log_ratio.detach())
            weights = ((tokens.advantages >= 0) | (drift <= self.drop_above)).to(tokens.mask)
        if self.rollout_weights is not None:
            rollout = torch.tensor(self.rollout_weights, dtype=tokens.mask.dtype)
            if isinstance(self.surrogate, GeoMean):  # one loss per sequence: their geometric mean
                rollout = tokens.sequence_mean((rollout + 1e-10).log()).exp()
            weights = weights * rollout
        return weights


def sample_std(rewards: torch.Tensor) -> torch.Tensor:
    """Std (ddof 1) of the scored rewards, NaN for fewer than two: [..., G] -> [...]."""
    std = compare_in_group(rewards, 1, 0.0)[1]
    return std.masked_fill((~rewards.isnan()).sum(-1) < 2, math.nan)


def same_shape(name: str, values, log_prob: torch.Tensor) -> torch.Tensor:
    """Values as a tensor of log_prob's type; FieldError if their shape is another."""
    values = torch.as_tensor(values).to(log_prob)
    if values.shape != log_prob.shape:
        raise FieldError(
            name, N_("{field} must have the shape of log_prob, {expected}, not {shape}"),
            expected=tuple(log_prob.shape), shape=tuple(values.shape),
        )  # fmt: skip
    return values
