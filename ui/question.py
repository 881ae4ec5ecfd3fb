"""Predict, then look: one question a page; nothing waits for the answer."""

from collections.abc import Callable

import streamlit as st

from ui.frame import Page


@st.fragment
def ask(page: Page, question: str, options: list[str], answer: Callable[[], tuple[int, str]]) -> None:
    """`answer` computes the index of the right option and its explanation, only once one is chosen."""
    _ = page.gettext
    with st.container(border=True):
        st.subheader(_("Predict, then look"), anchor=False)
        key, kept = f"{page.name}_prediction", f"{page.name}_predicted"
        st.session_state[key] = st.session_state.get(kept)  # another language makes another widget
        chosen = st.radio(
            question, range(len(options)), format_func=options.__getitem__, index=None, key=key,
            on_change=lambda: st.session_state.update({kept: st.session_state[key]}),
        )  # fmt: skip
        if chosen is None:
            return
        right, why = answer()
        if chosen == right:
            st.success(_("Right.") + " " + why, icon=":material/check:")
        else:
            st.info(_("It is: {answer}.").format(answer=options[right]) + " " + why, icon=":material/lightbulb:")
