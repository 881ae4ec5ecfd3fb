"""One training loop for every online method and for DPO, each part a function named for it.

Answers of one token: the PPO here needs no GAE, and no variant differs by length.
"""

from dataclasses import replace
from typing import NamedTuple

import torch
from torch.nn.functional import logsigmoid

from grpo_core.config import TrainConfig
from grpo_core.family import Surrogate, exact_kl_coef, family_advantages, family_surrogate, on_bandit
from grpo_core.kl import categorical_kl
from grpo_core.losses import chapter_gradient
from grpo_core.methods import Method, MethodHistory
from grpo_core.optimizers import PolicyState, step
from grpo_core.random_numbers import sample_actions, uniforms
from grpo_core.task import BanditTask
from grpo_core.training import check_numbers, checked_seeds, sample_group


class Rollout(NamedTuple):
    """One epoch's samples of the old policy: actions, advantages, log probabilities [S, P, G], mean reward, draws [S, P]."""

    actions: torch.Tensor
    advantages: torch.Tensor
    log_probabilities: torch.Tensor
    mean_reward: torch.Tensor
    draws: torch.Tensor


class Update(NamedTuple):
    """The loss [S], its gradient per logit [S, P, A], the share of clipped samples [S]."""

    loss: torch.Tensor
    gradient: torch.Tensor
    clip_fraction: torch.Tensor


@torch.no_grad()
def train_method(task: BanditTask, config: TrainConfig, method: Method, seeds=None) -> MethodHistory:
    """Train one policy per seed (`config.seed` alone unless given) by any method, all in one batch.

    Online methods draw the same random numbers as `train`, and all have kl_coef * KL in the loss; an algorithm
    of the GRPO family has its own KL, and nothing of the configuration's ddof and epsilon. DPO's pairs come from the reference, as many samples as the others draw in the whole run; every update is on
    all of them, and beta takes the place of kl_coef.
    """
    seeds = (config.seed,) if seeds is None else checked_seeds(seeds)
    count, (prompts, actions) = len(seeds), task.rewards.shape
    epochs, group_size, reference = config.epochs, config.group_size, task.reference_policy
    offline = method.pairs is not None
    if method.algorithm is not None:
        method = replace(method, algorithm=on_bandit(method.algorithm))
    check_numbers(count * (epochs + 1) * prompts * actions)

    log_probabilities = torch.empty(count, epochs + 1, prompts, actions, dtype=torch.float64)
    values = torch.zeros(count, epochs + 1, prompts, dtype=torch.float64)
    loss, clip_fraction = torch.zeros(2, count, epochs, dtype=torch.float64)
    if offline:
        pairs = sample_pairs(task, config, method.pairs, seeds)
        samples_used = torch.full((epochs + 1,), epochs * group_size // 2 * 2 * prompts)
    else:
        pairs = torch.zeros(count, prompts, actions, actions, dtype=torch.float64)
        samples_used = torch.arange(epochs + 1) * group_size * prompts
        drawn = method.max_draws * group_size
    again = torch.zeros(epochs + 1, dtype=torch.float64)
    state = PolicyState.start(reference.log().expand(count, -1, -1).clone())
    log_policy = state.logits.log_softmax(-1)

    for epoch in range(epochs):
        log_probabilities[:, epoch] = log_policy
        if not offline:
            uniform = uniforms(seeds, range(epoch, epoch + 1), prompts, drawn)[:, 0]
            rollout = roll_out(log_policy, uniform, values[:, epoch], task, config, method)
            values[:, epoch + 1] = update_values(values[:, epoch], rollout.mean_reward, epoch, method)
            again[epoch + 1] = again[epoch] + (rollout.draws - 1).double().sum(-1).mean() * group_size
        for _ in range(method.inner_epochs):
            if offline:
                update = preference_update(log_policy, pairs, reference, method.beta)
            else:
                update = surrogate_update(log_policy, rollout, reference, config.kl_coef, method)
            state = step(state, update.gradient, config.learning_rate, config.optimizer)
            log_policy = state.logits.log_softmax(-1)
            loss[:, epoch] += update.loss / method.inner_epochs
            clip_fraction[:, epoch] += update.clip_fraction / method.inner_epochs
    log_probabilities[:, epochs] = log_policy
    if method.max_draws > 1:
        samples_used = samples_used + again
    return MethodHistory(
        task, config, method, seeds, log_probabilities, values, loss, clip_fraction, pairs, samples_used
    )


def roll_out(log_policy, uniform, values, task: BanditTask, config: TrainConfig, method: Method) -> Rollout:
    """Sample and compare: log_policy [S, P, A], uniform [S, P, G], values [S, P] -> Rollout.

    advantage = reward - value, the value 0 for REINFORCE; group-relative for GRPO. Not whitened.
    """
    group = sample_group(log_policy.exp(), uniform, task, config)
    log_probabilities = log_policy.gather(-1, group.actions)
    if method.algorithm is not None:
        advantages = family_advantages(
            method.algorithm, group.rewards, log_probabilities, of_reference(task.reference_policy, group.actions)
        )
    else:
        advantages = group.advantages if method.advantage == "group" else group.rewards - values[..., None]
    return Rollout(group.actions, advantages, log_probabilities, group.mean, group.draws)


def of_reference(reference: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
    """The reference's log-probs [P, A] of the sampled actions [..., P, G]."""
    return reference.log().expand(*actions.shape[:-1], -1).gather(-1, actions)


def update_values(values, mean_reward, epoch: int, method: Method) -> torch.Tensor:
    """The next epoch's values from this rollout's mean reward, both [S, P]: values move part of the way to it.

    value     inner_epochs SGD steps on mean_i (r_i - V)^2 / 2: 1 - (1 - value_learning_rate)^inner_epochs
    baseline  1 / (epoch + 1), which makes it the mean over all epochs so far
              (Sutton & Barto 2018, section 2.8)
    """
    if method.advantage == "value":
        share = 1 - (1 - method.value_learning_rate) ** method.inner_epochs
    else:
        share = 1 / (epoch + 1) if method.advantage == "baseline" else 0.0
    return torch.lerp(values, mean_reward, share)


def clipped_surrogate(log_probabilities, old, advantages, clip: float | None) -> Surrogate:
    """objective = min(ratio * A, clamp(ratio, 1 - clip, 1 + clip) * A), ratio = pi(action) / old_pi(action).

    log_probabilities, old, advantages [..., G] -> each [..., G]. The slope is ratio * A, and 0 where the
    clamp is the smaller. On the first update the ratio is 1: REINFORCE's gradient. Without clip ratio * A.
    Source: Schulman et al., arXiv 1707.06347, equation 7; in GRPO arXiv 2402.03300, equation 3.
    """
    ratio = (log_probabilities - old).exp()
    slope = ratio * advantages
    objective = slope if clip is None else torch.minimum(slope, ratio.clamp(1 - clip, 1 + clip) * advantages)
    clipped = objective < slope
    return Surrogate(objective, slope.masked_fill(clipped, 0), clipped)


def surrogate_update(log_policy, rollout: Rollout, reference, kl_coef: float, method: Method) -> Update:
    """loss = -mean(objective) + kl_coef * KL(policy || reference), of log_policy [..., P, A], reference [P, A].

    Its gradient is the chapter's with each sample's slope in the place of the advantage; its value is not:
    on the first update every ratio is 1, and the objective is the mean advantage.
    """
    log_probabilities = log_policy.gather(-1, rollout.actions)
    if method.algorithm is None:
        surrogate = clipped_surrogate(log_probabilities, rollout.log_probabilities, rollout.advantages, method.clip)
    else:
        kl_coef = exact_kl_coef(method.algorithm, rollout.actions[0].numel())
        surrogate = family_surrogate(
            method.algorithm, log_probabilities, rollout.log_probabilities,
            of_reference(reference, rollout.actions), rollout.advantages,
        )  # fmt: skip
    kl = categorical_kl(log_policy.exp(), reference).mean(-1)
    gradient = chapter_gradient(log_policy, rollout.actions, surrogate.slope, reference, kl_coef).total
    return Update(
        kl_coef * kl - surrogate.objective.mean((-2, -1)), gradient, surrogate.clipped.double().mean((-2, -1))
    )


def preference_update(log_policy, pairs, reference, beta: float) -> Update:
    """DPO: loss = -mean over pairs of log sigmoid(beta * (h(chosen) - h(rejected))), h = log(pi / reference).

    log_policy [..., P, A], pairs [..., P, A, A] counts of (chosen, rejected), reference [P, A].
    With f = beta * share of the pair * sigmoid(-margin), the gradient of logit k is
    sum of f where k is rejected - sum of f where k is chosen. The two sums balance over a prompt's actions,
    so the softmax adds nothing: the logit of an action in no pair has a gradient of exactly 0.
    Source: Rafailov et al., arXiv 2305.18290, equation 7.
    """
    log_ratio = log_policy - reference.log()
    margin = beta * (log_ratio[..., :, None] - log_ratio[..., None, :])
    total = pairs.sum((-3, -2, -1), keepdim=True)
    share = pairs / torch.where(total > 0, total, 1)
    force = beta * share * (-margin).sigmoid()
    loss = -(share * logsigmoid(margin)).sum((-3, -2, -1))
    return Update(loss, force.sum(-2) - force.sum(-1), torch.zeros_like(loss))


def sample_pairs(task: BanditTask, config: TrainConfig, labels: str, seeds) -> torch.Tensor:
    """DPO's data: epochs * group_size // 2 pairs a prompt from the reference -> counts [S, P, A, A] (chosen, rejected).

    The two answers are independent. A pair of twice the same action is left out: it cannot teach.
    """
    prompts, actions = task.rewards.shape
    number = config.epochs * config.group_size // 2
    check_numbers(len(seeds) * prompts * max(3 * number, actions**2))
    uniform = uniforms(seeds, range(number), prompts, 3).transpose(1, 2)
    drawn = sample_actions(task.reference_policy.expand(len(seeds), -1, -1), uniform[..., :2].flatten(-2))
    rewards = task.rewards.expand(len(seeds), -1, -1).gather(-1, drawn)
    first, second = drawn[..., ::2], drawn[..., 1::2]
    lead = rewards[..., ::2] - rewards[..., 1::2]
    if labels == "deterministic":
        first_chosen, kept = lead > 0, lead != 0
    else:
        first_chosen, kept = uniform[..., 2] < lead.sigmoid(), first != second
    place = torch.where(first_chosen, first * actions + second, second * actions + first)
    counts = torch.zeros(len(seeds), prompts, actions**2, dtype=torch.float64)
    return counts.scatter_add_(-1, place, kept.double()).unflatten(-1, (actions, actions))
