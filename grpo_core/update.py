"""One update under the magnifying glass: everything between a policy and the next one."""

from dataclasses import dataclass, replace

import torch

from grpo_core.advantages import checked_rewards
from grpo_core.config import SETTINGS, TrainConfig
from grpo_core.losses import LogitGradient, LossTerms, chapter_loss
from grpo_core.messages import N_, FieldError
from grpo_core.optimizers import PolicyState
from grpo_core.random_numbers import uniforms
from grpo_core.task import BanditTask
from grpo_core.training import Group, sample_group, score_group, train, update_policy

MAX_DRAW = 2**31 - 1
"""How often a group may be sampled again."""


@dataclass(frozen=True, eq=False)
class UpdateStep:
    """Policy before and after [P, A], the group of every prompt, the loss and its gradient [P, A].

    `state` is what the optimizer holds after it, [1, P, A].
    """

    before: torch.Tensor
    group: Group
    loss: LossTerms
    gradient: LogitGradient
    logit_change: torch.Tensor
    after: torch.Tensor
    state: PolicyState


@torch.no_grad()
def one_update(
    task: BanditTask, config: TrainConfig, after: int = 0, draw: int = 0, prompt: int = 0, rewards=None
) -> UpdateStep:
    """The update that follows `after` epochs of the run of `config`.

    draw     0 is the run's own group of that epoch; every further number samples the groups again
    rewards  replaces the rewards of `prompt`'s group (its length becomes the group size of this update)
    """
    limits = {
        "after": (after, SETTINGS["epochs"].maximum),
        "draw": (draw, MAX_DRAW),
        "prompt": (prompt, len(task.prompts) - 1),
    }
    for name, (value, maximum) in limits.items():
        if not 0 <= value <= maximum:
            raise FieldError(
                name, N_("{field} must be from {minimum} to {maximum}, not {value!r}"),
                value=value, minimum=0, maximum=maximum,
            )  # fmt: skip
    state = _state_after(task, config, after)
    if rewards is not None:
        rewards = checked_rewards(list(rewards))
        config = replace(config, group_size=len(rewards))
    log_policy = state.logits.log_softmax(-1)
    before = log_policy.exp()
    uniform = uniforms((config.seed,), range(after + draw, after + draw + 1), len(task.prompts), config.group_size)
    group = sample_group(before, uniform[:, 0], task, config)
    if rewards is not None:
        edited = group.rewards.clone()
        edited[:, prompt] = rewards
        group = score_group(group.actions, edited, config)
    loss = chapter_loss(state.logits, group.actions, group.advantages, task.reference_policy, config.kl_coef)
    following, gradient = update_policy(state, log_policy, group, task, config)
    return UpdateStep(
        before=before[0],
        group=Group(*(part[0] for part in group)),
        loss=LossTerms(*(term[0] for term in loss)),
        gradient=LogitGradient(*(term[0] for term in gradient)),
        logit_change=(following.logits - state.logits)[0],
        after=following.logits.softmax(-1)[0],
        state=following,
    )


def _state_after(task: BanditTask, config: TrainConfig, epochs: int) -> PolicyState:
    if epochs == 0:
        return PolicyState.start(task.reference_policy.log()[None])
    return train(task, replace(config, epochs=epochs)).final
