"""The KL of a token: exact, or a framework's estimate from its log-prob, clamped, corrected, or with another gradient."""

import math
from dataclasses import dataclass

import torch

from grpo_core.kl import estimate_kl
from grpo_core.messages import N_, FieldError


@dataclass(frozen=True)
class TokenKl:
    """KL(policy || reference) of one token.

    estimate    k1, k2, k3 of `estimate_kl`; abs: |log ratio|; exact: `categorical_kl` over all actions, for
                which one token's log-prob is not enough: the loss is given it
    log_limits  k3's log(policy / reference) is clamped to this range first
    limits      the estimate is clamped to this range, where its gradient is 0
    gradient    "own": of the estimate; "k2": the value is the estimate's, the gradient k2's (verl's "+");
                "weighted k2": k2's times the ratio to the old policy, detached and at most 10 (OpenRLHF)
    corrected   the estimate times the ratio to the old policy, whose gradient counts too (TRL)
    """

    estimate: str = "k3"
    log_limits: tuple[float, float] = (-math.inf, math.inf)
    limits: tuple[float, float] = (-math.inf, math.inf)
    gradient: str = "own"
    corrected: bool = False

    def __call__(self, log_prob: torch.Tensor, ref_log_prob: torch.Tensor, ratio: torch.Tensor) -> torch.Tensor:
        """Log-probs [B, T] and ratio to the old policy [B, T] or [B, 1] -> [B, T], differentiable."""
        if self.estimate == "exact":
            raise FieldError("kl", N_("{field} is needed: the exact KL takes the whole distribution"))
        log_ratio = log_prob - ref_log_prob
        if self.estimate == "abs":
            value = log_ratio.abs()
        elif self.estimate == "k3":
            value = estimate_kl(log_ratio.clamp(*self.log_limits), "k3")
        else:
            value = estimate_kl(log_ratio, self.estimate)
        value = value.clamp(*self.limits)
        if self.gradient != "own":
            weight = ratio.detach().clamp(max=10.0) if self.gradient == "weighted k2" else 1.0
            leader = weight * estimate_kl(log_ratio, "k2")
            value = value.detach() + leader - leader.detach()
        return value * ratio if self.corrected else value
