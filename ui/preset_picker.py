"""Which algorithm the family's page looks at: a preset, or a configuration that the visitor pastes."""

import json
from dataclasses import replace

import streamlit as st

from grpo_core import FieldError
from grpo_core.frameworks import PRESETS, Preset
from grpo_core.frameworks.paste import MAX_TEXT, READERS, VERSIONS, Pasted, read_config, unpacked
from grpo_core.frameworks.presets import chapter_of
from ui import links
from ui.frame import Page
from ui.i18n import escape, say

PASTED = "pasted"


def presets_of(page: Page) -> dict[str, Preset]:
    """All presets, the chapter's with the sidebar's settings, and the visitor's own if there is one."""
    presets = {**PRESETS, "chapter": replace(PRESETS["chapter"], algorithm=chapter_of(page.config))}
    pasted = links.settings()["pasted"]
    return {**presets, PASTED: unpacked(pasted).preset()} if pasted else presets


def names_of(page: Page, presets: dict[str, Preset]) -> dict[str, str]:
    return {key: page.gettext(preset.name) for key, preset in presets.items()}


def choose_preset(page: Page, presets: dict[str, Preset]) -> str:
    """The chosen preset's key; a pasted configuration is chosen until another is."""
    _ = page.gettext
    names = names_of(page, presets)
    chosen = PASTED if PASTED in presets else links.settings()["preset"]
    st.session_state.setting_preset = chosen
    st.selectbox(
        _("Preset"),
        list(presets),
        format_func=lambda key: f"{names[key]} · {presets[key].source}",
        key="setting_preset",
        on_change=_store_preset,
    )
    preset = presets[chosen]
    if preset.note:
        st.caption(_(preset.note))
    return chosen


def _store_preset() -> None:
    if st.session_state.setting_preset != PASTED:
        links.settings()["pasted"] = ""
        links.change("preset", st.session_state.setting_preset)


def draw_paste(page: Page) -> None:
    """The text area, what is wrong with the last text, and what was made of its names."""
    _ = page.gettext
    error: FieldError | None = st.session_state.get("pasted_error")
    pasted: Pasted | None = st.session_state.get("pasted_config") if links.settings()["pasted"] else None
    with st.expander(_("Paste a TRL, verl or OpenRLHF configuration"), expanded=bool(error or pasted)):
        st.markdown(page.prose("paste"))
        frameworks = {"": _("by its names"), **{build: VERSIONS[build] for build in READERS}}
        st.segmented_control(
            _("Framework"), list(frameworks), format_func=frameworks.get, default="", required=True, key="paste_framework",
            on_change=_read,
        )  # fmt: skip
        st.text_area(
            _("Configuration: JSON, YAML, or name=value"), key="paste_text", max_chars=MAX_TEXT, height=160, on_change=_read,
            placeholder="loss_type: dapo\nepsilon_high: 0.28\nbeta: 0.04",
        )  # fmt: skip
        if error:
            st.error(say(_, error.message), icon=":material/error:")
        if pasted:
            _draw_names(_, pasted)


def _read() -> None:
    text = st.session_state.paste_text
    st.session_state.pasted_error = None
    if not text.strip():
        return
    try:
        pasted = read_config(text, st.session_state.paste_framework or None)
    except FieldError as error:
        st.session_state.pasted_error = error
        return
    st.session_state.pasted_config = pasted
    st.session_state.own_pasted = pasted.packed()
    links.change("pasted", pasted.packed())


def _draw_names(_, pasted: Pasted) -> None:
    for label, names in (
        (_("Read"), pasted.read),
        (_("Set here by the controls of the page"), pasted.elsewhere),
        (_("Does not matter here"), pasted.unrelated),
    ):
        if names:
            shown = ", ".join(names[:40]) + (" …" if len(names) > 40 else "")
            st.markdown(f"**{label}** ({len(names)}): {escape(shown, limit=1500)}")


def draw_settings(_, preset: Preset) -> None:
    """A framework's settings as they are, as text."""
    if preset.settings:
        st.code(json.dumps(preset.settings, indent=1), language="json", wrap_lines=True)
