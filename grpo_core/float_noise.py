"""Why a silent group can speak in a framework: rounding noise of the mean, divided by a small epsilon.

The frameworks' own formulas, in float32 as they compute. This project's advantages are exactly 0 instead.
"""

import torch

from grpo_core.messages import N_, FieldError

EPSILONS = {"TRL 1.16.0": 1e-4, "verl 0.9.1": 1e-6, "OpenRLHF 0.11.2": 1e-9}


def framework_advantages(rewards, framework: str) -> torch.Tensor:
    """(r - mean) / (std + epsilon) with torch's float32 mean and std (ddof 1): [groups, G >= 2] -> the same.

    TRL and OpenRLHF take mean and std of all groups of a batch at once, verl group by group. How far the
    mean and the std of equal numbers are off depends on torch's order of summation, and that on the number of
    groups, the version and the processor.
    """
    if framework not in EPSILONS:
        raise FieldError(
            "framework", N_("{field} must be one of {allowed}, not {value!r}"),
            value=framework, allowed=", ".join(EPSILONS),
        )  # fmt: skip
    rewards = torch.as_tensor(rewards, dtype=torch.float32)
    if rewards.ndim != 2 or rewards.shape[-1] < 2:
        raise FieldError("rewards", N_("{field} must be groups of at least two samples"))
    batches = rewards.split(1) if framework.startswith("verl") else (rewards,)
    noisy = [
        (batch - batch.mean(-1, keepdim=True)) / (batch.std(-1, keepdim=True) + EPSILONS[framework]) for batch in batches
    ]
    return torch.cat(noisy)
