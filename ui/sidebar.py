"""The hyperparameters, one widget a field of TrainConfig, with the field's own help and range."""

import random

import streamlit as st

from grpo_core.config import DEFAULTS, SETTINGS
from grpo_core.messages import N_
from ui import links

LABELS = {
    "group_size": N_("Group size"),
    "epochs": N_("Epochs"),
    "learning_rate": N_("Learning rate"),
    "kl_coef": N_("KL coefficient"),
    "seed": N_("Seed"),
    "epsilon": N_("Epsilon"),
    "ddof": N_("Divisor of the std (ddof)"),
    "optimizer": N_("Optimizer"),
}


def draw_hyperparameters(_) -> None:
    st.subheader(_("Settings of the run"), anchor=False)
    for name in ("group_size", "epochs", "learning_rate", "kl_coef"):
        _slider(_, name)
    _number(_, "seed")
    left, right = st.columns(2)
    left.button(_("New seed"), on_click=_new_seed, icon=":material/casino:", width="stretch")
    right.button(
        _("Reset"),
        on_click=_reset,
        icon=":material/restart_alt:",
        width="stretch",
        help=_("Back to the chapter's settings."),
    )
    with st.expander(_("Advanced")):
        _number(_, "epsilon", format="%.1e")
        _choice(_, "ddof")
        _choice(_, "optimizer")


def _widget(_, name: str) -> dict:
    """What every widget of a setting shares: it shows the settings object and writes back to it."""
    key = f"setting_{name}"
    st.session_state[key] = links.settings()[name]
    return {
        "label": _(LABELS[name]),
        "key": key,
        "help": _(SETTINGS[name].help),
        "on_change": lambda: _store(name, st.session_state[key]),
    }


def _store(name: str, value) -> None:
    """An emptied number field gives None: the last value stays."""
    if value is not None:
        links.change(name, value)


def _slider(_, name: str) -> None:
    setting = SETTINGS[name]
    st.slider(
        **_widget(_, name),
        min_value=setting.minimum,
        max_value=type(setting.minimum)(setting.app_maximum or setting.maximum),
        step=setting.step,
    )


def _number(_, name: str, format: str | None = None) -> None:
    setting = SETTINGS[name]
    st.number_input(
        **_widget(_, name),
        value=None,  # emptied, it is None and not the minimum
        min_value=setting.minimum,
        max_value=setting.maximum,
        step=setting.step,
        format=format,
    )


def _choice(_, name: str) -> None:
    st.segmented_control(**_widget(_, name), options=SETTINGS[name].choices, required=True)


def _new_seed() -> None:
    links.change("seed", random.randrange(10_000))


def _reset() -> None:
    for name, value in DEFAULTS.items():
        links.change(name, value)
