"""Silence, push and resting point: by hand, by simulation of the groups, and against trained policies."""

import itertools
import math

import numpy as np
import pytest

from grpo_core import BanditTask, FieldError, TrainConfig, group_advantages, train
from grpo_core.theory import expected_push, resting_points, resting_probability, silent_probability


def test_silent_probability_by_hand():
    assert silent_probability(0.5, 4) == 0.125
    assert silent_probability(np.array([0.0, 0.1, 1.0]), 2).tolist() == pytest.approx([1, 0.82, 1])
    assert silent_probability(0.3, np.array([1, 2])).tolist() == pytest.approx([1, 0.58])


@pytest.mark.parametrize("group_size", [1, 2, 3, 5])
@pytest.mark.parametrize("p", [0.0, 0.2, 0.5, 0.9, 1.0])
def test_push_and_silence_are_the_mean_over_every_possible_group(p, group_size):
    """The push of a group on the right logit is (1/G) * sum of the right samples' advantages."""
    silent = with_std = without = 0.0
    for rewards in itertools.product([0.0, 1.0], repeat=group_size):
        chance = math.prod(p if reward else 1 - p for reward in rewards)
        share = sum(rewards) / group_size
        silent += chance * (share in (0, 1))
        advantages = group_advantages(list(rewards), epsilon=0).tolist()
        with_std += chance * sum(a for a, reward in zip(advantages, rewards, strict=True) if reward) / group_size
        without += chance * sum(reward - share for reward in rewards if reward) / group_size
    assert silent_probability(p, group_size) == pytest.approx(silent)
    assert expected_push(p, group_size) == pytest.approx(with_std, abs=1e-12)
    assert expected_push(p, group_size, "none") == pytest.approx(without, abs=1e-12)


def test_large_groups_climb_the_arcsine():
    p = np.linspace(0.2, 0.8, 5)
    assert expected_push(p, 512) == pytest.approx(np.sqrt(p * (1 - p)), abs=2e-3)


@pytest.mark.parametrize("group_size", [2, 4, 16, 64, 512])
def test_the_push_per_variance_has_the_bound_that_the_search_relies_on(group_size):
    p = np.linspace(1e-6, 1 - 1e-6, 2001)
    bound = max(1, math.sqrt(group_size - 1))
    assert (expected_push(p, group_size) / (p * (1 - p)) <= bound * (1 + 1e-9)).all()


def test_the_table_of_resting_points():
    assert resting_probability(1, np.array([4, 16])) == pytest.approx([0.720, 0.889], abs=5e-4)
    assert resting_probability(1, np.array([4, 16]), "none") == pytest.approx([0.514, 0.561], abs=5e-4)
    closed = 0.2 * math.exp(0.75 / 0.5) / (0.2 * math.exp(0.75 / 0.5) + 0.8)
    assert resting_probability(0.5, 4, "none", 0.2) == pytest.approx(closed)
    assert resting_probability(0.0, 4) == 1 and resting_probability(1.0, 1, reference_probability=0.2) == 0.2
    assert isinstance(resting_probability(1, 4), float)


def test_several_roots_are_found_and_the_first_is_where_training_stops():
    points = resting_points(0.5, 64, "std", 0.01)
    assert [holds for _, holds in points] == [True, False, True]
    assert [p for p, _ in points] == pytest.approx([0.377, 0.915, 0.99999], abs=5e-4)
    assert resting_probability(0.5, 64, "std", 0.01) == points[0][0]


@pytest.mark.parametrize("kl_coef", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("group_size", [2, 4, 16])
@pytest.mark.parametrize("reference", [1 / 3, 0.1])
def test_trained_policies_rest_where_predicted(kl_coef, group_size, reference):
    wrong = (1 - reference) / 2
    task = BanditTask(["q"], ["right", "wrong", "other"], [[1, 0, 0]], [[reference, wrong, wrong]])
    predicted = resting_probability(kl_coef, group_size, "std", reference)
    epochs = 10_000 if predicted > 0.99 else 4_000  # near 1 the last steps are slow
    config = TrainConfig(
        epochs=epochs, group_size=group_size, learning_rate=0.05, kl_coef=kl_coef, optimizer="sgd", epsilon=0.0
    )
    history = train(task, config, seeds=range(64), keep_samples=0)
    measured = history.target_probability[:, -epochs // 4 :].mean().item()
    assert measured == pytest.approx(predicted, abs=0.005)


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: silent_probability(1.2, 4), "p"),
        (lambda: silent_probability(0.5, 0), "group_size"),
        (lambda: silent_probability(0.5, 2.5), "group_size"),
        (lambda: expected_push(0.5, 4, "range"), "scale"),
        (lambda: expected_push(math.nan, 4), "p"),
        (lambda: resting_probability(-1, 4), "kl_coef"),
        (lambda: resting_probability(1, 4, reference_probability=0.0), "reference_probability"),
    ],
)
def test_errors_name_the_field(call, field):
    with pytest.raises(FieldError) as raised:
        call()
    assert raised.value.field == field
