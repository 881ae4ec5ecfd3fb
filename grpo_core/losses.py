"""The chapter's loss, its two terms, and its gradient per logit in closed form.

Not about: ratios, clipping, tokens. The chapter updates once per rollout, so the ratio is 1.
"""

from typing import NamedTuple

import torch
from torch.nn.functional import hardshrink

from grpo_core.kl import categorical_kl

ROUNDING = 1e-12
"""A log ratio this small is not a distance from the reference."""


class LossTerms(NamedTuple):
    """The loss and what it is made of, each [...]: total = policy + kl."""

    policy: torch.Tensor
    kl: torch.Tensor
    total: torch.Tensor


class LogitGradient(NamedTuple):
    """dLoss/dlogit and what it is made of, each [..., P, A]: total = policy + kl."""

    policy: torch.Tensor
    kl: torch.Tensor
    total: torch.Tensor


def chapter_loss(logits, actions, advantages, reference, kl_coef: float) -> LossTerms:
    """loss = -mean(log_prob(action) * advantage) + kl_coef * KL(policy || reference).

    logits [..., P, A], actions [..., P, G], advantages [..., P, G], reference [P, A] -> [...].
    The mean is over prompts and samples, the KL the mean over prompts. Differentiable.
    """
    log_probabilities = logits.log_softmax(-1)
    policy = -(log_probabilities.gather(-1, actions) * advantages).mean((-2, -1))
    kl = kl_coef * categorical_kl(log_probabilities.exp(), reference).mean(-1)
    return LossTerms(policy, kl, policy + kl)


def chapter_gradient(log_probabilities, actions, advantages, reference, kl_coef: float) -> LogitGradient:
    """The gradient of `chapter_loss` per logit, without autograd.

    log_probabilities [..., P, A], reference [P, A], actions, advantages [..., P, G] -> each [..., P, A].

    policy_k = -(1 / (P G)) * sum_i A_i * (1[a_i = k] - pi_k)
    kl_k     = (kl_coef / P) * pi_k * (log(pi_k / ref_k) - KL)

    With sum_i A_i = 0 an action that nobody sampled has a policy gradient of 0. A policy equal to the
    reference up to rounding has a KL gradient of exactly 0.
    """
    probabilities = log_probabilities.exp()
    prompts, group_size = actions.shape[-2:]
    pushed = torch.zeros_like(probabilities).scatter_add_(-1, actions, advantages)
    policy = (probabilities * advantages.sum(-1, keepdim=True) - pushed) / (prompts * group_size)
    # Adam would blow up a log ratio that is rounding only, and the policy would wander off.
    log_ratio = hardshrink(log_probabilities - reference.log(), ROUNDING)
    divergence = torch.linalg.vecdot(probabilities, log_ratio)
    kl = (log_ratio - divergence[..., None]) * probabilities * (kl_coef / prompts)
    return LogitGradient(policy, kl, policy + kl)
