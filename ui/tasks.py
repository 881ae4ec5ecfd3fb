"""The visitor's task as a setting: the name of a ready task, or a task of one's own packed into a text."""

import streamlit as st

from grpo_core import BanditTask
from grpo_core.messages import N_
from grpo_core.ready_tasks import READY_TASKS
from grpo_core.tasks import RuleTask, unpacked

CHAPTER, OWN = "chapter", "own"
MAX_LINK = 1200
"""Characters of a packed task that a link carries; a longer one is `own` there and stays in the session."""

LABELS = {
    "chapter": N_("The chapter's three prompts"),
    "maths": N_("Maths: the number counts"),
    "json": N_("JSON: it must fit a schema"),
    "code": N_("Code: it must pass its tests"),
    "tool_call": N_("Tool call: it must meet a condition"),
    "several_right": N_("Several right answers"),
    "graded": N_("Partial credit: 0.1 form + 0.9 answer"),
    "leaky": N_("A leaky rule: reward hacking"),
}
SHOWS = {
    "chapter": N_("The answer must be the target, letter by letter."),
    "maths": N_("However a number is written, it is read and compared exactly: 50 % and 1/2 are the same answer."),
    "json": N_("The answer must be JSON and fit a schema: right form, right types, right range."),
    "code": N_("The answer is code that must give the expected value in every test."),
    "tool_call": N_("The answer must call the right tool, with arguments that meet a condition."),
    "several_right": N_(
        "Where several answers are right, the group cannot tell them apart: which one wins is chance, and the seed decides."
    ),
    "graded": N_("Two rules with weights: 0.1 for the form and 0.9 for the number. A half right answer still gets something."),
    "leaky": N_(
        "One test only, and half a point for showing its result: the constant 9 gets full reward for 'their sum'. The policy finds it."
    ),
}  # fmt: skip


@st.cache_resource(max_entries=64, show_spinner=False)
def task_of(setting: str) -> RuleTask:
    """The task of a setting; FieldError if there is none."""
    return READY_TASKS[setting] if setting in READY_TASKS else unpacked(setting)


@st.cache_resource(max_entries=64, show_spinner=False)
def bandit_of(setting: str) -> BanditTask:
    return task_of(setting).bandit()


def setting_of(task: RuleTask) -> str:
    return next((name for name, ready in READY_TASKS.items() if ready == task), None) or task.packed()


def link_text(setting: str) -> str:
    return setting if len(setting) <= MAX_LINK else OWN


def label(_, setting: str) -> str:
    return _(LABELS[setting]) if setting in LABELS else _("Your own task")
