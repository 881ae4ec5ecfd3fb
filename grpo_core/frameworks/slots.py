"""The six slots of an algorithm in words, which of them differ, and which differences a bandit cannot show."""

import math

import torch

from grpo_core.frameworks.algorithm import Algorithm
from grpo_core.frameworks.surrogates import (
    Cispo,
    Clip,
    GeoMean,
    KlCov,
    LogProb,
    Quadratic,
    Sapo,
    TrustRegion,
    Unclipped,
    Vespo,
)
from grpo_core.messages import N_, Message

SLOTS = {
    "baseline": N_("baseline"),
    "scale": N_("scale"),
    "ratio": N_("ratio"),
    "clip": N_("clip"),
    "kl": N_("KL"),
    "aggregation": N_("aggregation"),
}
"""The slots by key, in the order in which a loss is computed."""

BASELINES = {
    "none": N_("nothing: the reward itself"),
    "group mean": N_("the mean of its group"),
    "leave-one-out": N_("the mean of the others in its group"),
    "batch mean": N_("the mean of the whole batch"),
    "length-weighted mean": N_("the mean of its group, longer answers counting more"),
    "second best": N_("the second best of its group; only the best has an advantage"),
    "best of k": N_("the best of {k} answers it is among, on average, against the best of any {k}"),
}
SCALES = {
    "none": N_("nothing"),
    "group std": N_("the std of its group (ddof {ddof}) + {epsilon:g}"),
    "batch std": N_("the std of all rewards in the batch (ddof {ddof}) + {epsilon:g}"),
    "group mean": N_("the mean of its group + {epsilon:g}"),
    "share of non-zero rewards": N_("the share of rewards that are not 0"),
}
WHITENINGS = {
    "completions": N_("then whitened over all answers"),
    "tokens": N_("then whitened over all tokens (ddof 1)"),
    "tokens, ddof 0": N_("then whitened over all tokens (ddof 0)"),
    "token mean": N_("then centred over all tokens"),
}
LEVELS = {
    "token": N_("of each token"),
    "sequence": N_("of the whole answer: the geometric mean of its tokens'"),
    "sequence forward": N_("of the whole answer; its gradient goes token by token"),
}
AGGREGATIONS = {
    "token-mean": N_("the mean over all tokens"),
    "token-sum": N_("the sum over all tokens"),
    "seq-mean-token-mean": N_("the mean over answers of the mean over their tokens"),
    "seq-mean-token-sum": N_("the mean over answers of the sum over their tokens"),
}
WITHOUT_RATIO = LogProb | Quadratic | None


def slots(algorithm: Algorithm) -> dict[str, tuple[Message, ...]]:
    """What is in each of SLOTS, in words: one message or several."""
    return {name: tuple(describe(algorithm)) for name, describe in _DESCRIBE.items()}


def differing(first: Algorithm, second: Algorithm) -> list[str]:
    """The slots in which two algorithms differ."""
    mine, other = slots(first), slots(second)
    return [name for name in SLOTS if mine[name] != other[name]]


def explained(first: Algorithm, second: Algorithm, updates: int) -> dict[str, Message]:
    """Of the differing slots, those that make no difference on answers of one token, and why."""
    reasons = {}
    for name in differing(first, second):
        if name == "aggregation" and "token-sum" not in (first.aggregation.kind, second.aggregation.kind):
            reasons[name] = Message(
                N_("An answer has one token here, so every mean over tokens and answers is the same.")
            )
        elif name in ("ratio", "clip") and updates == 1 and first_slopes(first) == first_slopes(second):
            reasons[name] = Message(
                N_("With one update per rollout the ratio is 1 when the gradient is taken, so it changes nothing.")
            )
        elif name == "ratio" and first.surrogate == second.surrogate and first.ratio.limits == second.ratio.limits:
            reasons[name] = Message(N_("An answer has one token here, so its ratio is that token's."))
    return reasons


def first_slopes(algorithm: Algorithm) -> list[float]:
    """The slope of the policy term per log-prob where the ratio is 1, for A = 1 and A = -1."""
    log_prob = torch.full((1, 1), math.log(0.5), dtype=torch.float64, requires_grad=True)
    slopes = []
    for advantage in (1.0, -1.0):
        if algorithm.surrogate is None:
            return [0.0, 0.0]
        loss, _ = algorithm.policy_term(algorithm.tokens(log_prob, None, None, [advantage]))
        slopes.append(torch.autograd.grad(loss.sum(), log_prob)[0].item())
    return slopes


def _baseline(algorithm: Algorithm):
    estimator = algorithm.estimator
    if estimator is None:
        yield Message(N_("a value model"))
        return
    values = {"k": estimator.k} if estimator.baseline == "best of k" else {}
    yield Message(BASELINES[estimator.baseline], values)
    if estimator.decoupled:
        yield Message(N_("each reward function on its own"))


def _scale(algorithm: Algorithm):
    estimator = algorithm.estimator
    if estimator is None:
        yield Message(N_("nothing"))
        return
    values = {"ddof": estimator.ddof, "epsilon": estimator.epsilon}
    if estimator.scale == "group std" and estimator.baseline == "best of k":
        yield Message(N_("the std of the best of {k} + {epsilon:g}"), {"k": estimator.k, "epsilon": estimator.epsilon})
    elif estimator.scale.endswith("std"):
        yield Message(SCALES[estimator.scale], values)
    elif estimator.scale == "group mean":
        yield Message(SCALES[estimator.scale], {"epsilon": estimator.epsilon})
    else:
        yield Message(SCALES[estimator.scale])
    if estimator.limits is not None:
        low, high = estimator.limits
        yield Message(N_("then held in {low:g} to {high:g}"), {"low": low, "high": high})
    if estimator.whitening is not None:
        yield Message(WHITENINGS[estimator.whitening])


def _ratio(algorithm: Algorithm):
    surrogate, (low, high) = algorithm.surrogate, algorithm.ratio.limits
    if isinstance(surrogate, WITHOUT_RATIO):
        yield Message(N_("none"))
    elif isinstance(surrogate, GeoMean):
        yield Message(LEVELS["sequence"])
    elif isinstance(surrogate, Vespo):
        yield Message(N_("of the whole answer: the product of its tokens'"))
    else:
        yield Message(LEVELS[algorithm.ratio.level])
        if low > -math.inf:
            yield Message(N_("its logarithm held in {low:g} to {high:g}"), {"low": low, "high": high})
        elif high < math.inf:
            yield Message(N_("its logarithm at most {high:g}"), {"high": high})


def _clip(algorithm: Algorithm):
    surrogate = algorithm.surrogate
    if isinstance(surrogate, Clip):
        yield Message(
            N_("the ratio counts from {low:g} to {high:g}"), {"low": 1 - surrogate.low, "high": 1 + surrogate.high}
        )
        if surrogate.ceiling is not None:
            yield Message(N_("unclipped up to {ceiling:g} only"), {"ceiling": surrogate.ceiling})
        if surrogate.dual is not None:
            yield Message(N_("up to {dual:g} where the advantage is negative (dual clip)"), {"dual": surrogate.dual})
    elif isinstance(surrogate, Cispo):
        values = {"low": surrogate.low, "high": surrogate.high}
        yield Message(N_("the ratio is a weight from {low:g} to {high:g}; no answer loses its gradient"), values)
    elif isinstance(surrogate, Sapo):
        values = {"positive": surrogate.positive, "negative": surrogate.negative}
        yield Message(
            N_("a soft gate of temperature {positive:.3g}, {negative:.3g} where the advantage is negative"), values
        )
    elif isinstance(surrogate, GeoMean):
        values = {"low": -surrogate.low, "high": surrogate.high}
        yield Message(N_("each token's log ratio counts from {low:g} to {high:g}"), values)
    elif isinstance(surrogate, Vespo):
        yield Message(N_("a soft weight that falls on both sides of the ratio 1"))
    elif isinstance(surrogate, Quadratic):
        yield Message(N_("none, but a leash of {beta:g} on the old policy"), {"beta": surrogate.beta})
    elif isinstance(surrogate, TrustRegion):
        values = {"low": surrogate.low, "high": surrogate.high, "distance": surrogate.distance.upper()}
        yield Message(N_("no gradient beyond a {distance} of {low:g} downwards, {high:g} upwards"), values)
        yield Message(N_("the ratio counts up to {cap:g}"), {"cap": surrogate.cap})
    elif isinstance(surrogate, KlCov):
        values = {"share": surrogate.share, "coef": surrogate.coef}
        yield Message(
            N_("none, but a leash of {coef:g} on the {share:.2%} of tokens with the largest covariance"), values
        )
    elif isinstance(surrogate, LogProb | Unclipped):
        yield Message(N_("none"))
    else:
        yield Message(N_("the loss is the KL term alone"))
    if algorithm.drop_above is not None:
        yield Message(
            N_("answers with a negative advantage are left out above a drift of {drift:g}"),
            {"drift": algorithm.drop_above},
        )


def _kl(algorithm: Algorithm):
    kl, estimator = algorithm.token_kl, algorithm.estimator
    in_reward = estimator is not None and estimator.kl_in is not None and estimator.kl_coef != 0
    if algorithm.kl_coef == 0 and not in_reward:
        yield Message(N_("none"))
        return
    if algorithm.kl_coef != 0:
        values = {"kind": kl.estimate, "coef": algorithm.kl_coef}
        exact = N_("exact, over all actions, in the loss, times {coef:g}")
        yield Message(exact if kl.estimate == "exact" else N_("{kind} in the loss, times {coef:g}"), values)
    if in_reward:
        values = {"kind": kl.estimate, "coef": estimator.kl_coef}
        before = N_("{kind} subtracted from the reward, times {coef:g}")
        after = N_("{kind} subtracted from the advantage, times {coef:g}")
        yield Message(before if estimator.kl_in == "reward" else after, values)
    if kl.limits != (-math.inf, math.inf):
        yield Message(N_("held in {low:g} to {high:g}"), {"low": kl.limits[0], "high": kl.limits[1]})
    if kl.gradient != "own":
        yield Message(N_("with the gradient of k2"))
    if kl.corrected:
        yield Message(N_("times the ratio"))


def _aggregation(algorithm: Algorithm):
    aggregation = algorithm.aggregation
    yield Message(AGGREGATIONS[aggregation.kind])
    if aggregation.length == "width":
        yield Message(N_("divided by the longest possible length"))
    elif aggregation.length is not None:
        yield Message(N_("divided by a fixed length of {length:g}"), {"length": aggregation.length})
    kl = algorithm.kl_aggregation or aggregation
    if algorithm.kl_coef != 0 and kl.kind != aggregation.kind:
        yield Message(N_("the KL: {mean}"), {"mean": Message(AGGREGATIONS[kl.kind])})


_DESCRIBE = dict(zip(SLOTS, (_baseline, _scale, _ratio, _clip, _kl, _aggregation), strict=True))
