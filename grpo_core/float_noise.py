"""Why a silent group can speak in a framework: rounding noise of the mean, divided by a small epsilon.

The frameworks' own formulas, in float32 as they compute. This project's advantages are exactly 0 instead.
"""

import torch

from grpo_core.messages import N_, FieldError

EPSILONS = {"TRL 1.16.0": 1e-4, "verl 0.9.1": 1e-6, "OpenRLHF 0.11.2": 1e-9}


def framework_advantages(rewards, framework: str) -> torch.Tensor:
    """(r - mean) / (std + epsilon) in float32, ddof 1: [groups, G >= 2] -> the same.

    The mean of equal numbers can be off by a rounding; what then happens depends on the std:
    TRL       from the deviations from that mean (its own nanstd), so about as large as they are
    verl      torch.std of one group
    OpenRLHF  torch.std of all groups at once, which finds exactly 0
    How far the mean is off depends on the order of torch's summation, on its version and the processor.
    """
    if framework not in EPSILONS:
        raise FieldError(
            "framework", N_("{field} must be one of {allowed}, not {value!r}"),
            value=framework, allowed=", ".join(EPSILONS),
        )  # fmt: skip
    rewards = torch.as_tensor(rewards, dtype=torch.float32)
    if rewards.ndim != 2 or rewards.shape[-1] < 2:
        raise FieldError("rewards", N_("{field} must be groups of at least two samples"))
    deviation = rewards - rewards.mean(-1, keepdim=True)
    if framework.startswith("TRL"):
        std = (deviation.square().sum(-1) / (rewards.shape[-1] - 1)).sqrt()
    elif framework.startswith("verl"):
        std = torch.stack([group.std() for group in rewards])
    else:
        std = rewards.std(-1)
    return deviation / (std[:, None] + EPSILONS[framework])
