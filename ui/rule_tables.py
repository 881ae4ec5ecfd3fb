"""Verdicts as tables: what a rule says about an answer, and why.

They are HTML with every text escaped: a Markdown table would make links and icons of a visitor's texts.
"""

import json
from html import escape

import streamlit as st

from grpo_core.tasks import RuleTask, rule_part
from grpo_core.verifiers import RULES, WORKED_EXAMPLES, Verdict
from ui.frame import Page
from ui.i18n import said
from ui.numbers import number

_STYLE = """<style>
.verdicts { width: 100%; border-collapse: collapse; overflow-wrap: anywhere; }
.verdicts th, .verdicts td { border: 1px solid color-mix(in srgb, currentColor 20%, transparent); padding: .3rem .5rem; text-align: left; vertical-align: top; }
.verdicts th { overflow-wrap: normal; }
.verdicts td.text { min-width: 6.5rem; }
.verdicts td:not(.text) { white-space: nowrap; }
</style>"""


def mark(verdict: Verdict) -> str:
    return "✓" if verdict.passed else "◐" if verdict.reward > 0 else "✗"


def show_verdicts(page: Page, task: RuleTask, prompt: int) -> None:
    """Every answer to one prompt with its reward and the reason."""
    _ = page.gettext
    verdicts = task.verdicts[prompt]
    columns = {
        _("answer"): task.answers,
        _("reward"): [f"{mark(verdict)} {number(round(verdict.reward, 4))}" for verdict in verdicts],
    }
    if task.truth:
        columns[_("really right")] = ["✓" if right else "✗" for right in task.is_right[prompt].tolist()]
    columns[_("why")] = [said(_, verdict.reason) for verdict in verdicts]
    _show(columns, _("The verdict on every answer to this prompt."))


def show_examples(page: Page) -> None:
    """The worked examples of each rule, judged now."""
    _ = page.gettext
    for name in RULES:
        with st.expander(name):
            targets = dict.fromkeys(written(target) for target, *_rest in WORKED_EXAMPLES[name])
            for target in targets:
                answers = [answer for own, answer, _passes in WORKED_EXAMPLES[name] if written(own) == target]
                rule = rule_part(name, target).made()
                verdicts = [rule.check(answer) for answer in answers]
                st.caption(_("Target"))
                st.code(target or _("(none)"), language=None, wrap_lines=True)
                columns = {
                    _("answer"): answers,
                    _("reward"): [f"{mark(verdict)} {number(verdict.reward)}" for verdict in verdicts],
                    _("why"): [said(_, verdict.reason) for verdict in verdicts],
                }
                _show(columns, _("Worked examples of {rule}.").format(rule=name))


def written(target) -> str:
    """A target as it is typed into a field."""
    return target if isinstance(target, str) else "" if target is None else json.dumps(target, ensure_ascii=False)


def _show(columns: dict[str, list[str]], label: str) -> None:
    """The first and the last column are texts that may be long."""
    last = len(columns) - 1
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    body = "".join(
        "<tr>" + "".join(_cell(text, i in (0, last)) for i, text in enumerate(row)) + "</tr>"
        for row in zip(*columns.values(), strict=True)
    )
    table = f'<table class="verdicts" aria-label="{escape(label)}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    st.html(_STYLE + table)


def _cell(text: str, long: bool) -> str:
    return f'<td class="text">{escape(text)}</td>' if long else f"<td>{escape(text)}</td>"
