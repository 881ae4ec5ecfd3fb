"""What a run leaves behind: row e is the policy that sampled epoch e, and what its groups gave."""

from dataclasses import dataclass
from functools import cached_property

import pandas as pd
import torch

from grpo_core.config import TrainConfig
from grpo_core.kl import categorical_kl, entropy
from grpo_core.messages import N_, FieldError
from grpo_core.optimizers import PolicyState
from grpo_core.task import BanditTask

METRICS = (
    "mean_reward", "greedy_reward", "adv_mean", "adv_std", "mean_kl", "entropy", "target_probability",
    "silent_share", "policy_loss", "kl_loss", "loss", "grad_norm",
)  # fmt: skip

_AXES = {
    "probabilities": "S F P A", "group_mean": "S E P", "group_std": "S E P", "silent": "S E P", "draws": "S E P",
    "actions": "K E P G", "rewards": "K E P G", "advantages": "K E P G",
} | dict.fromkeys(("adv_mean", "adv_std", "policy_loss", "kl_loss", "loss", "grad_norm"), "S E")  # fmt: skip
_TYPES = {"silent": torch.bool, "draws": torch.int64, "actions": torch.int64}


@dataclass(frozen=True, eq=False)
class TrainingHistory:
    """The result of `train`. S seeds, E epochs, P prompts, A actions, G samples a group.

    Of all seeds: probabilities [S, E+1, P, A] (the last: after the last update), group_mean,
    group_std, silent and draws (1, more with dynamic sampling) [S, E, P], and per epoch [S, E]: adv_mean and adv_std (over prompts and
    samples, population std), policy_loss, kl_loss, loss, grad_norm.
    Of the first K seeds, sample by sample [K, E, P, G]: actions, rewards, advantages.
    """

    task: BanditTask
    config: TrainConfig
    seeds: tuple[int, ...]
    probabilities: torch.Tensor
    group_mean: torch.Tensor
    group_std: torch.Tensor
    silent: torch.Tensor
    draws: torch.Tensor
    adv_mean: torch.Tensor
    adv_std: torch.Tensor
    policy_loss: torch.Tensor
    kl_loss: torch.Tensor
    loss: torch.Tensor
    grad_norm: torch.Tensor
    actions: torch.Tensor
    rewards: torch.Tensor
    advantages: torch.Tensor
    final: PolicyState

    def __post_init__(self):
        """A loaded file can hold anything: FieldError for a tensor of another shape or type."""
        prompts, actions = self.task.rewards.shape
        config, count, kept = self.config, len(self.seeds), min(len(self.seeds), len(self.actions))
        sizes = dict(S=count, K=kept, E=config.epochs, F=config.epochs + 1, P=prompts, A=actions, G=config.group_size)
        tensors = {name: (getattr(self, name), axes) for name, axes in _AXES.items()}
        tensors |= {name: (getattr(self.final, name), "S P A") for name in ("logits", "momentum", "square")}
        for name, (tensor, axes) in tensors.items():
            wanted = (_TYPES.get(name, torch.float64), tuple(sizes[axis] for axis in axes.split()))
            found = (getattr(tensor, "dtype", type(tensor)), tuple(getattr(tensor, "shape", ())))
            if found != wanted:
                raise FieldError(name, N_("{field} must be {allowed}, not {value}"), allowed=wanted, value=found)

    @cached_property
    def mean_reward(self) -> torch.Tensor:
        """[S, E] mean over prompts and samples."""
        return self.group_mean.mean(-1)

    @cached_property
    def silent_share(self) -> torch.Tensor:
        """[S, E] share of the groups whose rewards are all equal."""
        return self.silent.double().mean(-1)

    @cached_property
    def silent_probability(self) -> torch.Tensor:
        """[S, E+1, P] P(all G rewards of a group are equal) = sum over the levels of reward of P(level)^G.

        With two levels it is `theory.silent_probability` of the target's probability.
        """
        rewards = self.task.rewards
        same = (rewards[:, :, None] == rewards[:, None, :]).double()  # [P, A, A]
        level = torch.einsum("sepa,pab->sepb", self.probabilities, same)
        # Summed over actions, pi_a * P(its level)^(G-1) counts every level once.
        return (self.probabilities * level ** (self.config.group_size - 1)).sum(-1)

    @cached_property
    def kl(self) -> torch.Tensor:
        """[S, E+1, P] KL(policy || reference) in nats."""
        return categorical_kl(self.probabilities, self.task.reference_policy)

    @cached_property
    def mean_kl(self) -> torch.Tensor:
        """[S, E+1] mean over prompts."""
        return self.kl.mean(-1)

    @cached_property
    def entropy(self) -> torch.Tensor:
        """[S, E+1] mean over prompts, in nats."""
        return entropy(self.probabilities).mean(-1)

    @cached_property
    def target_probabilities(self) -> torch.Tensor:
        """[S, E+1, P] probability of the target action (of all targets together, if several)."""
        return (self.probabilities * self.task.is_target).sum(-1)

    @cached_property
    def target_probability(self) -> torch.Tensor:
        """[S, E+1] mean over prompts."""
        return self.target_probabilities.mean(-1)

    @cached_property
    def greedy_actions(self) -> torch.Tensor:
        """[S, E+1, P] the most probable action; the first one of several equal ones."""
        return self.probabilities.argmax(-1)

    @cached_property
    def greedy_reward(self) -> torch.Tensor:
        """[S, E+1] mean over prompts of the greedy action's reward."""
        rewards = self.task.rewards.expand(*self.greedy_actions.shape, -1)
        return rewards.gather(-1, self.greedy_actions[..., None])[..., 0].mean(-1)

    def metrics_frame(self) -> pd.DataFrame:
        """One row per seed and epoch (epochs count from 1), a column per name in METRICS."""
        epochs = self.config.epochs
        columns = {name: getattr(self, name)[:, :epochs].flatten().numpy() for name in METRICS}
        index = pd.MultiIndex.from_product([self.seeds, range(1, epochs + 1)], names=["seed", "epoch"])
        return pd.DataFrame(columns, index=index).reset_index()

    def samples_frame(self) -> pd.DataFrame:
        """One row per sample of the seeds whose samples were kept."""
        kept, epochs, _, group_size = self.actions.shape
        index = pd.MultiIndex.from_product(
            [self.seeds[:kept], range(1, epochs + 1), self.task.prompts, range(1, group_size + 1)],
            names=["seed", "epoch", "prompt", "sample"],
        )
        probabilities = self.probabilities[:kept, :epochs].gather(-1, self.actions)
        columns = {
            "action": [self.task.actions[i] for i in self.actions.flatten().tolist()],
            "probability": probabilities.flatten().numpy(),
            "reward": self.rewards.flatten().numpy(),
            "group_mean": self.group_mean[:kept, ..., None].expand_as(self.rewards).flatten().numpy(),
            "group_std": self.group_std[:kept, ..., None].expand_as(self.rewards).flatten().numpy(),
            "advantage": self.advantages.flatten().numpy(),
        }
        return pd.DataFrame(columns, index=index).reset_index()
