"""Every preset trains in the methods' loop as a plain loop with autograd through `Algorithm.loss` would."""

import itertools
from dataclasses import replace

import pytest
import torch

from grpo_core import (
    BanditTask,
    FieldError,
    Method,
    TrainConfig,
    categorical_kl,
    chapter_loss,
    chapter_task,
    frameworks,
    sample_actions,
    train,
    train_method,
    uniforms,
)  # fmt: skip
from grpo_core.family import on_bandit
from grpo_core.frameworks import CHAPTER, PRESETS, Aggregation, TokenKl, UnsupportedSetting
from grpo_core.frameworks.advantages import best_of

TASK = chapter_task()
UNEVEN = BanditTask(["p", "q"], ["a", "b", "c"], [[1, 0.5, 0], [0, 0, 1]], [[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]])
EXTRA = {
    "trl with KL": frameworks.from_trl({"beta": 0.3}),
    "trl batch std": frameworks.from_trl({"scale_rewards": "batch", "loss_type": "sapo"}),
    "trl gdpo, vespo": frameworks.from_trl({"multi_objective_aggregation": "normalize_then_sum", "loss_type": "vespo"}),
    "trl off-policy mask": frameworks.from_trl({"off_policy_mask_threshold": 0.01}),
    "verl k2+": frameworks.from_verl({"adv_estimator": "grpo", "use_kl_loss": True, "kl_loss_coef": 0.3, "kl_loss_type": "k2+"}),
    "verl geo_mean, sum": frameworks.from_verl({"adv_estimator": "gpg", "loss_mode": "geo_mean"}),
    "verl token-sum": frameworks.from_verl({"adv_estimator": "reinforce_plus_plus_baseline", "loss_agg_mode": "token-sum"}),
    "verl kl_cov": frameworks.from_verl({"adv_estimator": "opo", "loss_mode": "kl_cov", "policy_loss": {"kl_cov_ratio": 0.3}}),
    "verl dppo": frameworks.from_verl({"adv_estimator": "grpo_passk", "loss_mode": "dppo_kl", "clip_ratio_high": 0.01}),
    "openrlhf batch": frameworks.from_openrlhf({"advantage_estimator": "flash_reinforce", "use_kl_loss": True, "kl_coef": 0.3}),
    "openrlhf reinforce": frameworks.from_openrlhf({"advantage_estimator": "reinforce", "kl_coef": 0.3}),
}  # fmt: skip
METHODS = [Method(name, algorithm=preset.algorithm, max_draws=preset.max_draws) for name, preset in PRESETS.items()] + [
    Method(name, algorithm=algorithm) for name, algorithm in EXTRA.items()
]


def plain_run(task: BanditTask, config: TrainConfig, method: Method, seed: int) -> torch.Tensor:
    """[E+1, P, A] of one seed: the framework's entry points, autograd, torch's own optimizer."""
    algorithm, reference = on_bandit(method.algorithm), task.reference_policy
    logits = reference.log().clone().requires_grad_()
    optimizer = torch.optim.Adam([logits], config.learning_rate)
    rows = []
    for epoch in range(config.epochs):
        old_policy = logits.detach().log_softmax(-1)
        policy = old_policy.exp()
        rows.append(policy)
        uniform = uniforms((seed,), range(epoch, epoch + 1), len(task.prompts), method.max_draws * config.group_size)
        chosen = []
        for row, numbers, rewards in zip(policy, uniform[0, 0], task.rewards, strict=True):
            for draw in numbers.split(config.group_size):
                actions = sample_actions(row, draw)
                if len(set(rewards[actions].tolist())) > 1:
                    break
            chosen.append(actions)
        actions = torch.stack(chosen)
        rewards = task.rewards.gather(-1, actions)
        old, ref = (table.gather(-1, actions).reshape(-1, 1) for table in (old_policy, reference.log()))
        kl = None
        if algorithm.estimator.kl_in:
            kl = algorithm.kl(old, ref).view(*actions.shape, 1)
        advantages = algorithm.advantages(rewards, kl=kl).reshape(-1)
        for _ in range(method.inner_epochs):
            log_policy = logits.log_softmax(-1)
            exact = None
            if algorithm.token_kl.estimate == "exact":
                divergence = categorical_kl(log_policy.exp(), reference)
                exact = divergence[:, None].expand(actions.shape).reshape(-1, 1)
            log_prob = log_policy.gather(-1, actions).reshape(-1, 1)
            optimizer.zero_grad()
            algorithm.loss(log_prob, old, ref, None, advantages, exact).value.backward()
            optimizer.step()
    return torch.stack([*rows, logits.detach().softmax(-1)])


@pytest.mark.parametrize("updates", [1, 4])
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_training_equals_a_plain_loop_through_the_loss(method, updates):
    config = TrainConfig(epochs=8, group_size=5, learning_rate=0.15)
    method = replace(method, inner_epochs=updates)
    history = train_method(UNEVEN, config, method, range(3))
    for seed in range(3):
        expected = plain_run(UNEVEN, config, method, seed)
        torch.testing.assert_close(
            history.probabilities[seed], expected, rtol=1e-6, atol=1e-8
        )  # Adam enlarges rounding
    assert (history.probabilities[:, -1] - history.probabilities[:, 0]).abs().max() > 0.05


def test_the_chapter_preset_is_the_chapter_s_training():
    method = Method("chapter", algorithm=PRESETS["chapter"].algorithm)
    history, expected = train_method(TASK, TrainConfig(), method, range(5)), train(TASK, TrainConfig(), range(5))
    torch.testing.assert_close(history.probabilities, expected.probabilities, rtol=1e-12, atol=1e-14)
    assert history.samples_used.tolist() == [12 * epoch for epoch in range(41)]


@pytest.mark.parametrize("kl_coef", [0.0, 0.3])
def test_the_chapter_s_loss_is_the_combination_with_the_exact_kl(kl_coef):
    random = torch.Generator().manual_seed(0)
    logits = torch.randn(3, 4, generator=random, dtype=torch.float64, requires_grad=True)
    reference = torch.randn(3, 4, generator=random, dtype=torch.float64).softmax(-1)
    actions = torch.randint(4, (3, 5), generator=random)
    advantages = CHAPTER.advantages((actions == torch.tensor([[0], [1], [2]])).double())
    log_policy = logits.log_softmax(-1)
    kl = categorical_kl(log_policy.exp(), reference)[:, None].expand(3, 5).reshape(-1, 1)
    log_prob = log_policy.gather(-1, actions).reshape(-1, 1)
    combined = replace(CHAPTER, kl_coef=kl_coef).loss(log_prob, None, None, None, advantages.flatten(), kl)
    expected = chapter_loss(logits, actions, advantages, reference, kl_coef).total
    torch.testing.assert_close(combined.value, expected)
    torch.testing.assert_close(
        *(torch.autograd.grad(value, logits, retain_graph=True)[0] for value in (combined.value, expected))
    )


def test_an_exact_kl_must_be_given():
    log_prob = torch.zeros(2, 1, dtype=torch.float64)
    with pytest.raises(FieldError, match="kl is needed"):
        replace(CHAPTER, kl_coef=0.1).loss(log_prob, None, log_prob, None, [1.0, -1.0])
    with pytest.raises(FieldError, match="kl is needed"):
        TokenKl("exact")(log_prob, log_prob, log_prob)


@pytest.mark.parametrize("rewards", [[1, 0, 0, 0.5], [1, 1, 0, 0, 0], [3, -1, 2, 2, 0.1, 5], [0, 0, 0]])
@pytest.mark.parametrize("k", [1, 2, 3, 9])
def test_best_of_k_equals_taking_every_subset(rewards, k):
    ways = list(itertools.combinations(range(len(rewards)), min(k, len(rewards))))
    best = torch.tensor([max(rewards[i] for i in way) for way in ways], dtype=torch.float64)
    having = [[i in way for way in ways] for i in range(len(rewards))]
    difference, mean, std = best_of(torch.tensor([rewards], dtype=torch.float64), k)
    expected = torch.stack([best[torch.tensor(has)].mean() - best.mean() for has in having])
    torch.testing.assert_close(difference[0], expected, rtol=1e-12, atol=1e-12)
    assert mean.item() == pytest.approx(best.mean().item()) and std.item() == pytest.approx(
        best.std(correction=0).item(), abs=1e-12
    )


def test_pass_at_k_is_the_paper_s_formula():
    """One right answer of four, k = 2: mean 1/2, std 1/2; right (1 - 1/2) / (1/2), wrong (1 - 1/2 - 2/3) / (1/2)."""
    pass_at_k = PRESETS["pass_at_k"].algorithm
    assert pass_at_k.advantages([[1, 0, 0, 0]])[0].tolist() == pytest.approx([1, -1 / 3, -1 / 3, -1 / 3], abs=1e-5)
    assert pass_at_k.advantages([[1, 1, 1, 0]])[0].tolist() == [0, 0, 0, 0]  # any two hold a right one
    assert pass_at_k.advantages([[0.3] * 7, [1] * 7]).abs().max() == 0
    unscored = pass_at_k.advantages([[1, None, 0, 0, 0]])[0].tolist()
    assert unscored == pytest.approx([1, 0, -1 / 3, -1 / 3, -1 / 3], abs=1e-5)


def test_batches_are_compared_each_on_their_own():
    rewards = torch.rand(4, 3, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    kl = rewards.flip(0) / 10
    for algorithm in [preset.algorithm for preset in PRESETS.values()] + list(EXTRA.values()):
        estimator = algorithm.estimator
        given = (None,) if estimator.kl_in is None else (None, kl)
        for divergence in given:
            together = estimator.of_batches(rewards, divergence)
            for index in range(4):
                alone = estimator(rewards[index], kl=None if divergence is None else divergence[index, ..., None])
                torch.testing.assert_close(together[index], alone.view(3, 5), rtol=1e-12, atol=1e-12)


def test_on_a_bandit_the_normalisers_are_the_batch_s_own():
    dr_grpo = PRESETS["dr_grpo"].algorithm
    assert dr_grpo.aggregation.length == 3000 and on_bandit(dr_grpo).aggregation == Aggregation("seq-mean-token-sum")
    accumulated = frameworks.from_trl({"gradient_accumulation_steps": 4, "num_generations": 8})
    assert on_bandit(accumulated).aggregation.factor == 1 and on_bandit(accumulated).estimator.group_size is None
    for settings, field in (
        ({}, "advantage estimator"),
        ({"adv_estimator": "grpo", "rollout_is_weights": [[1.0]]}, "rollout_is_weights"),
    ):
        with pytest.raises(UnsupportedSetting) as error:
            on_bandit(frameworks.from_verl(settings))
        assert error.value.field == field


def test_a_group_of_one_is_refused_where_the_framework_refuses_it():
    with pytest.raises(FieldError, match="at least 2 samples"):
        train_method(TASK, TrainConfig(group_size=1), Method("trl", algorithm=PRESETS["trl"].algorithm))


def test_dynamic_sampling_draws_more_and_counts_it():
    dapo = Method("dapo", algorithm=PRESETS["dapo"].algorithm, max_draws=8)
    used = train_method(TASK, TrainConfig(), dapo, range(16)).samples_used
    assert used[0] == 0 and (used.diff() >= 12).all() and used[-1] > 2 * 480
