"""Choosing a task, making one's own in a table, and taking it home or bringing it back as a file."""

import pandas as pd
import streamlit as st

from grpo_core import FieldError
from grpo_core.tasks import COLUMNS, MAX_TARGET, MAX_TEXT, RuleTask, from_file, from_rows
from grpo_core.verifiers import RULES
from ui import links, tasks
from ui.frame import Page
from ui.i18n import say_and


def choose_task(page: Page) -> None:
    """A ready task, or the visitor's own where there is one."""
    _ = page.gettext
    setting = links.settings()["task"]
    options = list(tasks.LABELS) + ([tasks.OWN] if "own_task" in st.session_state else [])
    st.session_state.setting_task = setting if setting in tasks.LABELS else tasks.OWN
    st.selectbox(
        _("Task"), options, format_func=lambda name: tasks.label(_, name), key="setting_task", on_change=_choose
    )
    if setting in tasks.SHOWS:
        st.markdown(_(tasks.SHOWS[setting]))


def edit_task(page: Page) -> None:
    """The task as two tables; a table that is no task keeps the last good one."""
    _ = page.gettext
    # Streamlit's own CSV of a table would begin formulas; the task's CSV is below the tables.
    st.html('<style>button[aria-label^="Download as CSV"] { display: none; }</style>')
    editor = _editor(page.rule_task, page.lang)
    help_of = {
        "prompt": (_("Prompt"), _("Empty: one more rule for the prompt above.")),
        "rule": (_("Rule"), _("One of the five rules below.")),
        "target": (_("Target"), _("A text, a number, or JSON, as the rule's examples below.")),
        "weight": (_("Weight"), _("The reward is the sum of weight × reward of a prompt's rules. Empty: 1.")),
        "options": (_("Options"), _('JSON: {"tolerance": 0.01} for number_equal, {"partial": true} for code_passes.')),
        "truth": (_("Really right"), _('Only where the rule may be wrong: a list such as ["4", "four"].')),
    }
    columns = {
        name: st.column_config.TextColumn(label, help=text, max_chars=MAX_TEXT if name == "prompt" else MAX_TARGET)
        for name, (label, text) in help_of.items()
    }
    columns["rule"] = st.column_config.SelectboxColumn(*help_of["rule"][:1], help=help_of["rule"][1], options=RULES)
    columns["weight"] = st.column_config.NumberColumn(*help_of["weight"][:1], help=help_of["weight"][1])
    rows = st.data_editor(
        editor["rows"], key=f"task_rows_{editor['number']}", num_rows="dynamic", hide_index=True,
        column_config=columns, alt=_("The prompts with their rules."),
    )  # fmt: skip
    answers = st.data_editor(
        editor["answers"], key=f"task_answers_{editor['number']}", num_rows="dynamic", hide_index=True,
        column_config={"answer": st.column_config.TextColumn(_("Candidate answers"), max_chars=MAX_TEXT)},
        alt=_("The candidate answers."),
    )  # fmt: skip
    editor["draft"] = {"rows": rows, "answers": answers}
    try:
        task = from_rows(_records(rows), [row["answer"] for row in _records(answers)])
    except FieldError as error:
        st.error(say_and(_, error.message, _("The last good task stays.")))
        return
    if task != page.rule_task:
        editor["task"] = task
        links.change_task(tasks.setting_of(task))
        st.rerun()


def draw_task_files(page: Page) -> None:
    _ = page.gettext
    with st.container(horizontal=True):
        for label, name, mime, build in (
            (_("Task (JSON)"), "task.json", "application/json", page.rule_task.to_json),
            (_("Task (CSV)"), "task.csv", "text/csv", page.rule_task.to_csv),
        ):
            st.download_button(label, build, name, mime, on_click="ignore", icon=":material/download:")
    st.file_uploader(
        _("Bring a task back, as JSON or CSV"), ["json", "csv"], key="task_file", max_upload_size=1, on_change=_upload
    )
    if st.session_state.task_file and "task_file_error" in st.session_state:
        st.error(say_and(_, st.session_state.task_file_error.message, _("The last good task stays.")))


def _editor(task: RuleTask, lang: str) -> dict:
    """What the tables show at first; begun anew when the task was changed elsewhere or the page was left.

    Titles of another language make other tables of them: what was typed, be it unfinished, goes on in those.
    """
    editor = st.session_state.get("editor")
    if editor is None or editor["task"] != task or f"task_rows_{editor['number']}" not in st.session_state:
        tables = {
            "rows": pd.DataFrame(task.rows(), columns=list(COLUMNS)),
            "answers": pd.DataFrame({"answer": task.answers}),
        }
    elif editor["lang"] != lang:
        tables = editor["draft"]
    else:
        return editor
    number = editor["number"] + 1 if editor else 0
    st.session_state.editor = {"task": task, "lang": lang, "number": number, "draft": tables, **tables}
    return st.session_state.editor


def _records(frame: pd.DataFrame) -> list[dict]:
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


def _choose() -> None:
    st.session_state.pop("task_file_error", None)
    chosen = st.session_state.setting_task
    links.change_task(st.session_state.own_task if chosen == tasks.OWN else chosen)


def _upload() -> None:
    st.session_state.pop("task_file_error", None)
    file = st.session_state.task_file
    if file is None:
        return
    try:
        links.change_task(tasks.setting_of(from_file(file.getvalue())))
    except FieldError as error:
        st.session_state.task_file_error = error
