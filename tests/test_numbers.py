"""Numbers as text: what a formula shows must come out when a reader works it out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_core import group_advantages, group_statistics
from grpo_core.advantages import checked_rewards
from ui.numbers import fitting, number, signed, tex, tex_signed


@pytest.mark.parametrize(
    ("value", "spread", "text"),
    [
        (0.5, 0.5, "0.50"),
        (1 / 3, 0.471, "0.33"),
        (12.0, 3.0, "12.00"),
        (0.0002, 8e-5, "0.000200"),
        (1.5e-6, 5e-7, "1.5e-06"),
        (100000.5, 0.001, "100000.5000"),
        (1e100, 1e99, "1e+100"),
        (0.0, 1e-9, "0.000000"),
        (0.25, 0.0, "0.25"),
    ],
)
def test_as_many_digits_as_the_spread_needs(value, spread, text):
    assert fitting(value, spread) == text


def test_signs_and_powers_of_ten():
    assert [signed(value) for value in (1.0, -1.0, 0.0, -0.001)] == ["+1.00", "−1.00", "0.00", "0.00"]
    assert signed(-3e-7, 3, 1e-7) == "−3e-07"
    assert [tex(text) for text in ("0.5", "1e-06", "2.5e+20")] == ["0.5", "10^{-6}", r"2.5 \cdot 10^{20}"]
    assert [tex_signed(value, 2) for value in (0.5, -0.5, -0.001)] == ["+0.50", "-0.50", "+0.00"]
    assert number(100000.4) == "100000.4"


@given(st.lists(st.integers(-9, 9), min_size=2, max_size=6, unique=True), st.integers(-5, 5), st.integers(-999, 999))
def test_a_shown_advantage_comes_out(shape, exponent, offset):
    """From the texts of reward, mean and std a reader gets the advantage to its two digits."""
    rewards = [offset + value * 10.0**exponent for value in shape]
    mean, std, _ = (value.item() for value in group_statistics(checked_rewards(rewards)))
    for reward, advantage in zip(rewards, group_advantages(rewards, epsilon=0.0).tolist(), strict=True):
        worked_out = (float(number(reward)) - float(fitting(mean, std, 3))) / float(fitting(std, std, 3))
        assert worked_out == pytest.approx(advantage, abs=0.02)
