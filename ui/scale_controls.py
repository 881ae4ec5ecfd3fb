"""How large the real run is: model, GPUs, nodes, sampler; a bad model name keeps the last good one."""

import streamlit as st

from grpo_core import FieldError
from grpo_core.frameworks import Preset
from grpo_core.scale_up import GPUS, NODES, Setup, check_model
from grpo_core.scale_up.setup import MAX_MODEL
from ui import links
from ui.frame import Page, choose
from ui.i18n import say_and


def choose_setup(page: Page, preset: Preset) -> Setup:
    """The controls, and the run that they and the sidebar describe."""
    _ = page.gettext
    with st.container(horizontal=True):
        choose("gpus", _("GPUs on each node"), {str(count): str(count) for count in GPUS}, hidden=False)
        choose("nodes", _("Nodes"), {str(count): str(count) for count in NODES}, hidden=False)
        choose("vllm", _("Samples with"), {"on": "vLLM", "off": _("transformers or SGLang")}, hidden=False)
        choose("updates", _("Updates per rollout"), {count: count for count in links.UPDATES}, hidden=False)
    error = _type_model(_)
    if error:
        st.error(say_and(_, error.message, _("The last good model stays.")))
    current = links.settings()
    return Setup(
        page.config, preset, links.UPDATES[current["updates"]], current["model"], int(current["gpus"]),
        int(current["nodes"]), current["vllm"] == "on",
    )  # fmt: skip


def _type_model(_) -> FieldError | None:
    """The model's name as text; what is wrong with the last one."""
    good = links.settings()["model"]
    text, error, kept = st.session_state.get("bad_model", (good, None, good))
    if kept != good:
        text, error = good, None
    st.session_state.setting_model = text
    st.text_input(_("Model on Hugging Face"), key="setting_model", max_chars=MAX_MODEL, on_change=_store_model)
    return error


def _store_model() -> None:
    text = st.session_state.setting_model.strip()
    try:
        check_model(text)
    except FieldError as error:
        st.session_state.bad_model = (text, error, links.settings()["model"])
        return
    st.session_state.pop("bad_model", None)
    links.change("model", text)
