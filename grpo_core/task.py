"""The task: prompts, actions, a rule's rewards, and the policy that training starts from."""

from collections.abc import Iterable
from dataclasses import dataclass

import torch

from grpo_core.advantages import checked_rewards
from grpo_core.messages import N_, FieldError


@dataclass(frozen=True, eq=False)
class BanditTask:
    """A contextual bandit: each prompt is answered by one of the same few actions.

    prompts           P different texts
    actions           A different texts
    rewards           [P, A] what the rule gives for each action, finite
    reference_policy  [P, A] the initial policy, every probability above 0; uniform unless given

    The reference policy is both where training starts and what the KL is measured against.
    """

    prompts: tuple[str, ...]
    actions: tuple[str, ...]
    rewards: torch.Tensor
    reference_policy: torch.Tensor | None = None

    def __post_init__(self):
        prompts = _distinct_texts("prompts", self.prompts)
        actions = _distinct_texts("actions", self.actions)
        shape = (len(prompts), len(actions))
        rewards = checked_rewards(_table("rewards", self.rewards, shape))
        if self.reference_policy is None:
            reference = torch.full(shape, 1.0 / len(actions), dtype=torch.float64)
        else:
            reference = _table("reference_policy", self.reference_policy, shape)
            if (reference <= 0).any():
                raise FieldError(
                    "reference_policy",
                    N_("{field} must be above 0 everywhere, the smallest value is {value}"),
                    value=reference.min().item(),
                )
            off = (reference.sum(-1) - 1).abs().max().item()
            if off > 1e-6:
                raise FieldError(
                    "reference_policy",
                    N_("{field} must sum to 1 for each prompt, one sum is off by {value:.3g}"),
                    value=off,
                )
            reference = reference / reference.sum(-1, keepdim=True)
        for name, value in (
            ("prompts", prompts),
            ("actions", actions),
            ("rewards", rewards),
            ("reference_policy", reference),
        ):
            object.__setattr__(self, name, value)

    @property
    def is_target(self) -> torch.Tensor:
        """[P, A] True for the action (or actions) with a prompt's largest reward."""
        return self.rewards == self.rewards.amax(-1, keepdim=True)

    @property
    def is_binary(self) -> bool:
        """Whether every prompt has just two rewards, right and wrong: what `theory` is about."""
        return bool(((self.rewards == self.rewards.amin(-1, keepdim=True)) | self.is_target).all())

    @property
    def targets(self) -> tuple[str, ...]:
        """[P] the target of each prompt; several right answers are joined by ` / `."""
        return tuple(
            " / ".join(action for action, hit in zip(self.actions, row, strict=True) if hit)
            for row in self.is_target.tolist()
        )


def chapter_task() -> BanditTask:
    """The three verifiable prompts of the chapter: reward 1 for the target, else 0."""
    return BanditTask(
        prompts=("2+2?", "capital of france?", "first letter of abc?"),
        actions=("4", "paris", "a"),
        rewards=torch.eye(3, dtype=torch.float64),
    )


def _distinct_texts(name, texts) -> tuple[str, ...]:
    if isinstance(texts, str) or not isinstance(texts, Iterable):
        raise FieldError(name, N_("{field} must be a list of texts, not {value!r}"), value=texts)
    texts = tuple(texts)
    if not texts:
        raise FieldError(name, N_("{field} must not be empty"))
    seen = set()
    for text in texts:
        if not isinstance(text, str) or not text.strip():
            raise FieldError(name, N_("{field} must be texts that are not empty, not {value!r}"), value=text)
        if text in seen:
            raise FieldError(name, N_("{field} must differ, {value!r} is there twice"), value=text)
        seen.add(text)
    return texts


def _table(name, values, shape) -> torch.Tensor:
    try:
        table = torch.as_tensor(values, dtype=torch.float64).detach().clone()
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise FieldError(name, N_("{field} must be a table of numbers ({value})"), value=str(error)) from error
    if tuple(table.shape) != shape:
        raise FieldError(
            name,
            N_("{field} must have the shape {allowed} (prompts, actions), not {value}"),
            allowed=shape,
            value=tuple(table.shape),
        )
    if not torch.isfinite(table).all():
        raise FieldError(
            name,
            N_("{field} must be finite, not {value}"),
            value=table[~torch.isfinite(table)][0].item(),
        )
    return table
