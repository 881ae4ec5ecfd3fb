"""What is around every page: title, language, navigation, settings, share, notices."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlencode

import streamlit as st

from grpo_core import BanditTask, TrainConfig
from grpo_core.messages import N_
from grpo_core.tasks import RuleTask
from ui import links, sidebar, tasks
from ui.i18n import LANGUAGES, escape, prose, say_and, translator
from ui.labels import labels
from ui.share import draw_share

PAGES = {
    "home": ("app.py", N_("GRPO in one picture"), ":material/home:"),
    "one_group": ("pages/1_one_group.py", N_("One group"), ":material/groups:"),
    "one_update": ("pages/2_one_update.py", N_("One update"), ":material/trending_up:"),
    "training_run": ("pages/3_training_run.py", N_("Training run"), ":material/play_circle:"),
    "kl_leash": ("pages/4_kl_leash.py", N_("KL leash"), ":material/link:"),
    "silent_groups": ("pages/5_silent_groups.py", N_("Silent groups"), ":material/volume_off:"),
    "verifiable_rewards": ("pages/6_verifiable_rewards.py", N_("Verifiable rewards"), ":material/fact_check:"),
    "ppo_dpo_grpo": ("pages/7_ppo_dpo_grpo.py", N_("PPO, DPO, GRPO"), ":material/compare_arrows:"),
    "grpo_family": ("pages/8_grpo_family.py", N_("GRPO family"), ":material/account_tree:"),
    "why_is_my_loss_0": ("pages/9_why_is_my_loss_0.py", N_("Why is my loss 0?"), ":material/help:"),
    "scale_up": ("pages/10_scale_up.py", N_("Scale up"), ":material/rocket_launch:"),
}
SHOWS = {
    "one_group": N_("A reward only means something next to its group's."),
    "one_update": N_("What those advantages do to the policy, step by step."),
    "training_run": N_("The whole run, epoch by epoch, with its curves."),
    "kl_leash": N_("What kl_coef buys and costs, and where training comes to rest."),
    "silent_groups": N_("Why group size and difficulty decide how much is learned."),
    "verifiable_rewards": N_("The rule can be anything that can be checked: try your own."),
    "ppo_dpo_grpo": N_("What each of the three needs, and what each gives up."),
    "grpo_family": N_("Every variant is one change in one place."),
    "why_is_my_loss_0": N_("What people really ask, each with a live answer."),
    "scale_up": N_("From these settings to a real model."),
}
"""What each page makes obvious, in one sentence."""


@dataclass(frozen=True)
class Page:
    """What a page needs to know about its visitor."""

    name: str
    lang: str
    gettext: Callable[[str], str]
    task: BanditTask
    rule_task: RuleTask
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
        choose("lang", "Language / 语言", LANGUAGES)
        for other, (path, label, icon) in PAGES.items():
            st.page_link(path, label=_(label), icon=icon, query_params=links.query_params(other), width="stretch")
        draw_share(_, name)
        sidebar.draw_hyperparameters(_)
    links.write_url(name)
    st.title(title, anchor=False)
    if errors:
        problems = [say_and(_, error.message, _("The default is used instead.")) for error in errors]
        st.warning("\n\n".join(problems), icon=":material/link_off:")
    current = links.settings()
    if current["task"] != tasks.CHAPTER:
        _draw_task_notice(_, current["task"], bool(links.task().truth))
    return Page(
        name,
        lang,
        _,
        task=tasks.bandit_of(current["task"]),
        rule_task=links.task(),
        config=links.config(),
        prompt=current["prompt"] - 1,
        draw=current["draw"],
        rewards=links.parse_rewards(current["rewards"]),
    )


def page_address(name: str) -> str:
    """A page's address with its link parameters, relative to Home's."""
    path = re.sub(r"^pages/\d+_|\.py$", "", PAGES[name][0])
    return f"{path}?{urlencode(links.query_params(name))}".removesuffix("?")


def choose(name: str, label: str, options: dict, required: bool = True, hidden: bool = True) -> None:
    """One of a few values of a setting, by value and name; none is its default, where it is not required."""
    key = f"setting_{name}"
    st.session_state[key] = links.settings()[name] or None
    st.segmented_control(
        label,
        list(options),
        format_func=options.get,
        key=key,
        required=required,
        label_visibility="collapsed" if hidden else "visible",
        on_change=lambda: links.change(name, st.session_state[key] or links.ALL_DEFAULTS[name]),
    )


def choose_prompt(page: Page) -> None:
    """Which prompt the page looks at; a control of few short texts reads Markdown, a list of any texts does not."""
    options = dict(enumerate(labels(page.task.prompts, 70), 1))
    if len(options) <= 4 and all(re.fullmatch(r"([^\W_]|[ ,?+()]|: ){1,24}", text) for text in options.values()):
        shown = {number: escape(text) for number, text in options.items()}
        return choose("prompt", page.gettext("Prompt"), shown, hidden=False)
    st.session_state.setting_prompt = links.settings()["prompt"]
    st.selectbox(
        page.gettext("Prompt"),
        list(options),
        format_func=options.get,
        key="setting_prompt",
        on_change=lambda: links.change("prompt", st.session_state.setting_prompt),
    )


def _draw_task_notice(_, setting: str, may_leak: bool) -> None:
    """Which task is trained where it is not the chapter's, and the way back."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f":material/fact_check: {_('Task')}: **{tasks.label(_, setting)}**", width="content")
        st.button(
            _("Back to the chapter's task"),
            key="chapter_task",
            type="tertiary",
            icon=":material/undo:",
            on_click=links.change_task,
            args=(tasks.CHAPTER,),
        )
    if may_leak:
        st.caption(_("Here a target is what the rules reward most, which is not always what is right."))
