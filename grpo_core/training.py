"""The training loop: sample a group, score it, compare within the group, move the policy.

One loop serves one seed and thousands: every tensor leads with [S]. The gradient is the closed form
of `losses.chapter_gradient`; nothing here is differentiated by autograd.
"""

from numbers import Integral
from typing import NamedTuple

import torch

from grpo_core.advantages import check_scale, compare_in_group
from grpo_core.config import TrainConfig, check_value
from grpo_core.history import TrainingHistory
from grpo_core.kl import categorical_kl
from grpo_core.losses import LogitGradient, chapter_gradient
from grpo_core.messages import N_, FieldError
from grpo_core.optimizers import PolicyState, step
from grpo_core.random_numbers import sample_actions, uniforms
from grpo_core.task import BanditTask

BLOCK_NUMBERS = 2**15
"""Random numbers held at once, few enough for a processor's cache; a run is worked through in blocks of epochs."""

MAX_NUMBERS = 2**27
"""The most probabilities or kept samples that one run may hold: 1 GiB each in float64."""

MAX_DRAWS = 100

EPOCH_TENSORS = 8
"""Tensors of a number per sample that one epoch of all seeds holds at the same time."""


class Group(NamedTuple):
    """What one epoch's sampling gives: actions, rewards, advantages [S, P, G], the rest [S, P].

    `draws` counts how often the group was drawn: 1, more with dynamic sampling.
    """

    actions: torch.Tensor
    rewards: torch.Tensor
    mean: torch.Tensor
    std: torch.Tensor
    silent: torch.Tensor
    advantages: torch.Tensor
    draws: torch.Tensor


def sample_group(probabilities, uniform, task: BanditTask, config: TrainConfig, scale: str = "std") -> Group:
    """Sample, score and compare: probabilities [S, P, A], uniform [S, P, D G] -> Group.

    Of D draws of G samples each, the first whose rewards differ is the group; the last, if none does
    (dynamic sampling of DAPO, arXiv 2503.14476 section 3.2, with the same prompt drawn again).
    """
    actions = sample_actions(probabilities, uniform)
    rewards = task.rewards.expand_as(probabilities).gather(-1, actions)
    if uniform.shape[-1] == config.group_size:
        return score_group(actions, rewards, config, scale)
    drawn = (*rewards.shape[:-1], -1, config.group_size)
    actions, rewards = actions.view(drawn), rewards.view(drawn)
    mixed = rewards.amax(-1) > rewards.amin(-1)  # [S, P, D]
    mixed[..., -1] = True
    chosen = mixed.int().argmax(-1)
    place = chosen[..., None, None].expand(*chosen.shape, 1, config.group_size)
    actions, rewards = (table.gather(-2, place)[..., 0, :] for table in (actions, rewards))
    return score_group(actions, rewards, config, scale, chosen + 1)


def score_group(actions, rewards, config: TrainConfig, scale: str = "std", draws=None) -> Group:
    """The relative advantages of actions that already have their rewards."""
    mean, std, silent, advantages = compare_in_group(rewards, config.ddof, config.epsilon, scale)
    draws = torch.ones_like(silent, dtype=torch.int64) if draws is None else draws
    return Group(actions, rewards, mean, std, silent, advantages, draws)


def update_policy(
    state: PolicyState, log_policy, group: Group, task: BanditTask, config: TrainConfig, kl_coef=None
) -> tuple[PolicyState, LogitGradient]:
    """One update of the logits by the group's advantages and the KL leash."""
    kl_coef = config.kl_coef if kl_coef is None else kl_coef
    gradient = chapter_gradient(log_policy, group.actions, group.advantages, task.reference_policy, kl_coef)
    return step(state, gradient.total, config.learning_rate, config.optimizer), gradient


@torch.no_grad()
def train(
    task: BanditTask,
    config: TrainConfig,
    seeds=None,
    keep_samples: int = 1,
    progress=iter,
    *,
    kl_coefs=None,
    scale: str = "std",
    max_draws: int = 1,
) -> TrainingHistory:
    """Train one policy per seed, all in one batch.

    seeds         the seeds to run; `config.seed` alone unless given
    keep_samples  of how many of them (the first ones) every sample is kept
    progress      wraps the iterable of epochs, as tqdm does
    kl_coefs      [S] a coefficient of its own for each seed, in place of `config.kl_coef`
    scale         as in `group_advantages`
    max_draws     how often a group is drawn at most until its rewards differ (dynamic sampling)
    """
    seeds = (config.seed,) if seeds is None else checked_seeds(seeds)
    prompts, actions = task.rewards.shape
    epochs, group_size = config.epochs, config.group_size
    kept = min(keep_samples, len(seeds))
    count = len(seeds)
    kl_coef = _checked_coefficients(kl_coefs, count, config)
    check_scale(scale)
    if not 1 <= max_draws <= MAX_DRAWS:
        raise FieldError(
            "max_draws", N_("{field} must be from {minimum} to {maximum}, not {value!r}"),
            value=max_draws, minimum=1, maximum=MAX_DRAWS,
        )  # fmt: skip
    _check_size(seeds, kept, max_draws, task, config)

    drawn = max_draws * group_size
    block = max(1, BLOCK_NUMBERS // (count * prompts * drawn))
    probabilities = torch.empty(count, epochs + 1, prompts, actions, dtype=torch.float64)
    grad_norm = torch.empty(count, epochs, dtype=torch.float64)
    blocks: list[dict[str, torch.Tensor]] = []
    groups: list[Group] = []
    state = PolicyState.start(task.reference_policy.log().expand(count, -1, -1).clone())

    for epoch in progress(range(epochs)):
        if epoch % block == 0:
            uniform = uniforms(seeds, range(epoch, min(epoch + block, epochs)), prompts, drawn)
        log_policy = state.logits.log_softmax(-1)
        policy = log_policy.exp()
        group = sample_group(policy, uniform[:, epoch % block], task, config, scale)
        state, gradient = update_policy(state, log_policy, group, task, config, kl_coef)
        probabilities[:, epoch] = policy
        grad_norm[:, epoch] = torch.linalg.vector_norm(gradient.total, dim=(-2, -1))
        groups.append(group)
        if len(groups) == block or epoch + 1 == epochs:
            first = epoch + 1 - len(groups)
            blocks.append(_summary(groups, probabilities[:, first : epoch + 1], kept))
            groups = []
    probabilities[:, epochs] = state.logits.log_softmax(-1).exp()

    rows = {name: torch.cat([part[name] for part in blocks], 1) for name in blocks[0]}
    kl = categorical_kl(probabilities[:, :epochs], task.reference_policy).mean(-1)
    rows["kl_loss"] = (kl_coef if kl_coefs is None else kl_coef[..., 0]) * kl
    rows["loss"] = rows["policy_loss"] + rows["kl_loss"]
    return TrainingHistory(task, config, seeds, probabilities, grad_norm=grad_norm, final=state, **rows)


def _summary(groups: list[Group], probabilities, kept: int) -> dict[str, torch.Tensor]:
    """A block of epochs, [S, e, ...]: per-group and per-epoch rows, samples of the kept seeds only."""
    block = Group(*(torch.stack(part, 1) for part in zip(*groups, strict=True)))
    log_probability = probabilities.gather(-1, block.actions).log()
    adv_mean = block.advantages.mean((-2, -1))
    return {
        "group_mean": block.mean,
        "group_std": block.std,
        "silent": block.silent,
        "draws": block.draws,
        "adv_mean": adv_mean,
        "adv_std": (block.advantages - adv_mean[..., None, None]).square_().mean((-2, -1)).sqrt_(),
        "policy_loss": 0.0 - (log_probability * block.advantages).mean((-2, -1)),
        "actions": block.actions[:kept].clone(),
        "rewards": block.rewards[:kept].clone(),
        "advantages": block.advantages[:kept].clone(),
    }


def checked_seeds(seeds) -> tuple[int, ...]:
    """The seeds as plain whole numbers below 2^64, at least one, or a FieldError."""
    seeds, limit = tuple(seeds), 2**64
    for seed in seeds:
        if not isinstance(seed, Integral):
            raise FieldError("seeds", N_("{field} must be a whole number, not {value!r}"), value=seed)
        if not 0 <= seed < limit:
            raise FieldError(
                "seeds", N_("{field} must be from {minimum} to {maximum}, not {value!r}"),
                value=seed, minimum=0, maximum=limit - 1,
            )  # fmt: skip
    if not seeds:
        raise FieldError("seeds", N_("{field} must not be empty"))
    return tuple(map(int, seeds))


def _checked_coefficients(kl_coefs, count: int, config: TrainConfig):
    """`config.kl_coef`, or one coefficient per seed as [S, 1, 1]."""
    if kl_coefs is None:
        return config.kl_coef
    values = [check_value("kl_coef", value) for value in kl_coefs]
    if len(values) != count:
        raise FieldError(
            "kl_coefs", N_("{field} must have one value per seed, {allowed}, not {value}"),
            allowed=count, value=len(values),
        )  # fmt: skip
    return torch.tensor(values, dtype=torch.float64)[:, None, None]


def _check_size(seeds, kept: int, max_draws: int, task: BanditTask, config: TrainConfig):
    if kept < 0:
        raise FieldError("keep_samples", N_("{field} must be at least 0, not {value!r}"), value=kept)
    prompts, actions = task.rewards.shape
    numbers = max(
        len(seeds) * (config.epochs + 1) * prompts * actions,
        kept * config.epochs * prompts * config.group_size,
        len(seeds) * prompts * config.group_size * max_draws * EPOCH_TENSORS,
    )
    check_numbers(numbers)


def check_numbers(numbers: int):
    """A FieldError for a run that would hold more than MAX_NUMBERS."""
    if numbers > MAX_NUMBERS:
        raise FieldError(
            "seeds", N_("the run would hold {value:,} numbers, at most {allowed:,} are allowed: fewer {field}, epochs or samples"),
            value=numbers, allowed=MAX_NUMBERS,
        )  # fmt: skip
