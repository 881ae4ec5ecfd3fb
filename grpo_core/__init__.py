"""GRPO on a bandit, exact and batched. Imports no screen library."""

from grpo_core.advantages import group_advantages, group_statistics
from grpo_core.bands import Bands, band_seeds, train_bands
from grpo_core.config import TrainConfig
from grpo_core.findings import Finding, findings
from grpo_core.history import TrainingHistory
from grpo_core.kl import categorical_kl, entropy, estimate_kl, estimator_moments, kl_loss_gradient
from grpo_core.leash import Rest, kl_and_reward, measure_rest, textbook_frontier, textbook_policy, train_leashes
from grpo_core.losses import LogitGradient, LossTerms, chapter_gradient, chapter_loss
from grpo_core.messages import FieldError, Message
from grpo_core.method_training import train_method
from grpo_core.methods import METHODS, Method, MethodHistory
from grpo_core.random_numbers import sample_actions, uniforms
from grpo_core.runs import load_run, save_run
from grpo_core.task import BanditTask, chapter_task
from grpo_core.theory import (
    endless_push,
    expected_push,
    expected_signals,
    reinforce_push,
    resting_points,
    resting_probability,
    silent_probability,
    textbook_probability,
)
from grpo_core.training import train
from grpo_core.update import UpdateStep, one_update

__all__ = [
    "METHODS",
    "BanditTask",
    "Bands",
    "FieldError",
    "Finding",
    "LogitGradient",
    "LossTerms",
    "Message",
    "Method",
    "MethodHistory",
    "Rest",
    "TrainConfig",
    "TrainingHistory",
    "UpdateStep",
    "band_seeds",
    "categorical_kl",
    "chapter_gradient",
    "chapter_loss",
    "chapter_task",
    "endless_push",
    "entropy",
    "estimate_kl",
    "estimator_moments",
    "expected_push",
    "expected_signals",
    "findings",
    "group_advantages",
    "group_statistics",
    "kl_and_reward",
    "kl_loss_gradient",
    "load_run",
    "measure_rest",
    "one_update",
    "reinforce_push",
    "resting_points",
    "resting_probability",
    "sample_actions",
    "save_run",
    "silent_probability",
    "textbook_frontier",
    "textbook_policy",
    "textbook_probability",
    "train",
    "train_bands",
    "train_leashes",
    "train_method",
    "uniforms",
]  # fmt: skip
