"""How far the policy has moved from the reference policy, and how undecided it is."""

import torch


def categorical_kl(probabilities: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    """KL(policy || reference) = sum_a pi_a * log(pi_a / ref_a): [..., A] -> [...], in nats.

    Exact, over all actions, so never negative: rounding below 0 is cut off. An action of
    probability 0 contributes 0. The reference must be above 0 wherever the policy is.
    """
    ratio = torch.where(probabilities > 0, probabilities / reference, 1)
    return torch.linalg.vecdot(probabilities, ratio.log()).clamp(min=0) + 0.0


def entropy(probabilities: torch.Tensor) -> torch.Tensor:
    """-sum_a pi_a * log(pi_a): [..., A] -> [...], in nats; log(A) when uniform, 0 when certain."""
    return torch.special.entr(probabilities).sum(-1)
