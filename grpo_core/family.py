"""An `Algorithm` of the GRPO family on answers of one token: its advantages and slopes, for many seeds at once.

With one token each, surrogate and KL are functions of one answer's own log-prob, and every aggregation is a
mean or a sum: the loss of all seeds together has the slope of each seed's own. The loop is in `method_training`.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import torch

from grpo_core.frameworks.aggregation import Aggregation
from grpo_core.frameworks.algorithm import Algorithm
from grpo_core.frameworks.settings import UnsupportedSetting
from grpo_core.frameworks.slots import explained
from grpo_core.frameworks.surrogates import Cispo, Clip, GeoMean, TrustRegion
from grpo_core.messages import N_, Message

if TYPE_CHECKING:
    from grpo_core.methods import MethodHistory


class Surrogate(NamedTuple):
    """Of each sample [..., G]: the objective, its slope per log probability, whether the clip cut that to 0."""

    objective: torch.Tensor
    slope: torch.Tensor
    clipped: torch.Tensor


def on_bandit(algorithm: Algorithm) -> Algorithm:
    """The algorithm on a batch that is whole and whose answers have one token.

    The numbers that a framework divides by (accumulation, workers, tokens and lengths of other batches) are this
    batch's own; groups are of any size. UnsupportedSetting for what belongs to one batch of tokens.
    """
    if algorithm.rollout_weights is not None:
        raise UnsupportedSetting("rollout_is_weights", N_("{field} belong to one batch and cannot be trained with"))
    if algorithm.estimator is None:
        raise UnsupportedSetting(
            "advantage estimator", N_("{field}: these advantages cannot be computed from rewards alone")
        )

    def own(aggregation: Aggregation) -> Aggregation:
        return Aggregation(aggregation.kind)

    return replace(
        algorithm, estimator=replace(algorithm.estimator, group_size=None), aggregation=own(algorithm.aggregation),
        kl_aggregation=algorithm.kl_aggregation and own(algorithm.kl_aggregation),
    )  # fmt: skip


def family_advantages(algorithm: Algorithm, rewards, log_prob, ref_log_prob) -> torch.Tensor:
    """Advantages of each seed's batch: rewards and log-probs of the old policy and the reference [S, P, G] -> [S, P, G]."""
    kl = None
    if algorithm.estimator.kl_in is not None:
        kl = algorithm.kl(log_prob, ref_log_prob)
    return algorithm.estimator.of_batches(rewards, kl)


def family_surrogate(algorithm: Algorithm, log_prob, old, ref_log_prob, advantages) -> Surrogate:
    """What each answer's loss is to its log-prob, all [S, P, G]: the objective is -loss, the KL term included.

    An exact KL is not in it: that is no function of the answer. The mean over a seed's answers is the loss.
    """
    shape = log_prob.shape
    log_prob, old, ref, advantages = (x.flatten(-2)[..., None] for x in (log_prob, old, ref_log_prob, advantages))
    with torch.enable_grad():
        log_prob = log_prob.detach().requires_grad_()
        tokens = algorithm.tokens(log_prob, old, None, advantages)
        loss, marks = torch.zeros_like(log_prob), {}
        if algorithm.surrogate is not None:
            loss, marks = algorithm.policy_term(tokens)
            loss = loss * weight(algorithm.aggregation, loss.shape[-2])
        if algorithm.kl_coef != 0 and algorithm.token_kl.estimate != "exact":
            kl = algorithm.token_kl(log_prob, ref, tokens.ratio)
            loss = loss + algorithm.kl_coef * kl * weight(
                algorithm.kl_aggregation or algorithm.aggregation, kl.shape[-2]
            )
        slope = torch.zeros_like(loss)
        if loss.requires_grad:
            (slope,) = torch.autograd.grad(loss.sum(), log_prob)
    cut = marks.get("clipped", torch.zeros_like(slope, dtype=torch.bool))
    return Surrogate(-loss.detach().view(shape), -slope.view(shape), cut.view(shape))


def exact_kl_coef(algorithm: Algorithm, answers: int) -> float:
    """The coefficient of the exact KL in the loss of a batch of so many answers."""
    if algorithm.token_kl.estimate != "exact":
        return 0.0
    return algorithm.kl_coef * weight(algorithm.kl_aggregation or algorithm.aggregation, answers)


def weight(aggregation: Aggregation, answers: int) -> float:
    """Weight of one answer of one token times their number: 1 under a mean, their number under a sum."""
    return answers if aggregation.kind == "token-sum" else 1.0


OLD_PROBABILITY = 0.3
"""Of the answer in a clip curve; a ratio of 1 / 0.3 would make it certain."""


class ClipCurve(NamedTuple):
    """Over ratios [N]: the slope of one answer's objective per log-prob, and the objective minus its value at 1."""

    ratios: torch.Tensor
    objective: torch.Tensor
    slope: torch.Tensor


def clip_curve(algorithm: Algorithm, ratios: torch.Tensor, advantage: float) -> ClipCurve:
    """What one answer's objective, without the KL, is as its ratio to the old policy moves: ascending ratios [N].

    The objective is what its slope climbs, the integral of the slope over log(ratio) by the trapezoid rule: for a
    clip the surrogate itself; a surrogate with a detached weight has a value that its gradient knows nothing of.
    """
    ratio = ratios[:, None, None]
    old = torch.full_like(ratio, OLD_PROBABILITY).log()
    alone = replace(on_bandit(algorithm), kl_coef=0.0)
    surrogate = family_surrogate(alone, old + ratio.log(), old, old, torch.full_like(ratio, advantage))
    slope = surrogate.slope.flatten()
    climbed = torch.cat([slope.new_zeros(1), torch.cumulative_trapezoid(slope, ratios.log())])
    return ClipCurve(ratios, climbed - climbed[int((ratios - 1).abs().argmin())], slope)


def ratio_range(algorithm: Algorithm) -> tuple[float, float]:
    """The ratios around 1 where the clip of the algorithm acts."""
    surrogate = algorithm.surrogate
    width = 0.4
    if isinstance(surrogate, Clip | GeoMean):
        width = max(surrogate.low, surrogate.high)
    elif isinstance(surrogate, Cispo):
        width = surrogate.high - 1
    top = 1 + 2.5 * width
    caps = [getattr(surrogate, name, None) for name in ("dual", "ceiling")]
    top = max([top, *(1.2 * cap for cap in caps if cap is not None and cap <= 3)])
    return max(0.05, 1 - 2.5 * width), min(top, 1 / OLD_PROBABILITY - 1e-3) if isinstance(
        surrogate, TrustRegion
    ) else top


TOLD_APART = 1e-9
"""Runs whose probabilities differ by no more cannot be told apart."""


class Told(NamedTuple):
    """How far two runs are from each other: the largest difference of two probabilities, whether that is none, and why.

    reasons are by slot, for the slots that differ without making a difference here.
    """

    gap: float
    same: bool
    reasons: dict[str, Message]


def tell_apart(first: "MethodHistory", second: "MethodHistory") -> Told:
    """Whether two runs of algorithms under the same seeds can be told apart, computed from the runs."""
    difference = (first.log_probabilities.exp() - second.log_probabilities.exp()).abs().max().item()
    same = difference <= TOLD_APART
    reasons = explained(first.method.algorithm, second.method.algorithm, first.method.inner_epochs) if same else {}
    return Told(difference, same, reasons)
