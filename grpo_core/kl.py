"""How far the policy has moved from the reference policy, and how undecided it is."""

import torch

from grpo_core.messages import N_, FieldError

ESTIMATORS = ("k1", "k2", "k3")


def categorical_kl(probabilities: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    """KL(policy || reference) = sum_a pi_a * log(pi_a / ref_a): [..., A] -> [...], in nats.

    Exact, over all actions, so never negative: rounding below 0 is cut off. An action of
    probability 0 contributes 0. The reference must be above 0 wherever the policy is.
    """
    ratio = torch.where(probabilities > 0, probabilities / reference, 1)
    return torch.linalg.vecdot(probabilities, ratio.log()).clamp(min=0) + 0.0


def estimate_kl(log_ratio: torch.Tensor, kind: str) -> torch.Tensor:
    """One sample's estimate of KL(policy || reference), for an action drawn from the policy, in nats.

    log_ratio x = log(pi(a) / ref(a)), any shape -> the same shape
    k1  x                   no bias, can be negative
    k2  x^2 / 2             biased, never negative
    k3  exp(-x) - 1 + x     no bias, never negative (the frameworks' low_var_kl)
    Source: Schulman, http://joschu.net/blog/kl-approx.html (2020).
    """
    if kind not in ESTIMATORS:
        raise FieldError(
            "kind", N_("{field} must be one of {allowed}, not {value!r}"), value=kind, allowed=", ".join(ESTIMATORS)
        )
    if kind == "k1":
        return log_ratio
    if kind == "k2":
        return log_ratio.square() / 2
    return torch.expm1(-log_ratio) + log_ratio


def estimator_moments(
    probabilities: torch.Tensor, reference: torch.Tensor, kind: str, samples: int = 1
) -> tuple[torch.Tensor, torch.Tensor]:
    """Expectation and variance of the mean of n samples' estimates, exact over all actions: [..., A] -> two [...].

    E = sum_a pi_a k(a), Var = sum_a pi_a (k(a) - E)^2 / n; the bias is E - KL(policy || reference).
    """
    values = estimate_kl((probabilities / reference).log(), kind)
    mean = (probabilities * values).sum(-1)
    return mean, (probabilities * (values - mean[..., None]).square()).sum(-1) / samples


def kl_loss_gradient(probabilities: torch.Tensor, reference: torch.Tensor, kind: str) -> torch.Tensor:
    """Expected gradient per logit of an estimate used as a loss term, [..., A] -> [..., A].

    The framework differentiates the estimate of the sampled action, not the sampling:
    E[d estimate / d z_k] = sum_a pi_a * estimate'(x_a) * (1[a = k] - pi_k), with estimate' = d estimate / dx
    exact  pi_k * (x_k - KL)     the gradient of the KL itself
    k1     0                     no leash at all
    k2     pi_k * (x_k - KL)     the exact one
    k3     pi_k - ref_k          the gradient of KL(reference || policy)
    """
    log_ratio = (probabilities / reference).log()
    if kind == "k1":
        return torch.zeros_like(probabilities)
    if kind == "k3":
        return probabilities - reference
    if kind in ("exact", "k2"):
        return probabilities * (log_ratio - (probabilities * log_ratio).sum(-1, keepdim=True))
    raise FieldError(
        "kind",
        N_("{field} must be one of {allowed}, not {value!r}"),
        value=kind,
        allowed=", ".join(("exact", *ESTIMATORS)),
    )


def entropy(probabilities: torch.Tensor) -> torch.Tensor:
    """-sum_a pi_a * log(pi_a): [..., A] -> [...], in nats; log(A) when uniform, 0 when certain."""
    return torch.special.entr(probabilities).sum(-1)
