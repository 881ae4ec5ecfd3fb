"""Random numbers that are a pure function of (seed, epoch, prompt, sample).

A counter-based generator has no state: one seed alone draws what it draws in a batch of 256, and a
longer run or a larger group keeps the earlier draws.
"""

import numpy as np
import torch

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))


def uniforms(seeds, epochs: range, prompts: int, group_size: int) -> torch.Tensor:
    """Uniform numbers in [0, 1): [S, E, P, G], float64, multiples of 2^-53.

    Each coordinate is folded in by one step of SplitMix64 (Steele, Lea & Flood 2014,
    doi 10.1145/2660193.2660195): z = state + gamma, two xor-shift-multiply rounds, a last xor-shift.
    """
    state = np.zeros(1, dtype=np.uint64)
    for counter in (seeds, epochs, range(prompts), range(group_size)):
        state = _splitmix64(state[..., None] + np.asarray(counter, dtype=np.uint64))
    return torch.from_numpy((state[0] >> np.uint64(11)).astype(np.float64) * 2.0**-53)


def sample_actions(probabilities: torch.Tensor, uniform: torch.Tensor) -> torch.Tensor:
    """Actions by the inverse of the cumulative distribution.

    probabilities [..., A], uniform [..., G] -> actions [..., G]: the number of cumulated
    probabilities that are not above the uniform number, so an action of probability 0 never comes.
    """
    cumulated = probabilities.cumsum(-1)
    shares = cumulated[..., :-1] / cumulated[..., -1:]  # the sum may round to less than 1
    return torch.searchsorted(shares, uniform.contiguous(), right=True)


def _splitmix64(state: np.ndarray) -> np.ndarray:
    state = state + _GAMMA
    for shift, factor in _MIX:
        state = (state ^ (state >> np.uint64(shift))) * np.uint64(factor)
    return state ^ (state >> np.uint64(31))
