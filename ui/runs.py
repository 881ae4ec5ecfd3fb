"""Runs are pure functions of task and settings, so visitors may share them."""

from dataclasses import replace

import streamlit as st

from grpo_core import BanditTask, Bands, TrainConfig, TrainingHistory, train, train_bands


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
