"""Runs are pure functions of task and settings, so visitors may share them."""

from dataclasses import replace

import streamlit as st
import torch

from grpo_core import (
    METHODS,
    BanditTask,
    Bands,
    Method,
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
from grpo_core.frameworks import Preset
from grpo_core.method_bands import Family, MethodBands, silent_shares, train_family, train_method_bands
from grpo_core.method_training import sample_pairs
from grpo_core.puzzles import PUZZLES, Scene


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


def method_bands(task: BanditTask, config: TrainConfig, names) -> dict[str, MethodBands]:
    """Every named method of METHODS over the seeds 0, 1, 2, ..."""
    return {name: labelled_bands(task, config, METHODS[name]) for name in names}


def labelled_bands(task: BanditTask, config: TrainConfig, method: Method) -> MethodBands:
    """The same of a method that is no preset, such as DPO with other labels."""
    return _method_bands(task, replace(config, seed=0), method)


@st.cache_resource(max_entries=96, hash_funcs={BanditTask: _task_key}, show_spinner=False)
def _method_bands(task: BanditTask, config: TrainConfig, method: Method) -> MethodBands:
    return train_method_bands(task, config, method)


def family_config(task: BanditTask, config: TrainConfig, updates: int) -> TrainConfig:
    """The configuration for all presets together: so many epochs at most that they take about two seconds."""
    limit = (100 if updates == 1 else 60) // (1 + len(task.prompts) * config.group_size // 250)
    return replace(config, seed=0, epochs=min(config.epochs, limit))


@st.cache_resource(max_entries=16, hash_funcs={BanditTask: _task_key, Preset: repr}, show_spinner=False)
def family(task: BanditTask, config: TrainConfig, presets: dict[str, Preset], updates: int) -> Family:
    """Every preset over the seeds 0, 1, 2, ..."""
    methods = {
        key: Method(preset.name, algorithm=preset.algorithm, max_draws=preset.max_draws, inner_epochs=updates)
        for key, preset in presets.items()
    }
    return train_family(task, family_config(task, config, updates), methods)


@st.cache_resource(max_entries=32, hash_funcs={BanditTask: _task_key}, show_spinner=False)
def silent(task: BanditTask, config: TrainConfig):
    return silent_shares(task, config)


@st.cache_resource(max_entries=32, hash_funcs={BanditTask: _task_key}, show_spinner=False)
def pairs(task: BanditTask, config: TrainConfig):
    """DPO's data of the seed on screen, [P, A, A] counts of (chosen, rejected)."""
    return sample_pairs(task, config, METHODS["DPO"].pairs, (config.seed,))[0]


@st.cache_resource(max_entries=32, hash_funcs={BanditTask: _task_key}, show_spinner=False)
def drawn_again(task: BanditTask, config: TrainConfig, max_draws: int) -> tuple[torch.Tensor, torch.Tensor, float]:
    """Mean samples drawn before each epoch [E+1], target probability [S, E+1], and the silent share of the groups."""
    seeds = range(max(4, min(64, band_seeds(task, config) // max_draws)))
    history = train(task, config, seeds=seeds, keep_samples=0, max_draws=max_draws)
    drawn = config.group_size * history.draws.double().sum(-1).mean(0).cumsum(0)
    return torch.cat([drawn.new_zeros(1), drawn]), history.target_probability, history.silent_share.mean().item()


@st.cache_resource(max_entries=64, show_spinner=False)
def puzzle_scene(key: str, option: int) -> Scene:
    return PUZZLES[key].at(option)
