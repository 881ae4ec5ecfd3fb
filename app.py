"""Home: GRPO in one picture."""

import streamlit as st

from grpo_core import one_update
from ui import links
from ui.frame import PAGES, SHOWS, choose_prompt, open_page, page_address
from ui.player import loop, player_texts
from ui.question import ask
from ui.runs import run

EXPLAINED_ON = {
    "policy": "training_run",
    "group": "one_group",
    "rewards": "one_group",
    "compared": "one_group",
    "moved": "one_update",
}

page = open_page("home")
_ = page.gettext

st.markdown(page.prose("intro"))
choose_prompt(page)
addresses = {stage: page_address(name) for stage, name in EXPLAINED_ON.items()}
loop(run(page.task, page.config), player_texts(_), page.prompt, addresses)
st.markdown(page.prose("formula"))

left, right = st.columns(2)
with left.container(border=True, height="stretch"):
    st.markdown(page.prose("shows"))
with right.container(border=True, height="stretch"):
    st.markdown(page.prose("not"))


def answer() -> tuple[int, str]:
    update = one_update(page.task, page.config, prompt=page.prompt, rewards=[1.0] * page.config.group_size)
    target = page.task.is_target[page.prompt]
    before, after = update.before[page.prompt][target].sum().item(), update.after[page.prompt][target].sum().item()
    right = 0 if after > before + 1e-9 else 2 if after < before - 1e-9 else 1
    text = _("Equal rewards have no better and no worse: every advantage is 0, and {before:.3f} becomes {after:.3f}.")
    return right, text.format(before=before, after=after)


ask(
    page,
    _("Suppose all answers of the first group were right. The target's probability would"),
    [_("rise"), _("stay as it is"), _("fall")],
    answer,
)

st.subheader(_("Where to go next"), anchor=False)
for first in range(0, len(SHOWS), 3):
    for column, name in zip(st.columns(3), list(SHOWS)[first : first + 3], strict=False):
        path, title, icon = PAGES[name]
        with column.container(border=True, height="stretch"):
            st.page_link(path, label=_(title), icon=icon, query_params=links.query_params(name))
            st.caption(_(SHOWS[name]))
