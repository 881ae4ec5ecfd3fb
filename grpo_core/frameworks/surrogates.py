"""Surrogates: what is minimised for one token, given its log-prob, its ratio to the old policy and its advantage.

Each returns the loss per token, [B, T] or [B, 1], and named marks of the same shape: which tokens it cut, for the
metrics. `r` below is the ratio, `A` the advantage, sg() a value whose gradient is not taken.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch


class Tokens(NamedTuple):
    """What a surrogate sees of a batch: [B, T] each; ratio and advantages can be [B, 1]. More dimensions: many batches."""

    log_prob: torch.Tensor
    old_log_prob: torch.Tensor
    log_ratio: torch.Tensor
    ratio: torch.Tensor
    advantages: torch.Tensor
    mask: torch.Tensor

    def sequence_mean(self, values: torch.Tensor) -> torch.Tensor:
        """Mean over a sequence's tokens, 0 when all are masked: [B, T] -> [B, 1]."""
        return (values * self.mask).sum(-1, keepdim=True) / self.mask.sum(-1, keepdim=True).clamp(min=1.0)


@dataclass(frozen=True)
class Ratio:
    """The importance ratio exp(log(policy / old policy)), after clamping the log to `limits`.

    token             of each token: [B, T]
    sequence          exp of the mean over the sequence's tokens: [B, 1] (GSPO, arXiv 2507.18071)
    sequence forward  value of the sequence's ratio, gradient of the token's: [B, T] (verl's GSPO)
    """

    level: str = "token"
    limits: tuple[float, float] = (-math.inf, math.inf)

    def __call__(self, log_prob: torch.Tensor, log_ratio: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        if self.level != "token":
            length = mask.sum(-1, keepdim=True).clamp(min=1.0)
            mean = (log_ratio * mask).sum(-1, keepdim=True) / length
            log_ratio = mean if self.level == "sequence" else log_prob - log_prob.detach() + mean.detach()
        return log_ratio.clamp(*self.limits).exp()


@dataclass(frozen=True)
class Clip:
    """-min(r A, clamp(r, 1 - low, 1 + high) A), the clip of PPO (arXiv 1707.06347).

    ceiling  the first r is capped: min(r, ceiling) (TRL's delta, INTELLECT-2 arXiv 2505.07291)
    dual     for A < 0 the loss is at most -dual A (dual clip, arXiv 1912.09729)
    """

    low: float = 0.2
    high: float = 0.2
    ceiling: float | None = None
    dual: float | None = None

    def __call__(self, tokens: Tokens) -> tuple[torch.Tensor, dict]:
        advantages = tokens.advantages
        ratio = tokens.ratio if self.ceiling is None else tokens.ratio.clamp(max=self.ceiling)
        free = ratio * advantages
        clipped = tokens.ratio.clamp(1 - self.low, 1 + self.high) * advantages
        gain = torch.minimum(free, clipped)
        marks = {
            "clipped": clipped < free,
            "low": (ratio < 1 - self.low) & (advantages < 0),
            "high": (ratio > 1 + self.high) & (advantages > 0),
        }
        if self.dual is not None:
            floor = self.dual * advantages
            marks["lower"] = (gain < floor) & (advantages < 0)
            gain = torch.where(advantages < 0, torch.maximum(gain, floor), gain)
        return -gain, marks


@dataclass(frozen=True)
class Cispo:
    """-sg(clamp(r, low, high)) A log_prob: no token's gradient is lost (CISPO, arXiv 2506.13585); bounds of r itself."""

    low: float = 0.0
    high: float = 1.2

    def __call__(self, tokens: Tokens) -> tuple[torch.Tensor, dict]:
        weight = tokens.ratio.clamp(self.low, self.high).detach()
        marks = {"clipped": weight != tokens.ratio, "high": (tokens.ratio > self.high) & (tokens.advantages > 0)}
        return -weight * tokens.advantages * tokens.log_prob, marks


@dataclass(frozen=True)
class Sapo:
    """-sigmoid(t (r - 1)) 4 / t A, with t by the sign of A: a soft gate (SAPO, arXiv 2511.20347)."""

    positive: float = 1.0
    negative: float = 1.05

    def __call__(self, tokens: Tokens) -> tuple[torch.Tensor, dict]:
        temperature = torch.full_like(tokens.advantages, self.negative).masked_fill(
            tokens.advantages > 0, self.positive
        )
        return -torch.sigmoid(temperature * (tokens.ratio - 1)) * 4 / temperature * tokens.advantages, {}


@dataclass(frozen=True)
class GeoMean:
    """-A exp(mean over the sequence of the log ratio, clipped to [-low, high]) (GMPO, arXiv 2507.20673): [B, 1]."""

    low: float = 0.2
    high: float = 0.2

    def __call__(self, tokens: Tokens) -> tuple[torch.Tensor, dict]:
        sign = tokens.advantages.sign()
        clamped = tokens.log_ratio.clamp(-self.low, self.high)
        pessimistic = sign * torch.minimum(sign * tokens.log_ratio, sign * clamped)
        advantage = tokens.sequence_mean(tokens.advantages.expand_as(tokens.mask))
        outside = clamped != tokens.log_ratio
        marks = {"clipped": outside & (tokens.advantages > 0), "lower": outside & (tokens.advantages < 0)}
        return -advantage * tokens.sequence_mean(pessimistic).exp(), marks


@dataclass(frozen=True)
class Vespo:
    """-sg(phi) A log_prob, phi = exp(lam + k log w - lam w), w the product of a sequence's ratios (arXiv 2602.10693).

    k and lam by the sign of A. Each log ratio is clamped to ±20, log w to [log 1e-8, 20].
    """

    k_positive: float = 2.0
    lam_positive: float = 3.0
    k_negative: float = 3.0
    lam_negative: float = 2.0

    def __call__(self, tokens: Tokens) -> tuple[torch.Tensor, dict]:
        log_weight = (tokens.log_ratio.detach().clamp(-20.0, 20.0) * tokens.mask).sum(-1, keepdim=True)
        log_weight = log_weight.clamp(math.log(1e-8), 20.0)
        rising = tokens.advantages >= 0
        power = torch.where(rising, self.k_positive, self.k_negative).to(log_weight)
        decay = torch.where(rising, self.lam_positive, self.lam_negative).to(log_weight).clamp(min=1e-4)
        phi = (decay + power * log_weight - decay * log_weight.exp()).exp().nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)
        return -phi * tokens.advantages * tokens.log_prob, {"phi": phi}


@dataclass(frozen=True)
class LogProb:
    """-A log_prob: no ratio, no clip (REINFORCE; GPG, arXiv 2504.02546)."""

    def __call__(self, tokens: Tokens) -> tuple[torch.Tensor, dict]:
        return -tokens.advantages * tokens.log_prob, {}


@dataclass(frozen=True)
class Unclipped:
    """-r A: the importance-weighted policy gradient."""

    def __call__(self, tokens: Tokens) -> tuple[torch.Tensor, dict]:
        return -tokens.ratio * tokens.advantages, {}


@dataclass(frozen=True)
class Quadratic:
    """-(A log_prob - beta / 2 (log r)^2): no ratio, a leash on the old policy instead (verl's dro)."""

    beta: float = 0.1

    def __call__(self, tokens: Tokens) -> tuple[torch.Tensor, dict]:
        return -(tokens.log_prob * tokens.advantages - self.beta / 2 * tokens.log_ratio.square()), {}


@dataclass(frozen=True)
class TrustRegion:
    """-sg(min(r, cap)) A log_prob, 0 where the token has left the trust region in A's direction (DPPO, arXiv 2602.04879).

    The distance is of the two outcomes "this token" and "any other": their total variation ("tv") or KL ("kl").
    """

    distance: str = "tv"
    low: float = 0.2
    high: float = 0.2
    cap: float = 20.0

    def __call__(self, tokens: Tokens) -> tuple[torch.Tensor, dict]:
        new, old = tokens.log_prob.detach().exp(), tokens.old_log_prob.exp()
        if self.distance == "tv":
            distance = (new - old).abs()
        else:
            others = torch.log((1 - old + 1e-8) / (1 - new + 1e-8))
            distance = old * (tokens.old_log_prob - tokens.log_prob.detach()) + (1 - old) * others
        inside_above = (distance <= self.high) | (new <= old)
        inside_below = (distance <= self.low) | (new >= old)
        inside = torch.where(tokens.advantages > 0, inside_above, inside_below)
        weight = tokens.ratio.clamp(max=self.cap).detach() * inside
        marks = {"clipped": ~inside, "lower": (tokens.ratio > self.cap) & inside}
        return -tokens.advantages * weight * tokens.log_prob, marks


@dataclass(frozen=True)
class KlCov:
    """-r A, plus coef |log r| for the share of tokens with the largest covariance of log_prob and A (arXiv 2505.22617)."""

    share: float = 0.0002
    coef: float = 1.0

    def __call__(self, tokens: Tokens) -> tuple[torch.Tensor, dict]:
        loss = -tokens.advantages * tokens.ratio
        valid = (tokens.mask > 0).flatten(-2)
        count = valid.sum(-1, keepdim=True)

        def centred(values: torch.Tensor) -> torch.Tensor:
            values = values.expand_as(loss).flatten(-2)
            return values - (values * valid).sum(-1, keepdim=True) / count

        covariance = centred(tokens.advantages) * centred(tokens.log_prob.detach())
        rank = covariance.masked_fill(~valid, -math.inf).argsort(dim=-1, descending=True, stable=True).argsort(dim=-1)
        held = valid & (rank < (count * self.share).floor().clamp(min=1))
        return loss + self.coef * held.view_as(loss) * tokens.log_ratio.abs(), {}
