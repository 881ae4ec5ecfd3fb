"""The group-relative advantage: a reward only means something next to its group's."""

import torch

from grpo_core.messages import N_, FieldError


def group_statistics(rewards, ddof: int = 0):
    """Mean, standard deviation and silence of each group: [..., G] -> three tensors [...].

    std = sqrt(sum_i (r_i - mean)^2 / (n - ddof)) over the n scored rewards (NaN = not scored).
    A group is silent when its largest scored reward equals its smallest, or nothing was scored;
    its mean is then that reward exactly and its std exactly 0, in every float type.
    """
    rewards = _as_rewards(rewards)
    scored = ~rewards.isnan()
    count = scored.sum(-1)
    low = torch.where(scored, rewards, torch.inf).amin(-1)
    high = torch.where(scored, rewards, -torch.inf).amax(-1)
    silent = (low == high) | (count == 0)
    mean = torch.where(scored, rewards, 0).sum(-1) / count
    deviation = torch.where(scored, rewards - mean[..., None], 0)
    std = (deviation.square().sum(-1) / (count - ddof).clamp(min=1)).sqrt()
    mean = torch.where(low == high, low, mean)
    return mean, torch.where(silent, 0, std), silent


def group_advantages(rewards, ddof: int = 0, epsilon: float = 1e-6) -> torch.Tensor:
    """advantage_i = (r_i - group_mean) / (group_std + epsilon): [..., G] -> [..., G].

    rewards  tensor or nested lists, any leading shape; NaN = not scored: left out of the mean and
             the std, advantage 0
    ddof     0: population std (the chapter); 1: sample std (TRL 1.16.0, verl 0.9.1, OpenRLHF 0.11.2)
    epsilon  at least 0

    A silent group (all scored rewards equal) teaches nothing: its advantages are exactly 0, also in
    float32. Raises FieldError for an infinite reward, a group without members, or ddof not 0 or 1.
    Source: DeepSeekMath (arXiv 2402.03300) section 4.1.2, with the epsilon of the frameworks.
    """
    rewards = _as_rewards(rewards)
    if ddof not in (0, 1):
        raise FieldError("ddof", N_("{field} must be one of {allowed}, not {value!r}"), value=ddof, allowed="0, 1")
    if not epsilon >= 0:
        raise FieldError("epsilon", N_("{field} must be at least 0, not {value!r}"), value=epsilon)
    mean, std, silent = group_statistics(rewards, ddof)
    return relative_advantages(rewards, mean, std, silent, epsilon)


def relative_advantages(rewards, mean, std, silent, epsilon: float) -> torch.Tensor:
    """The formula of `group_advantages` from statistics already at hand."""
    advantages = (rewards - mean[..., None]) / (std + epsilon)[..., None]
    return torch.where(silent[..., None] | rewards.isnan(), 0, advantages)


def _as_rewards(rewards) -> torch.Tensor:
    """Tensors and arrays keep their float type; plain numbers become float64."""
    rewards = torch.as_tensor(rewards, dtype=None if hasattr(rewards, "dtype") else torch.float64)
    if not rewards.is_floating_point():
        rewards = rewards.double()
    if rewards.ndim == 0 or rewards.shape[-1] == 0:
        raise FieldError("rewards", N_("{field} must have at least one sample in each group"))
    if rewards.isinf().any():
        raise FieldError("rewards", N_("{field} must be finite, not {value}"), value="inf")
    return rewards
