"""The group that One group and One update look at: sampled again, or with rewards typed by hand."""

import streamlit as st

from grpo_core import FieldError
from ui import links
from ui.frame import Page, choose_prompt
from ui.i18n import say_and


def choose_group(page: Page) -> None:
    """Prompt, sample again, and the rewards as text; a bad text keeps the last good group."""
    _ = page.gettext
    choose_prompt(page)
    typed, again = st.columns([3, 2], vertical_alignment="bottom")
    error = type_rewards(typed, _("Rewards by hand, such as 0, 1, 1, 0 (empty: the rule's)"))
    again.button(_("Sample again"), icon=":material/casino:", on_click=_sample_again, width="stretch")
    if error:
        st.error(say_and(_, error.message, _("The last good group stays.")))


def type_rewards(place, label: str, default: str = "") -> FieldError | None:
    """Rewards as text, `default` where none are typed; what is wrong with the last text."""
    # Shown as it was typed, also after a visit to another page; a group chosen since then replaces it.
    good = links.settings()["rewards"]
    text, error, kept = st.session_state.get("bad_rewards", (good, None, good))
    if kept != good:
        text, error = good, None
    st.session_state.setting_rewards = text or default
    place.text_input(label, key="setting_rewards", max_chars=2000, on_change=_store_rewards)
    return error


def _store_rewards() -> None:
    text = st.session_state.setting_rewards.strip()
    try:
        links.parse_rewards(text)
    except FieldError as error:
        st.session_state.bad_rewards = (text, error, links.settings()["rewards"])
        return
    st.session_state.pop("bad_rewards", None)
    links.change("rewards", text)


def _sample_again() -> None:
    links.change("draw", (links.settings()["draw"] + 1) % 10_000)
    links.change("rewards", "")
    st.session_state.pop("bad_rewards", None)
