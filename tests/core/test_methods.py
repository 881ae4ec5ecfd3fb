"""REINFORCE, PPO, GRPO, DPO: by hand, against plain loops with autograd, and where each of them ends."""

import math
from dataclasses import replace

import pytest
import torch

from grpo_core import (
    METHODS,
    BanditTask,
    FieldError,
    Method,
    TrainConfig,
    categorical_kl,
    chapter_gradient,
    chapter_task,
    group_advantages,
    sample_actions,
    train,
    train_method,
    uniforms,
)  # fmt: skip
from grpo_core.method_training import (
    Rollout,
    clipped_surrogate,
    preference_update,
    sample_pairs,
    surrogate_update,
    update_values,
)  # fmt: skip

TASK = chapter_task()
UNEVEN = BanditTask(["p", "q"], ["a", "b", "c"], [[1, 0.5, 0], [0, 0, 1]], [[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]])
PPO, DPO = METHODS["PPO"], METHODS["DPO"]
BRADLEY_TERRY = Method("DPO on noisy labels", pairs="bradley_terry")
EVERY = [*METHODS.values(), BRADLEY_TERRY]
ONLINE = [method for method in METHODS.values() if method.pairs is None]


def named(methods):
    return pytest.mark.parametrize("method", methods, ids=lambda method: method.name)


def double(values):
    return torch.tensor(values, dtype=torch.float64)


def random_policy(seed, *shape):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=generator).log_softmax(-1)


@pytest.mark.parametrize(
    ("ratio", "advantage", "objective", "slope"),
    [
        (1.0, 2.0, 2.0, 2.0), (1.0, -2.0, -2.0, -2.0), (1.1, 2.0, 2.2, 2.2), (0.9, -2.0, -1.8, -1.8),
        (1.3, 2.0, 2.4, 0.0), (1.3, -2.0, -2.6, -2.6), (0.7, 2.0, 1.4, 1.4), (0.7, -2.0, -1.6, 0.0),
    ],
)  # fmt: skip
def test_the_clip_by_hand(ratio, advantage, objective, slope):
    new, old = double([ratio * 0.5]).log(), double([0.5]).log()
    surrogate = clipped_surrogate(new, old, double([advantage]), 0.2)
    assert surrogate.objective.item() == pytest.approx(objective) and surrogate.slope.item() == pytest.approx(slope)
    assert surrogate.clipped.item() == (slope == 0)
    free = clipped_surrogate(new, old, double([advantage]), None)
    assert free.objective.item() == free.slope.item() == pytest.approx(ratio * advantage) and not free.clipped


@pytest.mark.parametrize(("advantage", "gradient", "clipped"), [(1.0, [0.0, 0.0], 0.5), (-1.0, [0.2275, -0.2275], 0)])
def test_a_clipped_sample_has_no_gradient_by_hand(advantage, gradient, clipped):
    """pi 0.65 against old 0.5: ratio 1.3. Unclipped: -(1/2) * (1.3 * A) * (1 - 0.65); the other sample has A = 0."""
    old, policy = double([[0.5, 0.5]]), double([[0.65, 0.35]])
    actions = torch.tensor([[0, 1]])
    rollout = Rollout(actions, double([[advantage, 0.0]]), old.log(), torch.zeros(1), torch.ones(1))
    update = surrogate_update(policy.log(), rollout, old, 0.0, METHODS["PPO"])
    assert update.gradient[0].tolist() == pytest.approx(gradient, abs=1e-15)
    assert update.clip_fraction.item() == clipped
    assert update.loss.item() == pytest.approx(-min(1.3 * advantage, 1.2 * advantage) / 2)


def test_the_first_update_has_the_gradient_of_reinforce():
    log_policy, reference = random_policy(0, 5, 3, 4), random_policy(1, 3, 4).exp()
    actions = torch.randint(4, (5, 3, 6), generator=torch.Generator().manual_seed(2))
    advantages = 3 * random_policy(3, 5, 3, 6) + 4
    rollout = Rollout(actions, advantages, log_policy.gather(-1, actions), torch.zeros(5, 3), torch.ones(5, 3))
    for kl_coef in (0.0, 0.3):
        reinforce = chapter_gradient(log_policy, actions, advantages, reference, kl_coef).total
        for name in ("GRPO", "GRPO with clipping"):
            update = surrogate_update(log_policy, rollout, reference, kl_coef, METHODS[name])
            assert torch.equal(update.gradient, reinforce) and not update.clip_fraction.any()


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
@pytest.mark.parametrize("task", [TASK, UNEVEN], ids=["chapter", "uneven"])
def test_grpo_is_the_chapter_s_training(task, optimizer):
    config = TrainConfig(epochs=30, optimizer=optimizer, kl_coef=0.1, ddof=1, epsilon=0.01)
    history = train_method(task, config, METHODS["GRPO"], range(5))
    expected = train(task, config, range(5))
    torch.testing.assert_close(history.probabilities, expected.probabilities, rtol=1e-10, atol=1e-12)
    # At a ratio of 1 the surrogate's value is the mean advantage; only its gradient is the chapter's.
    torch.testing.assert_close(history.loss, expected.kl_loss - expected.adv_mean, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(history.mean_kl, expected.mean_kl)
    torch.testing.assert_close(history.target_probability, expected.target_probability)


@named(ONLINE)
def test_online_training_equals_a_plain_loop_with_autograd(method):
    config = TrainConfig(epochs=25, seed=3, kl_coef=0.1, learning_rate=0.15)
    history = train_method(UNEVEN, config, method)
    logits = UNEVEN.reference_policy.log().clone().requires_grad_()
    value = torch.zeros(2, 1, dtype=torch.float64, requires_grad=True)
    stepper = torch.optim.Adam([logits], lr=config.learning_rate)
    critic = torch.optim.SGD([value], lr=method.value_learning_rate)
    draws, seen, clipped = uniforms([3], range(25), 2, 4)[0], [], 0
    for epoch in range(config.epochs):
        old = logits.detach().log_softmax(-1)
        torch.testing.assert_close(history.log_probabilities[0, epoch], old, rtol=1e-9, atol=1e-11)
        actions = sample_actions(old.exp(), draws[epoch])
        rewards = UNEVEN.rewards.gather(-1, actions)
        compared = {
            "reward": torch.zeros(2, 1).double(),
            "value": value.detach().clone(),
            "baseline": torch.cat(seen, 1).mean(1, keepdim=True) if seen else torch.zeros(2, 1).double(),
        }
        if method.advantage == "group":
            advantages = group_advantages(rewards)
        else:
            advantages = rewards - compared[method.advantage]
            torch.testing.assert_close(history.values[0, epoch], compared[method.advantage][:, 0])
        seen.append(rewards)
        losses, cut = [], []
        for _ in range(method.inner_epochs):
            ratio = (logits.log_softmax(-1).gather(-1, actions) - old.gather(-1, actions)).exp()
            low, high = (0, math.inf) if method.clip is None else (1 - method.clip, 1 + method.clip)
            objective = torch.minimum(ratio * advantages, ratio.clamp(low, high) * advantages)
            kl = (logits.softmax(-1) * (logits.log_softmax(-1) - UNEVEN.reference_policy.log())).sum(-1).mean()
            loss = -objective.mean() + 0.1 * kl
            stepper.zero_grad()
            loss.backward()
            stepper.step()
            critic.zero_grad()
            ((value - rewards) ** 2 / 2).mean(-1).sum().backward()
            critic.step()
            losses.append(loss.item())
            cut.append(
                (((ratio > high) & (advantages > 0)) | ((ratio < low) & (advantages < 0))).double().mean().item()
            )
        assert history.loss[0, epoch].item() == pytest.approx(sum(losses) / method.inner_epochs, abs=1e-11)
        assert history.clip_fraction[0, epoch].item() == pytest.approx(sum(cut) / method.inner_epochs)
        clipped += sum(cut)
    assert (clipped > 0) == (method.clip is not None)


def test_clipping_needs_a_second_update():
    config = TrainConfig(learning_rate=1.0)
    for method in (PPO, METHODS["GRPO with clipping"]):
        assert train_method(TASK, config, method).clip_fraction.max() > 0
        assert not train_method(TASK, config, replace(method, inner_epochs=1)).clip_fraction.any()
        assert not train_method(TASK, config, replace(method, clip=None)).clip_fraction.any()


def test_values_by_hand():
    mean = double([[0.5]])
    assert update_values(0 * mean, mean, 7, PPO).item() == pytest.approx(0.5 * (1 - 0.9**4))
    assert update_values(mean, 0 * mean, 3, METHODS["REINFORCE with baseline"]).item() == pytest.approx(0.375)
    assert update_values(0 * mean, mean, 3, METHODS["REINFORCE"]).item() == 0


def test_values_are_the_mean_reward_of_the_policy():
    still = TrainConfig(epochs=200, learning_rate=0.0)
    expected = (UNEVEN.rewards * UNEVEN.reference_policy).sum(-1)
    slow = replace(PPO, value_learning_rate=0.02)
    for method in (slow, METHODS["REINFORCE with baseline"]):
        history = train_method(UNEVEN, still, method, range(256))
        torch.testing.assert_close(history.values[:, -1].mean(0), expected, rtol=0, atol=0.01)
        assert history.values[:, -1].std(0).max() < 0.06
        assert torch.allclose(history.probabilities, UNEVEN.reference_policy)
    trained = train_method(TASK, TrainConfig(), PPO, range(256))
    torch.testing.assert_close(trained.values[:, -1].mean(), trained.mean_reward[:, -1].mean(), rtol=0, atol=0.01)


def test_without_a_group_only_peers_are_missed():
    config = TrainConfig(group_size=1, epochs=120)
    ends = {method.name: train_method(TASK, config, method, range(64)).target_probability[:, -1] for method in ONLINE}
    assert ends["GRPO"].sub(1 / 3).abs().max() < 1e-12
    assert min(ends[name].mean() for name in ("REINFORCE", "REINFORCE with baseline", "PPO")) > 0.9


def test_the_dpo_loss_by_hand():
    """log-ratios log 1.2, log 1.2, log 0.4: the pair (0, 2) has the margin log(3) / 2, the pair (1, 0) has 0."""
    policy, reference = double([[0.6, 0.3, 0.1]]), double([[0.5, 0.25, 0.25]])
    pairs = torch.zeros(1, 3, 3, dtype=torch.float64)
    pairs[0, 0, 2], pairs[0, 1, 0] = 3, 1
    update = preference_update(policy.log(), pairs, reference, 0.5)
    assert update.loss.item() == pytest.approx((3 * math.log(1 + 1 / math.sqrt(3)) + math.log(2)) / 4)
    strong, even = 0.5 * 0.75 / (1 + math.sqrt(3)), 0.5 * 0.25 / 2
    assert update.gradient[0].tolist() == pytest.approx([even - strong, -even, strong])
    start = preference_update(reference.log(), pairs, reference, 0.5)
    assert start.loss.item() == pytest.approx(math.log(2))


def test_the_dpo_gradient_equals_autograd():
    reference = random_policy(1, 3, 4).exp()
    logits = random_policy(2, 5, 3, 4).requires_grad_()
    pairs = torch.randint(6, (5, 3, 4, 4), generator=torch.Generator().manual_seed(3)).double()
    loss = preference_update(logits.log_softmax(-1), pairs, reference, 0.7).loss
    (expected,) = torch.autograd.grad(loss.sum(), logits)
    ours = preference_update(logits.detach().log_softmax(-1), pairs, reference, 0.7)
    torch.testing.assert_close(ours.gradient, expected, rtol=1e-10, atol=1e-14)
    more = preference_update(logits.detach().log_softmax(-1), 10 * pairs, reference, 0.7)
    torch.testing.assert_close(more.gradient, expected, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("labels", ["deterministic", "bradley_terry"])
def test_dpo_equals_a_plain_loop_over_its_pairs(labels):
    config = TrainConfig(epochs=15, group_size=3, seed=4, kl_coef=2.0)
    history = train_method(UNEVEN, config, Method("DPO", pairs=labels, beta=0.3, inner_epochs=2))
    draws, pairs = uniforms([4], range(22), 2, 3)[0], []
    for prompt in range(2):
        for index in range(22):  # 15 * 3 samples make 22 pairs, one is left over
            first, second = sample_actions(UNEVEN.reference_policy[prompt], draws[index, prompt, :2]).tolist()
            lead = (UNEVEN.rewards[prompt, first] - UNEVEN.rewards[prompt, second]).item()
            if labels == "bradley_terry":
                first_wins, usable = draws[index, prompt, 2].item() < 1 / (1 + math.exp(-lead)), first != second
            else:
                first_wins, usable = lead > 0, lead != 0
            if usable:
                pairs.append((prompt, *((first, second) if first_wins else (second, first))))
    assert history.pairs.sum() == len(pairs) > 10
    prompt, chosen, rejected = torch.tensor(pairs).T
    reference = UNEVEN.reference_policy.log()
    logits = reference.clone().requires_grad_()
    stepper = torch.optim.Adam([logits], lr=config.learning_rate)
    for epoch in range(config.epochs):
        losses = []
        for inner in range(2):
            log_ratio = logits.log_softmax(-1) - reference
            margin = 0.3 * (log_ratio[prompt, chosen] - log_ratio[prompt, rejected])
            if inner == 0:
                assert history.margin[0, epoch].item() == pytest.approx(margin.mean().item(), abs=1e-12)
            loss = -margin.sigmoid().log().mean()
            stepper.zero_grad()
            loss.backward()
            stepper.step()
            losses.append(loss.item())
        assert history.loss[0, epoch].item() == pytest.approx(sum(losses) / 2)
    torch.testing.assert_close(history.log_probabilities[0, -1], logits.detach().log_softmax(-1), rtol=1e-9, atol=0)


def test_noisy_labels_rest_at_the_reward_over_beta():
    """At pi proportional to reference * exp(r / beta), so that log-ratio gaps are reward gaps / beta."""
    beta = 0.8
    resting = (UNEVEN.reference_policy.log() + UNEVEN.rewards / beta).log_softmax(-1)
    drawn = UNEVEN.reference_policy[:, :, None] * UNEVEN.reference_policy[:, None, :]
    expected = drawn * (UNEVEN.rewards[:, :, None] - UNEVEN.rewards[:, None, :]).sigmoid()
    update = preference_update(resting, expected, UNEVEN.reference_policy, beta)
    assert update.gradient.abs().max() < 1e-15
    assert preference_update(resting, expected, UNEVEN.reference_policy, 0.7).gradient.abs().max() > 1e-3

    config = TrainConfig(epochs=2000, group_size=64)
    history = train_method(UNEVEN, config, replace(BRADLEY_TERRY, beta=beta), range(4))
    log_ratio = history.log_probabilities[:, -1] - UNEVEN.reference_policy.log()
    gaps = log_ratio - log_ratio[..., :1]
    torch.testing.assert_close(
        gaps.mean(0), (UNEVEN.rewards - UNEVEN.rewards[:, :1]) / beta, rtol=0, atol=0.05
    )  # fmt: skip
    torch.testing.assert_close(history.probabilities[:, -1], resting.exp().expand(4, -1, -1), rtol=0, atol=0.02)


def test_certain_labels_never_rest():
    config = TrainConfig(epochs=600)
    certain = train_method(TASK, config, DPO, range(8)).margin
    noisy = train_method(TASK, config, BRADLEY_TERRY, range(8)).margin
    assert not certain[:, 0].any()
    assert (certain.diff() > 0).all() and certain[:, -1].min() > 4
    assert noisy.max() < 1 and noisy[:, -100:].diff().abs().max() < 1e-3  # a reward gap of 1 is a margin of 1


def test_dpo_does_not_move_the_logit_of_an_action_without_a_pair():
    """So actions that were never seen keep their odds among each other; only the normalisation takes from them."""
    reference = double([[0.5, 0.5 - 3e-9, 1e-9, 2e-9]])
    task = BanditTask(["q"], ["right", "wrong", "rare", "rarer"], [[1, 0, 1, 0]], reference)
    for method in (DPO, BRADLEY_TERRY):
        history = train_method(task, TrainConfig(), method, range(16))
        assert not history.pairs[:, :, 2:].any() and not history.pairs[..., 2:].any() and history.pairs.any()
        update = preference_update(history.log_probabilities[:, 20], history.pairs, task.reference_policy, 0.1)
        assert update.gradient[..., :2].abs().min() > 0 and not update.gradient[..., 2:].any()
        log_ratio = history.log_probabilities - task.reference_policy.log()
        torch.testing.assert_close(log_ratio[..., 2], log_ratio[..., 3], rtol=0, atol=1e-12)
        moved = log_ratio[..., :2] - log_ratio[..., 2:3]  # the logits' changes, by which the normaliser grows
        grown = (task.reference_policy[:, :2] * moved.exp()).sum(-1) + 3e-9
        torch.testing.assert_close(log_ratio[..., 2], -grown.log(), rtol=0, atol=1e-12)
        assert log_ratio[:, -1, :, 2].abs().min() > 0.1


def test_pairs_are_labelled_by_the_reward():
    config, seeds = TrainConfig(epochs=500, group_size=8), range(16)
    certain = sample_pairs(UNEVEN, config, "deterministic", seeds)
    noisy = sample_pairs(UNEVEN, config, "bradley_terry", seeds)
    lead = UNEVEN.rewards[:, :, None] - UNEVEN.rewards[:, None, :]
    assert not certain[:, lead <= 0].any() and certain[:, lead > 0].all()
    drawn = UNEVEN.reference_policy[:, :, None] * UNEVEN.reference_policy[:, None, :]
    number = 2000 * len(seeds)
    torch.testing.assert_close(certain.sum(0) / number, 2 * drawn * (lead > 0), rtol=0, atol=0.01)
    apart = ~torch.eye(3, dtype=torch.bool)
    torch.testing.assert_close(noisy.sum(0) / number, 2 * drawn * lead.sigmoid() * apart, rtol=0, atol=0.01)


@pytest.mark.parametrize("labels", ["deterministic", "bradley_terry"])
def test_more_epochs_or_a_larger_group_keep_the_pairs(labels):
    few = sample_pairs(TASK, TrainConfig(epochs=20), labels, [9])
    assert few.any()
    for more in (TrainConfig(epochs=25), TrainConfig(epochs=20, group_size=6)):
        assert (sample_pairs(TASK, more, labels, range(12))[9] >= few[0]).all()


@pytest.mark.parametrize(
    "task", [TASK, BanditTask(["p"], ["a", "b"], [[1, 1]])], ids=["one sample", "all rewards equal"]
)
def test_without_a_pair_nothing_is_learned(task):
    config = TrainConfig(epochs=1, group_size=1) if task is TASK else TrainConfig()
    history = train_method(task, config, DPO)
    assert not history.pairs.any() and not history.loss.any() and history.margin.isnan().all()
    assert torch.allclose(history.probabilities, task.reference_policy)


def test_the_bill_of_each_method():
    config = TrainConfig(epochs=5, group_size=3)
    for method in ONLINE:
        history = train_method(TASK, config, method)
        assert history.samples_used.tolist() == [0, 9, 18, 27, 36, 45]
        assert history.extra_parameters == (3 if method is PPO else 0)
        assert history.margin.isnan().all() and not history.pairs.any()
    history = train_method(TASK, config, DPO)
    assert history.samples_used.tolist() == [42] * 6 and history.extra_parameters == 0  # 7 pairs a prompt
    assert not history.clip_fraction.any() and not history.values.any()


@named(EVERY)
def test_rows_by_definition(method):
    history = train_method(UNEVEN, TrainConfig(epochs=6), method, [0, 1])
    assert history.probabilities.shape == (2, 7, 2, 3) and history.values.shape == (2, 7, 2)
    torch.testing.assert_close(history.probabilities[:, 0], UNEVEN.reference_policy.expand(2, -1, -1))
    policy = history.probabilities[1, 4]
    assert history.mean_reward[1, 4].item() == pytest.approx(
        (policy[0, 0] + policy[0, 1] / 2 + policy[1, 2]).item() / 2
    )
    assert history.target_probability[1, 4].item() == pytest.approx((policy[0, 0] + policy[1, 2]).item() / 2)
    assert history.mean_kl[1, 4].item() == pytest.approx(categorical_kl(policy, UNEVEN.reference_policy).mean().item())


@named(EVERY)
def test_a_seed_alone_equals_it_in_a_batch(method):
    batch = train_method(TASK, TrainConfig(), method, range(12))
    alone = train_method(TASK, TrainConfig(seed=9), method)
    assert batch.seeds == tuple(range(12)) and alone.seeds == (9,)
    for name in ("log_probabilities", "values", "loss", "clip_fraction", "pairs", "margin"):
        ours, expected = getattr(alone, name)[0], getattr(batch, name)[9]
        torch.testing.assert_close(ours, expected, rtol=1e-12, atol=1e-14, equal_nan=True)
    assert (batch.probabilities[0, -1] != batch.probabilities[1, -1]).any()


@named(EVERY)
def test_every_method_learns_the_chapter_s_task(method):
    history = train_method(TASK, TrainConfig(), method, range(64))
    end = history.target_probability[:, -1].mean().item()
    assert end > (0.93 if method is BRADLEY_TERRY else 0.97)
    assert history.mean_kl[:, -1].mean() > 0.5


def test_the_presets():
    assert all(name == method.name for name, method in METHODS.items())
    by_fields = {name: (m.advantage, m.pairs, m.clip, m.inner_epochs) for name, m in METHODS.items()}
    assert by_fields == {
        "REINFORCE": ("reward", None, None, 1),
        "REINFORCE with baseline": ("baseline", None, None, 1),
        "PPO": ("value", None, 0.2, 4),
        "GRPO": ("group", None, None, 1),
        "GRPO with clipping": ("group", None, 0.2, 4),
        "DPO": (None, "deterministic", None, 1),
    }
    assert {(m.beta, m.value_learning_rate) for m in METHODS.values()} == {(0.1, 0.1)}


@pytest.mark.parametrize(
    ("fields", "field", "says"),
    [
        ({"advantage": "gae"}, "advantage", "reward, baseline, value, group, not 'gae'"),
        ({}, "advantage", "not None"),
        ({"pairs": "human"}, "pairs", "None, deterministic, bradley_terry, not 'human'"),
        ({"pairs": "deterministic", "advantage": "group"}, "advantage", "one of None, not 'group'"),
        ({"pairs": "deterministic", "clip": 0.2}, "clip", "one of None, not 0.2"),
        ({"advantage": "value", "clip": -0.1}, "clip", "from 0 to 1, not -0.1"),
        ({"advantage": "value", "clip": 1.5}, "clip", "1.5"),
        ({"advantage": "value", "clip": "wide"}, "clip", "must be a number"),
        ({"advantage": "value", "inner_epochs": 0}, "inner_epochs", "from 1 to 64, not 0"),
        ({"advantage": "value", "inner_epochs": 1.5}, "inner_epochs", "whole number"),
        ({"advantage": "value", "inner_epochs": True}, "inner_epochs", "whole number"),
        ({"advantage": "value", "value_learning_rate": math.nan}, "value_learning_rate", "nan"),
        ({"advantage": "value", "value_learning_rate": 1.1}, "value_learning_rate", "from 0 to 1"),
        ({"pairs": "deterministic", "beta": -1}, "beta", "from 0 to 10, not -1"),
        ({"pairs": "deterministic", "beta": None}, "beta", "must be a number, not None"),
    ],
)
def test_a_bad_method_is_a_precise_error(fields, field, says):
    with pytest.raises(FieldError, match=says) as raised:
        Method("mine", **fields)
    assert raised.value.field == field


def test_the_ends_of_the_ranges_are_allowed():
    for clip, inner_epochs, rate in ((0, 1, 0), (1, 64, 1)):
        method = Method("mine", "value", clip=clip, inner_epochs=inner_epochs, value_learning_rate=rate)
        assert (method.clip, method.inner_epochs, method.value_learning_rate) == (clip, inner_epochs, rate)
    for beta in (0, 10):
        assert Method("mine", pairs="bradley_terry", beta=beta).beta == beta


@pytest.mark.parametrize(
    ("config", "method", "seeds"),
    [
        (TrainConfig(), PPO, []), (TrainConfig(), PPO, [-1]), (TrainConfig(), PPO, range(2**19)),
        (TrainConfig(epochs=10_000, group_size=64), DPO, range(64)),
    ],
)  # fmt: skip
def test_runs_that_cannot_be_are_refused(config, method, seeds):
    with pytest.raises(FieldError) as raised:
        train_method(TASK, config, method, seeds)
    assert raised.value.field == "seeds"


def test_a_table_of_pairs_that_would_not_fit_is_refused():
    task = BanditTask(["p"], map(str, range(6000)), torch.eye(1, 6000))
    with pytest.raises(FieldError, match="seeds"):
        train_method(task, TrainConfig(epochs=1), DPO, range(4))
