"""group_advantages: by hand, by property, and against numbers of the real frameworks."""

import json
import math
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from grpo_core import FieldError, group_advantages, group_statistics

GOLDEN = json.loads((Path(__file__).parent / "golden" / "advantages.json").read_text())
CANCELLATION = {"trl-adv-group_tiny_spread_g4-1"}
"""float32 cancellation: the framework's own rounding is larger than the spread it divides by."""

rewards_lists = st.lists(st.integers(-1000, 1000).map(lambda x: x / 8), min_size=2, max_size=12)


def test_the_chapter_s_example():
    assert group_advantages([0, 1, 1, 0], epsilon=0).tolist() == [-1, 1, 1, -1]
    assert group_advantages([0, 1, 1, 0]).tolist() == pytest.approx([-1, 1, 1, -1], abs=3e-6)


def test_sample_std_by_hand():
    std = math.sqrt((0.75**2 + 3 * 0.25**2) / 3)
    expected = [-0.75 / (std + 1e-4)] + [0.25 / (std + 1e-4)] * 3
    assert group_advantages([0, 1, 1, 1], ddof=1, epsilon=1e-4).tolist() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("value, count", [(0.3, 7), (1e6 + 0.1, 6), (3.3, 7), (0.0, 4), (1.0, 4), (-0.1, 3), (0.5, 1)])
def test_silent_groups_are_exactly_zero(dtype, ddof, value, count):
    rewards = torch.full((2, count), value, dtype=dtype)
    for epsilon in (1e-6, 1e-9, 0.0):
        advantages = group_advantages(rewards, ddof, epsilon)
        assert advantages.dtype == dtype and torch.equal(advantages, torch.zeros_like(rewards))
    mean, std, silent = group_statistics(rewards, ddof)
    assert silent.all() and torch.equal(mean, rewards[:, 0]) and not std.any()


def test_nearly_equal_is_not_silent():
    assert group_advantages([0.5, 0.5001]).tolist() == pytest.approx([-1, 1], rel=0.03)


@pytest.mark.parametrize(
    "rewards",
    [
        torch.tensor([1e6, 1e6 + 0.0625], dtype=torch.float32),
        torch.tensor([0.1 + 0.2, 0.3], dtype=torch.float64),
        torch.tensor([1e10, 1e10 + 2e-6], dtype=torch.float64),
    ],
)
def test_a_spread_of_one_rounding_is_still_one_better_and_one_worse(rewards):
    advantages = group_advantages(rewards, epsilon=0)
    assert sorted(advantages.tolist()) == pytest.approx([-1, 1]) and advantages.argmax() == rewards.argmax()


def test_advantages_at_a_spread_of_few_roundings_sum_to_zero():
    advantages = group_advantages(torch.tensor([1e6, 1e6 + 0.0625, 1e6 + 0.125, 1e6 + 0.125]))
    assert abs(advantages.sum().item()) < 1e-5 and not advantages.isnan().any()


def test_not_scored_is_left_out():
    nan = math.nan
    assert group_advantages([0, nan, 1], epsilon=0).tolist() == [-1, 0, 1]
    assert group_advantages([nan, nan]).tolist() == [0, 0]
    assert group_advantages([nan, 0.7, nan], ddof=1).tolist() == [0, 0, 0]
    assert group_advantages([1, nan, 1]).tolist() == [0, 0, 0]


def test_any_leading_shape():
    rewards = torch.rand(2, 3, 5, 4, dtype=torch.float64)
    together = group_advantages(rewards)
    torch.testing.assert_close(together[1, 2, 4], group_advantages(rewards[1, 2, 4]))


@pytest.mark.parametrize("right", range(1, 8))
def test_binary_rewards_of_p_correct(right):
    p = right / 8
    advantages = group_advantages([1] * right + [0] * (8 - right), epsilon=0)
    assert advantages[0].item() == pytest.approx(math.sqrt((1 - p) / p))
    assert advantages[-1].item() == pytest.approx(-math.sqrt(p / (1 - p)))


@given(rewards_lists, st.integers(-100, 100), st.sampled_from([0, 1]))
def test_shift_changes_nothing(rewards, shift, ddof):
    shifted = [reward + shift for reward in rewards]
    torch.testing.assert_close(group_advantages(rewards, ddof), group_advantages(shifted, ddof), rtol=1e-9, atol=1e-9)


@given(rewards_lists, st.sampled_from([0.25, 2.0, 8.0]))
def test_scale_changes_nothing_without_epsilon(rewards, scale):
    scaled = [reward * scale for reward in rewards]
    torch.testing.assert_close(group_advantages(rewards, epsilon=0), group_advantages(scaled, epsilon=0))


@given(rewards_lists, st.sampled_from([0, 1]))
def test_sum_is_zero_and_order_does_not_matter(rewards, ddof):
    advantages = group_advantages(rewards, ddof)
    assert abs(advantages.sum().item()) < 1e-9
    torch.testing.assert_close(advantages.flip(0), group_advantages(rewards[::-1], ddof), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["id"])
def test_equals_the_frameworks(case):
    compared = 0
    for rewards, expected in zip(case["rewards"], case["advantages"], strict=True):
        scored = [math.nan if reward is None else reward for reward in rewards]
        ours = group_advantages(torch.tensor(scored, dtype=torch.float64), 1, case["epsilon"]).tolist()
        if len({reward for reward in rewards if reward is not None}) < 2:
            assert not any(ours)  # theirs is float32 noise over epsilon, or the singleton's reward
        else:
            relative = 0.05 if case["id"] in CANCELLATION else 1e-5
            assert ours == pytest.approx(expected, rel=relative, abs=relative)
            compared += 1
    assert (
        compared
        or "identical" in case["id"]
        or "single" in case["id"]
        or all(len(set(g)) == 1 for g in case["rewards"])
    )


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (([],), "rewards"),
        (([0, math.inf],), "rewards"),
        (([1e308, 1e308, 0],), "rewards"),
        (([1e-200, 0],), "rewards"),
        ((3.0,), "rewards"),
        (([0, 1], 2), "ddof"),
        (([0, 1], 0, -1e-6), "epsilon"),
    ],
)
def test_errors_name_the_field(arguments, field):
    with pytest.raises(FieldError, match=field) as raised:
        group_advantages(*arguments)
    assert raised.value.field == field and isinstance(raised.value, ValueError)
