"""Silence, push and resting point: by hand, by simulation of the groups, and against trained policies."""

import itertools
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch

from grpo_core import (
    BanditTask,
    FieldError,
    TrainConfig,
    categorical_kl,
    chapter_task,
    expected_signals,
    group_advantages,
    kl_and_reward,
    measure_rest,
    textbook_frontier,
    textbook_policy,
    textbook_probability,
    train,
    train_leashes,
)
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


@pytest.mark.parametrize("scale", ["std", "none"])
@pytest.mark.parametrize("group_size", [2, 4, 16])
@pytest.mark.parametrize("reference", [1 / 3, 0.1])
def test_trained_policies_rest_where_predicted(group_size, reference, scale):
    kl_coefs = (0.5, 1.0, 2.0)
    predicted = resting_probability(np.array(kl_coefs), group_size, scale, reference)
    epochs = 10_000 if predicted.max() > 0.99 else 4_000  # near 1 the last steps are slow
    rest = measure_rest(kl_coefs, group_size, scale, reference, seeds=64, epochs=epochs)
    assert rest.probability.tolist() == pytest.approx(predicted.tolist(), abs=0.005)
    assert rest.flat.all()


def test_larger_steps_rest_further_out():
    """The design's figures: SGD 0.05 0.887, SGD 0.5 0.902, Adam 0.1 0.911 at kl_coef 1, G 16."""
    small, large, adam = (
        measure_rest([1.0], 16, learning_rate=rate, optimizer=optimizer, seeds=64, epochs=epochs).probability.item()
        for rate, optimizer, epochs in ((0.05, "sgd", 4_000), (0.5, "sgd", 2_000), (0.1, "adam", 2_000))
    )
    assert [small, large, adam] == pytest.approx([0.887, 0.902, 0.911], abs=0.006) and small < large < adam


def test_a_run_that_still_moves_is_not_flat():
    assert not measure_rest([0.5], 16, epochs=200).flat.any()


def test_a_run_s_chance_of_silence_counts_every_level_of_reward():
    task = BanditTask(["two", "three"], ["a", "b", "c"], [[1, 1, 0], [1, 0.5, 0]], [[0.2, 0.5, 0.3]] * 2)
    chance = train(task, TrainConfig(epochs=1, group_size=4)).silent_probability
    assert chance.shape == (1, 2, 2)
    assert chance[0, 0].tolist() == pytest.approx([0.7**4 + 0.3**4, 0.2**4 + 0.5**4 + 0.3**4])
    assert not task.is_binary and chapter_task().is_binary
    history = train(chapter_task(), TrainConfig(epochs=5))
    binary = silent_probability(history.target_probabilities.numpy(), 4)
    assert history.silent_probability.numpy() == pytest.approx(binary)


def test_textbook_and_signals_by_hand():
    task = BanditTask(["p"], ["a", "b", "c"], [[1, 0, 0]], [[0.2, 0.5, 0.3]])
    for kl_coef in (0.1, 1.0, 2.0):
        weight = 0.2 * math.exp(1 / kl_coef)
        assert textbook_probability(kl_coef, 0.2) == pytest.approx(weight / (weight + 0.8))
        assert textbook_policy(task, kl_coef)[0, 0].item() == pytest.approx(weight / (weight + 0.8))
    assert expected_signals(0.5, np.array([2, 4]), 64).tolist() == pytest.approx([16, 14])
    kl, reward = textbook_frontier(task, [1.0, 3.0])
    policy = textbook_policy(task, 3.0)
    assert reward.tolist() == pytest.approx(textbook_probability(np.array([1.0, 3.0]), 0.2).tolist())
    assert kl[1].item() == pytest.approx(categorical_kl(policy, task.reference_policy).item())


def test_the_frontier_is_whole_whatever_the_rewards_are():
    task, tiny = (BanditTask(["p"], ["a", "b"], [[size, 0]], [[0.2, 0.8]]) for size in (1, 0.001))
    (kl, reward), (tiny_kl, tiny_reward) = (textbook_frontier(each, [0.1, 1.0, 5.0]) for each in (task, tiny))
    assert tiny_kl.tolist() == pytest.approx(kl.tolist()) and kl[0] > 1
    assert (1000 * tiny_reward).tolist() == pytest.approx(reward.tolist())
    assert textbook_frontier(BanditTask(["p"], ["a", "b"], [[2, 2]]), [1.0])[0].tolist() == pytest.approx([0])


def test_kl_and_reward_are_means_over_prompts():
    task = BanditTask(["p", "q"], ["a", "b"], [[1, 0], [0, 3]])
    policies = torch.tensor([[[[1.0, 0.0], [0.5, 0.5]]]], dtype=torch.float64)
    kl, reward = kl_and_reward(task, policies)
    assert kl.shape == reward.shape == (1, 1)
    assert kl.item() == pytest.approx(math.log(2) / 2) and reward.item() == pytest.approx((1 + 1.5) / 2)


def test_leashes_together_are_the_runs_alone():
    config = TrainConfig(epochs=12)
    together = train_leashes(chapter_task(), config, [0.0, 0.3, 2.0], [4, 9])
    for k, kl_coef in enumerate([0.0, 0.3, 2.0]):
        for s, seed in enumerate([4, 9]):
            alone = train(chapter_task(), replace(config, kl_coef=kl_coef, seed=seed)).probabilities[0]
            torch.testing.assert_close(together[k, s], alone, rtol=1e-12, atol=1e-14)


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


def test_the_scale_is_checked_for_every_argument_and_extremes_do_not_overflow():
    for arguments in ((1, 1), (0, 4), (1, 4)):
        with pytest.raises(FieldError, match="scale"):
            resting_probability(*arguments, "bad")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert resting_probability(1, 4, "std", 5e-324) == pytest.approx(0, abs=1e-300)
        assert resting_probability(1e-3, 64, "none", 1 - 1e-12) == pytest.approx(1)


def test_a_group_size_may_be_written_as_a_float():
    assert resting_probability(1.0, 4.0) == resting_probability(1.0, 4)
    assert silent_probability(0.5, np.array([2.0, 3.0])).tolist() == [0.5, 0.25]
    with pytest.raises(FieldError, match="whole numbers"):
        expected_push(0.5, 2.5)
