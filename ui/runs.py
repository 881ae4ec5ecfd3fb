"""Runs are pure functions of task and settings, so visitors may share them."""

from dataclasses import replace

import streamlit as st
import torch

from grpo_core import (
    BanditTask,
    Bands,
    Rest,
    TrainConfig,
    TrainingHistory,
    band_seeds,
    measure_rest,
    resting_points,
    train,
    train_bands,
    train_leashes,
)


def _task_key(task: BanditTask):
    return (task.prompts, task.actions, task.rewards.tolist(), task.reference_policy.tolist())


@st.cache_resource(max_entries=32, hash_funcs={BanditTask: _task_key}, show_spinner=False)
def run(task: BanditTask, config: TrainConfig) -> TrainingHistory:
    return train(task, config)


def bands(task: BanditTask, config: TrainConfig) -> Bands:
    """The bands are over seeds 0, 1, 2, ...: the seed on screen does not change them."""
    return _bands(task, replace(config, seed=0))


@st.cache_resource(max_entries=32, hash_funcs={BanditTask: _task_key}, show_spinner=False)
def _bands(task: BanditTask, config: TrainConfig) -> Bands:
    return train_bands(task, config)


def leashes(task: BanditTask, config: TrainConfig, kl_coefs: tuple[float, ...]) -> torch.Tensor:
    """Probabilities [K, S, E+1, P, A] under each coefficient; the first seed is the one on screen."""
    return _leashes(task, replace(config, kl_coef=0.0), kl_coefs)


@st.cache_resource(max_entries=16, hash_funcs={BanditTask: _task_key}, show_spinner=False)
def _leashes(task: BanditTask, config: TrainConfig, kl_coefs: tuple[float, ...]) -> torch.Tensor:
    seeds = max(4, min(64, band_seeds(task, config) // len(kl_coefs)))
    return train_leashes(task, config, kl_coefs, (config.seed, *range(seeds - 1)))


@st.cache_resource(max_entries=128, show_spinner=False)
def rest(kl_coefs: tuple[float, ...], group_size: int, scale: str, reference: float, **step) -> Rest:
    return measure_rest(kl_coefs, group_size, scale, reference, **step)


@st.cache_data(max_entries=128, show_spinner=False)
def predicted_rest(kl_coefs: tuple[float, ...], group_size: int, scale: str, reference: float) -> tuple[list, list]:
    """The first root for each coefficient, and the further ones as (kl_coef, probability, whether it holds)."""
    points = [resting_points(value, group_size, scale, reference) for value in kl_coefs]
    further = [(value, p, holds) for value, roots in zip(kl_coefs, points, strict=True) for p, holds in roots[1:]]
    return [roots[0][0] for roots in points], further
