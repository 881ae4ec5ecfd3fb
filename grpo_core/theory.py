"""What binary rewards and a group size decide before any training: silence, push, resting point.

One prompt, reward 1 with probability p, else 0. Not about: sampling noise, Adam, large steps.
Arguments are floats or arrays, broadcast against each other; the result has their shape.
"""

import math

import numpy as np

from grpo_core.advantages import check_scale
from grpo_core.messages import N_, FieldError

_GRID = 2048


def silent_probability(p, group_size):
    """P(all G rewards equal) = p^G + (1 - p)^G; 1 for a group of one."""
    p, group_size = _probability("p", p), _group_size(group_size)
    return (p**group_size + (1 - p) ** group_size)[()]


def expected_signals(p, group_size, samples):
    """Groups with a signal to be expected when `samples` are split into groups: samples / G * (1 - P(silent))."""
    return samples / _group_size(group_size) * (1 - silent_probability(p, group_size))


def textbook_probability(kl_coef, reference_probability):
    """The right answer under the policy proportional to reference * exp(reward / kl_coef), reward 1 or 0."""
    reference = _probability("reference_probability", reference_probability)
    return (reference / (reference + (1 - reference) * np.exp(-1 / np.asarray(kl_coef, dtype=float))))[()]


def expected_push(p, group_size, scale: str = "std"):
    """Expected push on the right answer's logit, with p_hat = k / G the share of right samples:

    std   sum_k Binom(k; G, p) * sqrt(p_hat * (1 - p_hat))
    none  sum_k Binom(k; G, p) * p_hat * (1 - p_hat) = p * (1 - p) * (1 - 1/G)

    For G -> infinity they are `endless_push` and `reinforce_push`.
    """
    p, group_size = _probability("p", p), _group_size(group_size)
    return (p * (1 - p) * _push_per_variance(p, 1 - p, group_size, scale))[()]


def endless_push(p):
    """Expected push with std for G -> infinity: sqrt(p * (1 - p)), the slope per logit of 2 * arcsin(sqrt(p)).

    Source: Davis & Recht, arXiv 2510.13651.
    """
    p = _probability("p", p)
    return np.sqrt(p * (1 - p))[()]


def reinforce_push(p):
    """Expected push of REINFORCE without a baseline, E[r * (1[right] - p)] = p * (1 - p): no group is compared."""
    p = _probability("p", p)
    return (p * (1 - p))[()]


def resting_probability(kl_coef, group_size, scale: str = "std", reference_probability=1 / 3):
    """Where small SGD steps stop: the first root above the reference of

    expected_push(p) = kl_coef * p * (1 - p) * (logit(p) - logit(reference_probability))

    Without std it is p proportional to reference * exp((1 - 1/G) / kl_coef). A group of one stays at
    the reference; without a leash (kl_coef 0) the policy goes to 1.
    """
    arguments = np.broadcast_arrays(kl_coef, group_size, reference_probability)
    first = [
        next((p for p, holds in resting_points(*one[:2], scale, one[2]) if holds), 1.0)
        for one in zip(*(array.ravel().tolist() for array in arguments), strict=True)
    ]
    return np.array(first).reshape(arguments[0].shape)[()]


def resting_points(kl_coef: float, group_size: int, scale: str, reference_probability: float) -> list[tuple]:
    """Every root at or above the reference, as (probability, whether a policy near it returns to it)."""
    check_scale(scale)
    reference = _probability("reference_probability", reference_probability)
    if not 0 < reference < 1:
        raise FieldError(
            "reference_probability", N_("{field} must be above 0 and below 1, not {value!r}"), value=reference.item()
        )
    if not (kl_coef >= 0 and math.isfinite(kl_coef)):
        raise FieldError("kl_coef", N_("{field} must be at least 0, not {value!r}"), value=kl_coef)
    group_size = _group_size(group_size)
    start = math.log(reference / (1 - reference))
    if group_size == 1:
        return [(reference.item(), True)]
    if kl_coef == 0:
        return []

    def pull(logit):
        p, q = _sigmoid(logit), _sigmoid(-logit)
        return _push_per_variance(p, q, group_size, scale) - kl_coef * (logit - start)

    # The push per variance is at most max(1, sqrt(G - 1)): beyond that the leash always wins.
    end = start + max(1.0, math.sqrt(group_size - 1)) / kl_coef + 1
    logits = np.linspace(start, end, _GRID)
    signs = pull(logits) > 0
    roots = []
    for i in np.flatnonzero(signs[1:] != signs[:-1]):
        low, high = logits[i], logits[i + 1]
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if (pull(middle) > 0) == signs[i] else (low, middle)
        roots.append((float(_sigmoid(low)), bool(signs[i])))
    return roots


def _sigmoid(logit):
    with np.errstate(over="ignore"):  # exp gives inf, and that the right 0
        return 1 / (1 + np.exp(-logit))


def _push_per_variance(p, q, group_size, scale: str):
    """expected_push / (p * (1 - p)), written without a division so that it holds at 0 and 1."""
    if check_scale(scale) == "none":
        return 1 - 1 / group_size + 0 * p
    p, q, group_size = np.broadcast_arrays(p, q, group_size)
    total = np.zeros(p.shape)
    for size in np.unique(group_size):
        here = group_size == size
        k = np.arange(1, size)
        weight = np.array([math.comb(size, i) for i in k.tolist()], dtype=float) * np.sqrt(k / size * (1 - k / size))
        total[here] = (weight * p[here][:, None] ** (k - 1) * q[here][:, None] ** (size - k - 1)).sum(-1)
    return total


def _probability(name: str, value) -> np.ndarray:
    value = np.asarray(value, dtype=float)
    bad = ~((value >= 0) & (value <= 1))
    if bad.any():
        raise FieldError(
            name, N_("{field} must be from {minimum} to {maximum}, not {value!r}"),
            minimum=0, maximum=1, value=value[bad][0].item(),
        )  # fmt: skip
    return value


def _group_size(value) -> np.ndarray:
    value = np.asarray(value)
    if value.dtype.kind == "f" and (value == np.round(value)).all() and np.isfinite(value).all():
        value = value.astype(int)
    if value.dtype.kind not in "iu" or not ((value >= 1) & (value <= 512)).all():
        raise FieldError(
            "group_size", N_("{field} must be whole numbers from {minimum} to {maximum}, not {value!r}"),
            minimum=1, maximum=512, value=value.tolist(),
        )  # fmt: skip
    return value
