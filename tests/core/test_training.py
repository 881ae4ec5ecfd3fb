"""KL, loss, gradient, random numbers, optimizer steps, and the loop against a plain one."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import grpo_core.training
from grpo_core import (
    BanditTask,
    FieldError,
    TrainConfig,
    band_seeds,
    categorical_kl,
    chapter_gradient,
    chapter_loss,
    chapter_task,
    entropy,
    estimate_kl,
    estimator_moments,
    group_advantages,
    kl_loss_gradient,
    sample_actions,
    train,
    train_bands,
    uniforms,
)
from grpo_core.optimizers import PolicyState, step

TASK = chapter_task()
UNEVEN = BanditTask(["p", "q"], ["a", "b", "c"], [[1, 0.5, 0], [0, 0, 1]], [[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]])


@given(st.lists(st.floats(0, 1), min_size=3, max_size=3), st.lists(st.floats(0.01, 1), min_size=3, max_size=3))
def test_kl_is_never_negative(policy, reference):
    policy = torch.tensor(policy, dtype=torch.float64) + 1e-12
    reference = torch.tensor(reference, dtype=torch.float64)
    kl = categorical_kl(policy / policy.sum(), reference / reference.sum()).item()
    assert kl >= 0 and math.copysign(1, kl) == 1


def test_kl_and_entropy_by_hand():
    policy, reference = torch.tensor([0.5, 0.5]).double(), torch.tensor([0.25, 0.75]).double()
    assert categorical_kl(policy, reference).item() == pytest.approx(0.5 * math.log(2) + 0.5 * math.log(2 / 3))
    assert str(categorical_kl(reference, reference).item()) == "0.0"
    assert categorical_kl(torch.tensor([1.0, 0.0]), torch.tensor([0.5, 0.5])).item() == pytest.approx(math.log(2))
    assert entropy(torch.full((3,), 1 / 3)).item() == pytest.approx(math.log(3))


@pytest.mark.parametrize("kl_coef", [0.0, 0.02, 1.5])
@pytest.mark.parametrize("shape", [(3, 3, 4), (2, 5, 7), (1, 2, 1)])
def test_closed_form_gradient_equals_autograd(shape, kl_coef):
    prompts, actions, group = shape
    generator = torch.Generator().manual_seed(prompts)
    logits = torch.randn(prompts, actions, dtype=torch.float64, generator=generator).requires_grad_()
    reference = torch.randn(prompts, actions, dtype=torch.float64, generator=generator).softmax(-1)
    taken = torch.randint(actions, (prompts, group), generator=generator)
    advantages = torch.randn(prompts, group, dtype=torch.float64, generator=generator)
    loss = chapter_loss(logits, taken, advantages, reference, kl_coef)
    ours = chapter_gradient(logits.detach().log_softmax(-1), taken, advantages, reference, kl_coef)
    for term in ("policy", "kl", "total"):
        (expected,) = torch.autograd.grad(getattr(loss, term), logits, retain_graph=True)
        torch.testing.assert_close(getattr(ours, term), expected, rtol=1e-10, atol=1e-12)


def test_loss_is_zero_where_the_gradient_is_not():
    taken, advantages = torch.tensor([[0, 0, 1, 1]]), torch.tensor([[1.0, 1, -1, -1]]).double()
    uniform = torch.full((1, 3), 1 / 3, dtype=torch.float64)
    assert chapter_loss(uniform.log(), taken, advantages, uniform, 0.0).total.item() == pytest.approx(0, abs=1e-15)
    gradient = chapter_gradient(uniform.log(), taken, advantages, uniform, 0.0).total[0].tolist()
    assert gradient == pytest.approx([-0.5, 0.5, 0.0])


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_optimizer_steps_equal_torch_optim(optimizer):
    parameter = torch.zeros(1, 3, 3, dtype=torch.float64, requires_grad=True)
    kind = torch.optim.Adam if optimizer == "adam" else torch.optim.SGD
    theirs, state = kind([parameter], lr=0.1), PolicyState.start(torch.zeros(1, 3, 3, dtype=torch.float64))
    generator = torch.Generator().manual_seed(0)
    for _ in range(50):
        parameter.grad = torch.randn(1, 3, 3, dtype=torch.float64, generator=generator)
        state = step(state, parameter.grad, 0.1, optimizer)
        theirs.step()
    torch.testing.assert_close(state.logits, parameter.detach(), rtol=1e-12, atol=1e-13)


def splitmix64(state: int) -> int:
    mask = 2**64 - 1
    state = (state + 0x9E3779B97F4A7C15) & mask
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & mask
    return state ^ (state >> 31)


@pytest.mark.parametrize("where", [(0, 0, 0, 0), (7, 3, 2, 1), (2**31 - 1, 39, 1, 3)])
def test_random_numbers_are_the_hash_of_their_place(where):
    seed, epoch, prompt, sample = where
    state = 0
    for counter in where:
        state = splitmix64((state + counter) & (2**64 - 1))
    drawn = uniforms([seed], range(epoch, epoch + 1), 3, 4)[0, 0, prompt, sample].item()
    assert drawn == (state >> 11) * 2.0**-53


def test_random_numbers_do_not_depend_on_the_batch_and_look_uniform():
    many = uniforms(range(50), range(40), 3, 8)
    assert torch.equal(many[[17], :5, :, :4], uniforms([17], range(5), 3, 4))
    assert many.min() >= 0 and many.max() < 1
    counts = torch.histc(many.flatten(), 20, 0, 1)
    expected = many.numel() / 20
    assert ((counts - expected) ** 2 / expected).sum().item() < 45  # 0.1 % of chi-square with 19 degrees


def test_actions_by_the_inverse_of_the_cumulative_distribution():
    probabilities = torch.tensor([0.25, 0.0, 0.75]).double()
    drawn = sample_actions(probabilities, torch.tensor([0.0, 0.2499, 0.25, 0.9999]).double())
    assert drawn.tolist() == [0, 0, 2, 2]


def test_an_action_of_probability_0_is_never_drawn_where_the_sum_rounds_below_1():
    probabilities = torch.tensor([0.1] * 10 + [0.0], dtype=torch.float64)
    assert probabilities.cumsum(-1)[-1] < 1
    assert sample_actions(probabilities, torch.tensor([1 - 2.0**-53], dtype=torch.float64)).item() == 9


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
@pytest.mark.parametrize("task", [TASK, UNEVEN], ids=["chapter", "uneven"])
def test_training_equals_a_plain_loop_with_autograd(task, optimizer):
    config = TrainConfig(epochs=15, seed=3, optimizer=optimizer, kl_coef=0.1, ddof=1)
    history = train(task, config)
    logits = task.reference_policy.log().clone().requires_grad_()
    kind = torch.optim.Adam if optimizer == "adam" else torch.optim.SGD
    stepper = kind([logits], lr=config.learning_rate)
    draws = uniforms([3], range(15), len(task.prompts), config.group_size)[0]
    for epoch in range(config.epochs):
        policy = logits.detach().softmax(-1)
        torch.testing.assert_close(history.probabilities[0, epoch], policy, rtol=1e-10, atol=1e-12)
        taken = sample_actions(policy, draws[epoch])
        assert torch.equal(history.actions[0, epoch], taken)
        rewards = torch.stack([task.rewards[p][taken[p]] for p in range(len(task.prompts))])
        loss = chapter_loss(logits, taken, group_advantages(rewards, 1), task.reference_policy, 0.1)
        torch.testing.assert_close(history.loss[0, epoch], loss.total.detach(), rtol=1e-9, atol=1e-12)
        stepper.zero_grad()
        loss.total.backward()
        assert history.grad_norm[0, epoch].item() == pytest.approx(logits.grad.norm().item(), rel=1e-8)
        stepper.step()


def test_rows_are_the_policy_that_sampled():
    history = train(TASK, TrainConfig(epochs=5))
    assert history.probabilities.shape == (1, 6, 3, 3)
    torch.testing.assert_close(history.probabilities[0, 0], TASK.reference_policy)
    assert history.mean_kl[0, 0] == 0
    assert torch.equal(history.rewards, TASK.rewards.expand(1, 5, 3, 3).gather(-1, history.actions))
    torch.testing.assert_close(history.advantages, group_advantages(history.rewards))


def test_a_seed_alone_equals_it_in_a_batch_and_longer_runs_keep_their_start(monkeypatch):
    alone = train(TASK, TrainConfig(seed=9, epochs=20))
    batch = train(TASK, TrainConfig(epochs=30), seeds=range(12), keep_samples=12)
    assert torch.equal(alone.actions[0], batch.actions[9, :20])
    torch.testing.assert_close(alone.probabilities[0], batch.probabilities[9, :21], rtol=1e-12, atol=1e-14)
    larger = train(TASK, TrainConfig(seed=9, epochs=20, group_size=6))
    assert torch.equal(larger.actions[0, 0, :, :4], alone.actions[0, 0])
    monkeypatch.setattr(grpo_core.training, "BLOCK_NUMBERS", 100)
    blocks = train(TASK, TrainConfig(seed=9, epochs=20))
    assert blocks.metrics_frame().equals(alone.metrics_frame()) and blocks.samples_frame().equals(alone.samples_frame())


def test_without_std_the_advantage_is_the_reward_against_the_mean():
    history = train(TASK, TrainConfig(epochs=5, seed=2, kl_coef=0.0, optimizer="sgd"), scale="none")
    deviation = history.rewards - history.rewards.mean(-1, keepdim=True)
    torch.testing.assert_close(history.advantages, deviation)
    gradient = chapter_gradient(
        history.probabilities[0, 0].log(), history.actions[0, 0], deviation[0, 0], TASK.reference_policy, 0.0
    ).total
    moved = (history.probabilities[0, 0].log() - 0.1 * gradient).softmax(-1)
    torch.testing.assert_close(history.probabilities[0, 1], moved)
    silent = group_advantages([[0.3] * 7, [1e6 + 0.1] * 7], scale="none")
    assert not silent.any()
    assert group_advantages([0, math.nan, 1], scale="none").tolist() == [-0.5, 0, 0.5]


def test_a_coefficient_per_seed_is_each_one_s_run():
    config = TrainConfig(epochs=10)
    together = train(TASK, config, seeds=[3, 3, 5], kl_coefs=[0.0, 1.0, 1.0])
    for i, (seed, kl_coef) in enumerate([(3, 0.0), (3, 1.0), (5, 1.0)]):
        alone = train(TASK, TrainConfig(epochs=10, seed=seed, kl_coef=kl_coef))
        for name in ("probabilities", "kl_loss", "loss", "grad_norm"):
            torch.testing.assert_close(getattr(together, name)[i], getattr(alone, name)[0], rtol=1e-10, atol=1e-13)


def test_dynamic_sampling_keeps_the_first_mixed_group_and_counts_its_draws():
    config, draws = TrainConfig(epochs=30, group_size=2, seed=1), 5
    history = train(TASK, config, max_draws=draws, keep_samples=1)
    numbers = uniforms([1], range(30), 3, 2 * draws)[0]
    for epoch in range(30):
        for prompt in range(3):
            policy = history.probabilities[0, epoch, prompt]
            groups = sample_actions(policy, numbers[epoch, prompt]).view(draws, 2).tolist()
            rewards = [[TASK.rewards[prompt, action].item() for action in group] for group in groups]
            mixed = [i for i, group in enumerate(rewards) if len(set(group)) > 1]
            chosen = mixed[0] if mixed else draws - 1
            assert history.draws[0, epoch, prompt] == chosen + 1
            assert history.actions[0, epoch, prompt].tolist() == groups[chosen]
            assert history.silent[0, epoch, prompt] == (not mixed)
    assert torch.equal(train(TASK, config, max_draws=1).probabilities, train(TASK, config).probabilities)
    assert train(TASK, config).draws.eq(1).all()


def test_dynamic_sampling_leaves_p_silent_to_the_power_of_its_draws():
    """With a policy that does not move: 1/3 right, groups of 2, three draws."""
    history = train(TASK, TrainConfig(epochs=50, group_size=2, learning_rate=0.0), seeds=range(200), max_draws=3)
    silent = (1 / 3) ** 2 + (2 / 3) ** 2
    assert history.silent.double().mean().item() == pytest.approx(silent**3, abs=0.01)
    assert history.draws.double().mean().item() == pytest.approx(1 + silent + silent**2, abs=0.02)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"scale": "batch"}, "scale"),
        ({"max_draws": 0}, "max_draws"),
        ({"max_draws": 101}, "max_draws"),
        ({"kl_coefs": [0.1, 0.2]}, "kl_coefs"),
        ({"kl_coefs": [-1]}, "kl_coef"),
    ],
)
def test_experiments_that_cannot_be_are_refused(arguments, field):
    with pytest.raises(FieldError) as raised:
        train(TASK, TrainConfig(), **arguments)
    assert raised.value.field == field


@pytest.mark.parametrize("kind", ["k1", "k2", "k3"])
def test_estimates_of_the_kl_and_their_gradients(kind):
    """Values by hand; bias, variance and gradient against sums over all actions and autograd."""
    x = torch.tensor([math.log(2.0), -math.log(2.0)]).double()
    by_hand = {"k1": [0.693147, -0.693147], "k2": [0.240227, 0.240227], "k3": [0.193147, 0.306853]}
    assert estimate_kl(x, kind).tolist() == pytest.approx(by_hand[kind], abs=1e-6)
    logits = torch.tensor([0.3, -1.0, 2.0]).double().requires_grad_()
    reference = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64)
    policy = logits.softmax(-1)
    mean, variance = estimator_moments(policy.detach(), reference, kind)
    values = [estimate_kl((p / r).log(), kind).item() for p, r in zip(policy.detach(), reference, strict=True)]
    expected = sum(p * v for p, v in zip(policy.tolist(), values, strict=True))
    assert mean.item() == pytest.approx(expected)
    assert variance.item() == pytest.approx(
        sum(p * (v - expected) ** 2 for p, v in zip(policy.tolist(), values, strict=True))
    )
    kl = categorical_kl(policy.detach(), reference).item()
    assert [part.item() for part in estimator_moments(policy.detach(), reference, kind, 16)] == pytest.approx(
        [expected, variance.item() / 16]
    )
    assert (abs(mean.item() - kl) < 1e-12) == (kind != "k2")
    loss = (policy.detach() * estimate_kl((policy / reference).log(), kind)).sum()
    (gradient,) = torch.autograd.grad(loss, logits)
    torch.testing.assert_close(kl_loss_gradient(policy.detach(), reference, kind), gradient)


def test_exact_kl_gradient_is_autograd_s_and_k3_s_is_that_of_the_reversed_kl():
    logits = torch.tensor([0.3, -1.0, 2.0]).double().requires_grad_()
    reference = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64)
    (exact,) = torch.autograd.grad(categorical_kl(logits.softmax(-1), reference), logits)
    (reverse,) = torch.autograd.grad((reference * (reference / logits.softmax(-1)).log()).sum(), logits)
    policy = logits.detach().softmax(-1)
    torch.testing.assert_close(kl_loss_gradient(policy, reference, "exact"), exact)
    torch.testing.assert_close(kl_loss_gradient(policy, reference, "k3"), reverse)
    for wrong in (estimate_kl, lambda x, kind: kl_loss_gradient(x, x, kind)):
        with pytest.raises(FieldError, match="kind"):
            wrong(policy, "k4")


@pytest.mark.parametrize("ddof", [0, 1])
def test_a_group_of_one_learns_nothing(ddof):
    history = train(TASK, TrainConfig(group_size=1, ddof=ddof))
    torch.testing.assert_close(history.probabilities[0, -1], TASK.reference_policy)
    assert not history.advantages.any() and history.silent_share.eq(1).all()
    held = train(UNEVEN, TrainConfig(group_size=1, ddof=ddof, epochs=300, learning_rate=1.0, kl_coef=0.5))
    torch.testing.assert_close(held.probabilities[0, -1], UNEVEN.reference_policy, rtol=0, atol=1e-14)


def test_the_policy_learns_and_the_bands_are_quantiles():
    bands = train_bands(TASK, TrainConfig())
    assert bands.seeds == 256 and bands.target_probabilities[1, -1].min() > 0.9
    history = train(TASK, TrainConfig(), seeds=range(256))
    for i, level in enumerate((0.05, 0.5, 0.95)):
        torch.testing.assert_close(bands.mean_kl[i], history.mean_kl.quantile(level, 0))
    assert (bands.mean_reward[0] <= bands.mean_reward[2]).all()
    assert 8 <= band_seeds(TASK, TrainConfig(epochs=500, group_size=64)) < 256


def test_tables_are_tidy_and_every_column_is_what_it_says():
    history = train(TASK, TrainConfig(epochs=3, kl_coef=0.5), seeds=(4, 5), keep_samples=2)
    metrics, samples = history.metrics_frame(), history.samples_frame()
    assert metrics[["seed", "epoch"]].values.tolist() == [[s, e] for s in (4, 5) for e in (1, 2, 3)]
    assert len(samples) == 2 * 3 * 3 * 4
    last = samples.iloc[-1]
    assert last.prompt == "first letter of abc?" and last["sample"] == 4 and (last.seed, last.epoch) == (5, 3)
    for (seed, epoch, prompt), group in samples.groupby(["seed", "epoch", "prompt"]):
        policy = history.probabilities[seed - 4, epoch - 1, TASK.prompts.index(prompt)]
        assert group.probability.tolist() == [policy[TASK.actions.index(action)] for action in group.action]
        assert group.reward.tolist() == [
            float(action == TASK.targets[TASK.prompts.index(prompt)]) for action in group.action
        ]
        mean, std = group.reward.mean(), group.reward.std(ddof=0)
        assert (group.group_mean == mean).all() and group.group_std.tolist() == pytest.approx([std] * 4)
        expected = [(reward - mean) / (std + 1e-6) for reward in group.reward]
        assert group.advantage.tolist() == pytest.approx(expected)
    for row in metrics.itertuples():
        epoch = samples[(samples.seed == row.seed) & (samples.epoch == row.epoch)]
        policy = history.probabilities[row.seed - 4, row.epoch - 1].tolist()
        kl = sum(p * math.log(3 * p) for line in policy for p in line) / 3
        stds = epoch.groupby("prompt").reward.std(ddof=0)
        by_hand = {
            "mean_reward": epoch.reward.mean(),
            "greedy_reward": sum(line.index(max(line)) == p for p, line in enumerate(policy)) / 3,
            "adv_mean": epoch.advantage.mean(),
            "adv_std": epoch.advantage.std(ddof=0),
            "mean_kl": kl,
            "entropy": -sum(p * math.log(p) for line in policy for p in line) / 3,
            "target_probability": sum(policy[p][p] for p in range(3)) / 3,
            "silent_share": (stds == 0).mean(),
            "policy_loss": -(epoch.probability.map(math.log) * epoch.advantage).mean(),
            "kl_loss": 0.5 * kl,
        }
        by_hand["loss"] = by_hand["policy_loss"] + by_hand["kl_loss"]
        for name, value in by_hand.items():
            assert getattr(row, name) == pytest.approx(value, abs=1e-12), name
    assert set(metrics.columns) == {"seed", "epoch", "grad_norm", *by_hand}


def test_no_table_has_a_negative_zero():
    for config in (TrainConfig(), TrainConfig(group_size=1), TrainConfig(kl_coef=-0.0)):
        history = train(TASK, config)
        for table in (history.metrics_frame(), history.samples_frame()):
            numbers = table.select_dtypes("number").to_numpy(dtype=float)
            assert not ((numbers == 0) & np.signbit(numbers)).any()


@pytest.mark.parametrize(
    "arguments",
    [
        {"seeds": []},
        {"seeds": [-1]},
        {"seeds": range(2**19)},
        {"seeds": [0], "keep_samples": -1},
        {"seeds": [1.7]},
    ],
)
def test_runs_that_cannot_be_are_refused(arguments):
    with pytest.raises(FieldError):
        train(TASK, TrainConfig(), **arguments)


def test_one_epoch_that_would_not_fit_is_refused():
    with pytest.raises(FieldError, match="fewer seeds"):
        train(TASK, TrainConfig(epochs=1, group_size=64), seeds=range(2**17), keep_samples=0)
