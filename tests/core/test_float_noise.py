"""Float noise in silent groups: the golden vectors of the frameworks, compared loosely."""

import pytest
import torch

from grpo_core import FieldError, group_advantages
from grpo_core.float_noise import EPSILONS, framework_advantages


@pytest.mark.parametrize(
    ("framework", "reward", "size", "advantage"),
    [
        ("TRL 1.16.0", 0.3, 6, 0.000298),
        ("TRL 1.16.0", 1e6 + 0.1, 7, 0.924),
        ("TRL 1.16.0", 1e6 + 0.1, 6, 0.911),
        ("TRL 1.16.0", 3.3, 7, 0.00238),
        ("verl 0.9.1", 0.3, 7, 0.0289),
        ("verl 0.9.1", 0.3, 3, 0.0),
        ("OpenRLHF 0.11.2", 0.3, 7, 29.8),
        ("OpenRLHF 0.11.2", 3.3, 7, 238.4),
    ],
)
def test_equal_rewards_speak_as_in_the_framework_and_are_silent_here(framework, reward, size, advantage):
    """The sign and size depend on the processor's order of summation: a factor of 1.5 is allowed."""
    group = torch.full((4, size), reward, dtype=torch.float32)
    noise = framework_advantages(group, framework).abs().max().item()
    assert (noise == 0) if advantage == 0 else advantage / 1.5 < noise < advantage * 1.5
    assert not group_advantages(group).any()


def test_unequal_rewards_are_the_usual_advantages():
    for framework in EPSILONS:
        ours = group_advantages([[0.0, 1.0, 1.0, 0.0]], ddof=1, epsilon=EPSILONS[framework]).float()
        torch.testing.assert_close(framework_advantages([[0.0, 1.0, 1.0, 0.0]], framework), ours)


@pytest.mark.parametrize(
    ("rewards", "framework"), [([[1.0]], "TRL 1.16.0"), ([1.0, 2.0], "TRL 1.16.0"), ([[1, 2]], "x")]
)
def test_what_cannot_be_is_refused(rewards, framework):
    with pytest.raises(FieldError):
        framework_advantages(rewards, framework)
