"""Everything that decides what is shown, in one settings object and in the URL.

Streamlit drops widget state when a visitor changes the page, so the settings live in the session,
are seeded from the URL, and are written back to it when the visitor changes something.
"""

import re

import streamlit as st

from grpo_core import FieldError, TrainConfig
from grpo_core.config import DEFAULTS, SETTINGS, parse_value
from grpo_core.frameworks import PRESETS
from grpo_core.frameworks.paste import unpacked
from grpo_core.messages import N_
from grpo_core.puzzles import PUZZLES
from grpo_core.scale_up import GPUS, MODEL, NODES, check_model
from grpo_core.tasks import RuleTask
from ui import tasks
from ui.i18n import LANGUAGES

PAGE_KEYS = {
    "home": ("prompt",),
    "one_group": ("prompt", "draw", "rewards"),
    "one_update": ("prompt", "draw", "rewards", "step"),
    "training_run": ("prompt", "curve"),
    "kl_leash": ("prompt", "reference"),
    "silent_groups": ("prompt", "dynamic"),
    "ppo_dpo_grpo": ("methods", "prompt"),
    "verifiable_rewards": ("prompt",),
    "grpo_family": ("preset", "prompt", "rewards", "updates", "pasted"),
    "why_is_my_loss_0": ("puzzle", "option"),
    "scale_up": ("preset", "pasted", "updates", "gpus", "nodes", "vllm", "model"),
}
"""What a page shows beside the run's settings, the language and the task."""

EVERYWHERE = (*DEFAULTS, "lang", "task")
ALL_DEFAULTS = {
    **DEFAULTS,
    "lang": "en",
    "task": tasks.CHAPTER,
    "prompt": 1,
    "draw": 0,
    "rewards": "",
    "step": 1,
    "curve": "",
    "reference": "1/3",
    "methods": "three",
    "dynamic": "off",
    "preset": "trl",
    "updates": "1",
    "pasted": "",
    "puzzle": next(iter(PUZZLES)),
    "option": "",
    "gpus": "4",
    "nodes": "1",
    "vllm": "on",
    "model": MODEL,
}
STEPS = 6
CURVES = {
    "target": N_("Target probability"),
    "kl": N_("KL"),
    "reward": N_("Reward"),
    "entropy": N_("Entropy"),
    "heatmap": N_("All probabilities"),
    "all": N_("All five"),
}
REFERENCES = {"1/3": 1 / 3, "0.1": 0.1, "0.01": 0.01}
"""Probabilities of the target before training, by the text that a link holds."""
UPDATES = {"1": 1, "4": 4}
"""Updates per rollout, by the text that a link holds."""
MAX_PASTED = 1000
"""Characters of a pasted configuration that a link carries; a longer one is `own` there and stays in the session."""
METHOD_SETS = {"three": N_("PPO, DPO, GRPO"), "all": N_("All six")}
_CHOICES = {
    "lang": LANGUAGES,
    "curve": CURVES,
    "reference": REFERENCES,
    "methods": METHOD_SETS,
    "dynamic": ("off", "on"),
    "preset": PRESETS,
    "updates": UPDATES,
    "puzzle": PUZZLES,
    "gpus": tuple(map(str, GPUS)),
    "nodes": tuple(map(str, NODES)),
    "vllm": ("on", "off"),
}
_WHOLE_NUMBERS = {"draw": (0, 9999), "step": (1, STEPS)}
MAX_SAMPLES = int(SETTINGS["group_size"].maximum)
MAX_REWARD, MIN_REWARD = 1e6, 1e-6


def parse(name: str, text: str):
    """A setting's value from a link, or a FieldError."""
    if name in DEFAULTS:
        return parse_value(name, text, in_app=True)
    if name in _CHOICES:
        if text not in _CHOICES[name]:
            raise FieldError(
                name, N_("{field} must be one of {allowed}, not {value!r}"),
                value=text, allowed=", ".join(_CHOICES[name]),
            )  # fmt: skip
        return text
    if name == "rewards":
        parse_rewards(text)
        return text
    if name == "option":
        return _parse_option(text)
    if name == "task":
        return _parse_task(text)
    if name == "pasted":
        return _parse_pasted(text)
    if name == "model":
        return check_model(text)
    minimum, maximum = (1, len(task().prompts)) if name == "prompt" else _WHOLE_NUMBERS[name]
    if not re.fullmatch(r"[0-9]{1,4}", text) or not minimum <= int(text) <= maximum:
        raise FieldError(
            name, N_("{field} must be from {minimum} to {maximum}, not {value!r}"),
            value=text, minimum=minimum, maximum=maximum,
        )  # fmt: skip
    return int(text)


def _parse_option(text: str) -> str:
    """Which position the control of the puzzle is at, counted from 1; nothing for the puzzle's own."""
    options = [str(position + 1) for position in range(PUZZLES[settings()["puzzle"]].options)]
    if text not in ("", *options):
        raise FieldError(
            "option", N_("{field} must be one of {allowed}, not {value!r}"), value=text, allowed=", ".join(options)
        )
    return text


def _parse_task(text: str) -> str:
    if text == tasks.OWN:
        if "own_task" not in st.session_state:
            raise FieldError("task", N_("{field}: it is too large for a link and stayed with the visitor who made it"))
        return st.session_state.own_task
    if tasks.task_of(text) and text not in tasks.LABELS:
        st.session_state.own_task = text
    return text


def _parse_pasted(text: str) -> str:
    if text != tasks.OWN:
        return unpacked(text).packed() if text else ""
    if "own_pasted" not in st.session_state:
        raise FieldError("pasted", N_("{field}: it is too large for a link and stayed with the visitor who made it"))
    return st.session_state.own_pasted


def parse_rewards(text: str) -> list[float] | None:
    """`0, 1, 1, 0` as numbers; None for an empty text (the rule scores the sampled answers)."""
    parts = [part for part in re.split(r"[,，;；\s]+", text) if part]
    if not parts:
        return None
    if len(parts) > MAX_SAMPLES:
        raise FieldError(
            "rewards",
            N_("{field} may be {maximum} numbers at most, not {value}"),
            maximum=MAX_SAMPLES,
            value=len(parts),
        )
    rewards = []
    for part in parts:
        try:
            rewards.append(float(part))
        except ValueError:
            raise FieldError(
                "rewards", N_("{field} must be numbers such as 0, 1 or 0.5, not {value!r}"), value=part
            ) from None
        if not abs(rewards[-1]) <= MAX_REWARD:
            raise FieldError(
                "rewards", N_("{field} must be numbers from {minimum:,.0f} to {maximum:,.0f}, not {value!r}"),
                minimum=-MAX_REWARD, maximum=MAX_REWARD, value=part,
            )  # fmt: skip
        if 0 < abs(rewards[-1]) < MIN_REWARD:  # their squares would vanish in the standard deviation
            raise FieldError(
                "rewards", N_("{field} must be 0 or at least {minimum:g} in size, not {value!r}"),
                minimum=MIN_REWARD, value=part,
            )  # fmt: skip
    return rewards


def settings() -> dict:
    """This visitor's settings, by name."""
    if "settings" not in st.session_state:
        st.session_state.settings = dict(ALL_DEFAULTS)
    return st.session_state.settings


def config() -> TrainConfig:
    return TrainConfig(**{name: settings()[name] for name in DEFAULTS})


def task() -> RuleTask:
    return tasks.task_of(settings()["task"])


def change_task(setting: str) -> None:
    """Another task: its first prompt, and rewards typed for the old one are gone."""
    for name in ("prompt", "rewards"):
        settings()[name] = ALL_DEFAULTS[name]
    if setting not in tasks.LABELS:
        st.session_state.own_task = setting
    change("task", setting)


def change(name: str, value) -> None:
    """A widget's change: kept, and written to the URL by the next `write_url`."""
    settings()[name] = value
    st.session_state.settings_changed = True


def query_params(page: str, changes: dict | None = None) -> dict[str, str]:
    """What differs from the defaults, for a link to `page`; `changes` in place of the visitor's settings."""
    current = settings() | (changes or {})
    names = (name for name in (*EVERYWHERE, *PAGE_KEYS[page]) if current[name] != ALL_DEFAULTS[name])
    return {name: _link_text(name, current[name]) for name in names}


def adopt_url(page: str) -> list[FieldError]:
    """Take over a URL that this app did not write: a shared link, Back, Forward, or an edit.

    A bad value leaves its default; the errors are returned to be shown.
    """
    shown = st.query_params.to_dict()
    location = (page, shown)
    if st.session_state.get("settings_changed"):
        return []
    if st.session_state.get("location") == location:
        return st.session_state.link_errors
    errors = []
    current = settings()
    for name in (*EVERYWHERE, *PAGE_KEYS[page]):  # the task first: a prompt is one of its prompts
        current[name] = ALL_DEFAULTS[name]
        if name in shown:
            try:
                current[name] = parse(name, shown[name])
            except FieldError as error:
                errors.append(error)
    if current["prompt"] > len(task().prompts):
        current["prompt"] = ALL_DEFAULTS["prompt"]
    st.session_state.location = location
    st.session_state.link_errors = errors
    return errors


def write_url(page: str) -> None:
    """Bring the URL up to date after a change, and only then: Back must not be overwritten."""
    if st.session_state.pop("settings_changed", False):
        st.query_params.from_dict(query_params(page))
        st.session_state.location = (page, query_params(page))
        st.session_state.link_errors = []


def _link_text(name: str, value) -> str:
    if name == "task":
        return tasks.link_text(value)
    return tasks.OWN if name == "pasted" and len(value) > MAX_PASTED else _text(value)


def _text(value) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)
