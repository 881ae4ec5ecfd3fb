"""What is around every page: title, language, navigation, settings, share, notices."""

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from grpo_core import BanditTask, TrainConfig, chapter_task
from grpo_core.messages import N_
from ui import links, sidebar
from ui.i18n import LANGUAGES, prose, say, translator
from ui.share import draw_share

PAGES = {
    "home": ("app.py", N_("GRPO in one picture"), ":material/home:"),
    "one_group": ("pages/1_one_group.py", N_("One group"), ":material/groups:"),
    "one_update": ("pages/2_one_update.py", N_("One update"), ":material/trending_up:"),
    "training_run": ("pages/3_training_run.py", N_("Training run"), ":material/play_circle:"),
}


@dataclass(frozen=True)
class Page:
    """What a page needs to know about its visitor."""

    name: str
    lang: str
    gettext: Callable[[str], str]
    task: BanditTask
    config: TrainConfig
    prompt: int
    draw: int
    rewards: list[float] | None

    def prose(self, section: str) -> str:
        return prose(self.lang, self.name)[section]


def open_page(name: str) -> Page:
    """Draw the frame and return what the visitor has set."""
    errors = links.adopt_url(name)
    lang = links.settings()["lang"]
    _ = translator(lang)
    title = _(PAGES[name][1])
    st.set_page_config(page_title=f"{title} · GRPO Explainer", layout="wide")
    with st.sidebar:
        _draw_language(lang)
        for other, (path, label, icon) in PAGES.items():
            st.page_link(path, label=_(label), icon=icon, query_params=links.query_params(other), width="stretch")
        draw_share(_, name)
        sidebar.draw_hyperparameters(_)
    links.write_url(name)
    st.title(title, anchor=False)
    for error in errors:
        st.warning(say(_, error.message) + " " + _("The default is used instead."), icon=":material/link_off:")
    current = links.settings()
    return Page(
        name,
        lang,
        _,
        task=chapter_task(),
        config=links.config(),
        prompt=current["prompt"] - 1,
        draw=current["draw"],
        rewards=links.parse_rewards(current["rewards"]),
    )


def choose_prompt(page: Page) -> None:
    """Which prompt the page looks at; part of the link."""
    st.session_state.setting_prompt = page.prompt
    st.segmented_control(
        page.gettext("Prompt"),
        range(len(page.task.prompts)),
        format_func=lambda index: page.task.prompts[index],
        key="setting_prompt",
        required=True,
        on_change=lambda: links.change("prompt", st.session_state.setting_prompt + 1),
    )


def _draw_language(lang: str) -> None:
    st.session_state.setting_lang = lang
    st.segmented_control(
        "Language / 语言",
        list(LANGUAGES),
        format_func=LANGUAGES.get,
        key="setting_lang",
        required=True,
        label_visibility="collapsed",
        on_change=lambda: links.change("lang", st.session_state.setting_lang),
    )
