"""The group-relative advantage: a reward only means something next to its group's."""

import math
from numbers import Real

import torch

from grpo_core.messages import N_, FieldError

SCALES = ("std", "none")
"""What an advantage is divided by: the group's std, or nothing (Dr. GRPO, arXiv 2503.20783)."""


def group_advantages(rewards, ddof: int = 0, epsilon: float = 1e-6, scale: str = "std") -> torch.Tensor:
    """advantage_i = (r_i - group_mean) / (group_std + epsilon): [..., G] -> [..., G].

    rewards  tensor, array, pandas column or nested lists, any leading shape; NaN = not scored: left
             out of the mean and the std, advantage 0
    ddof     0: population std (the chapter); 1: sample std (TRL 1.16.0, verl 0.9.1, OpenRLHF 0.11.2)
    epsilon  at least 0
    scale    "std", or "none": advantage_i = r_i - group_mean

    A silent group (all scored rewards equal) teaches nothing: its advantages are exactly 0, also in
    float32. Raises FieldError for rewards that `checked_rewards` refuses, for ddof not 0 or 1.
    Source: DeepSeekMath (arXiv 2402.03300) section 4.1.2, with the epsilon of the frameworks.
    """
    rewards = checked_rewards(rewards)
    if ddof not in (0, 1):
        raise FieldError("ddof", N_("{field} must be one of {allowed}, not {value!r}"), value=ddof, allowed="0, 1")
    if not (isinstance(epsilon, Real) and 0 <= epsilon < math.inf):
        raise FieldError("epsilon", N_("{field} must be a number of at least 0, not {value!r}"), value=epsilon)
    return compare_in_group(rewards, ddof, epsilon, check_scale(scale))[-1]


def check_scale(scale: str) -> str:
    if scale not in SCALES:
        raise FieldError(
            "scale", N_("{field} must be one of {allowed}, not {value!r}"), value=scale, allowed=", ".join(SCALES)
        )
    return scale


def group_statistics(rewards: torch.Tensor, ddof: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Mean, standard deviation and silence of each group: [..., G] -> three tensors [...].

    std = sqrt(sum_i (r_i - mean)^2 / (n - ddof)) over the n scored rewards (NaN = not scored).
    A group is silent when its largest scored reward equals its smallest, or nothing was scored;
    its mean is then that reward exactly and its std exactly 0, in every float type. (The mean of a
    group without a score is NaN.)
    """
    return compare_in_group(rewards, ddof, 0.0)[:3]


def compare_in_group(rewards: torch.Tensor, ddof: int, epsilon: float, scale: str = "std") -> tuple[torch.Tensor, ...]:
    """Mean, std and silence as `group_statistics`, advantages as `group_advantages`, of checked rewards."""
    unscored = rewards.isnan()
    if unscored.any():
        count = (~unscored).sum(-1)
        degrees = (count - ddof).clamp(min=1)
        lowest = rewards.masked_fill(unscored, math.inf).amin(-1)
    else:
        count = rewards.shape[-1]
        degrees = max(count - ddof, 1)
        lowest = rewards.amin(-1)
    above = rewards - lowest[..., None]  # measured from the lowest, equal rewards have no rounding error
    mean_above = above.nansum(-1) / count
    deviation = above - mean_above[..., None]
    std = (deviation.square().nansum(-1) / degrees).sqrt_()
    # A deviation from the rounded mean would not fit this std where the spread is a few roundings.
    advantages = deviation / (std + epsilon)[..., None] if scale == "std" else deviation + 0.0
    advantages.nan_to_num_(nan=0.0, posinf=math.inf, neginf=-math.inf)
    return lowest + mean_above, std, ~(mean_above > 0), advantages


def checked_rewards(rewards) -> torch.Tensor:
    """Rewards as a float tensor [..., G]; plain numbers become float64, half floats float32.

    FieldError for a group without members, and for a reward so large, or so close to 0, that its
    square leaves the range of the float type: the standard deviation would not be one.
    """
    if hasattr(rewards, "to_numpy"):
        rewards = rewards.to_numpy(copy=True)
    try:
        rewards = torch.as_tensor(rewards, dtype=None if hasattr(rewards, "dtype") else torch.float64)
        if rewards.is_complex():
            raise TypeError("complex numbers")
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise FieldError(
            "rewards", N_("{field} must be numbers, groups of equal length ({value})"), value=str(error)
        ) from error
    if not rewards.is_floating_point():
        rewards = rewards.double()
    elif rewards.dtype.itemsize < 4:  # a half float's square is soon out of range
        rewards = rewards.float()
    if rewards.ndim == 0 or rewards.shape[-1] == 0:
        raise FieldError("rewards", N_("{field} must have at least one sample in each group"))
    numbers = torch.finfo(rewards.dtype)
    smallest, largest = math.sqrt(numbers.tiny) / numbers.eps, math.sqrt(numbers.max) * numbers.eps
    size = rewards.abs()
    bad = (size > largest) | ((size > 0) & (size < smallest))
    if bad.any():
        raise FieldError(
            "rewards", N_("{field} must be 0 or from {minimum:.0e} to {maximum:.0e} in size, not {value:g}"),
            minimum=smallest, maximum=largest, value=rewards[bad][0].item(),
        )  # fmt: skip
    return rewards
