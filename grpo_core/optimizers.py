"""One step of SGD or Adam on a batch of logits, without autograd.

torch.optim does the same and costs half of a small run's time; a test holds the two together.
"""

from dataclasses import dataclass

import torch

BETA1, BETA2, ADAM_EPSILON = 0.9, 0.999, 1e-8


@dataclass
class PolicyState:
    """The logits [S, P, A] and what the optimizer remembers of earlier gradients."""

    logits: torch.Tensor
    momentum: torch.Tensor
    square: torch.Tensor
    steps: int = 0

    @classmethod
    def start(cls, logits: torch.Tensor) -> "PolicyState":
        return cls(logits, torch.zeros_like(logits), torch.zeros_like(logits))


def step(state: PolicyState, gradient, learning_rate: float, optimizer: str) -> PolicyState:
    """The state after one update; the given state is left alone.

    sgd   logit -= lr * g
    adam  m = b1 m + (1-b1) g;  v = b2 v + (1-b2) g^2
          logit -= lr * (m / (1-b1^t)) / (sqrt(v / (1-b2^t)) + 1e-8)
    (Kingma & Ba, arXiv 1412.6980, algorithm 1; defaults of torch 2.13.0)
    """
    steps = state.steps + 1
    if optimizer == "sgd":
        return PolicyState(state.logits - learning_rate * gradient, state.momentum, state.square, steps)
    momentum = torch.lerp(state.momentum, gradient, 1 - BETA1)
    square = (state.square * BETA2).addcmul_(gradient, gradient, value=1 - BETA2)
    scale = (square / (1 - BETA2**steps)).sqrt_().add_(ADAM_EPSILON)
    logits = torch.addcdiv(state.logits, momentum, scale, value=-learning_rate / (1 - BETA1**steps))
    return PolicyState(logits, momentum, square, steps)


def corrected_moments(state: PolicyState) -> tuple:
    """Adam's m_hat = m / (1-b1^t) and v_hat = v / (1-b2^t), [S, P, A] each, of a state after t steps."""
    return state.momentum / (1 - BETA1**state.steps), state.square / (1 - BETA2**state.steps)
