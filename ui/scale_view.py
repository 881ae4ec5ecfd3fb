"""The two scripts with what they cannot say, and what changes at their size, as a table."""

from collections.abc import Callable

import streamlit as st

from grpo_core import FieldError
from grpo_core.scale_up import Setup, parameters, trl_script, trl_settings, verl_command, verl_overrides
from grpo_core.scale_up.setup import GSM8K_PROMPTS, LEARNING_RATE
from grpo_core.scale_up.trl_script import FILE
from ui.frame import Page
from ui.i18n import say
from ui.numbers import number

VERL_FILE = "grpo_gsm8k.sh"


def draw_scripts(page: Page, setup: Setup) -> None:
    """A tab a framework."""
    _ = page.gettext
    trl, verl = st.tabs([_("TRL script"), _("verl command")])
    with trl:
        _draw(_, "TRL 1.16.0", FILE, "text/x-python", "python", lambda: trl_script(setup), lambda: trl_settings(setup))
    with verl:
        _draw(
            _,
            "verl 0.9.1",
            VERL_FILE,
            "text/x-shellscript",
            "bash",
            lambda: verl_command(setup),
            lambda: verl_overrides(setup),
        )


def _draw(_, framework: str, file: str, mime: str, language: str, script: Callable, exported: Callable) -> None:
    try:
        text, differences = script(), exported().differences
    except FieldError as error:
        st.info(say(_, error.message))
        return
    st.code(text, language=language, line_numbers=True, wrap_lines=True, height=560)
    st.download_button(
        _("Download {file}").format(file=file), script, file, mime, on_click="ignore", icon=":material/download:", key=file
    )  # fmt: skip
    if not differences:
        st.caption(_("{framework} can say all of this algorithm.").format(framework=framework))
        return
    st.markdown("**" + _("What {framework} cannot say of this algorithm").format(framework=framework) + "**")
    st.markdown("\n".join(f"- {say(_, message)}" for message in differences))


def draw_changes(page: Page, setup: Setup) -> None:
    """A row a thing that is larger there, with this run's own numbers."""
    _ = page.gettext
    config, task = page.config, page.task
    prompts, actions = len(task.prompts), len(task.actions)
    answers, most = config.epochs * setup.completions, config.epochs * setup.completions * setup.completion_length
    size, held = parameters(setup.model), setup.memory
    ratio = _("1: one update per rollout")
    if setup.updates > 1:
        ratio = _("1 in the first of {updates} updates, then not").format(updates=setup.updates)
    there = _("the same, token by token; the sampler's own probabilities differ a little as well")
    rows = [
        (_("prompts in one step"), f"{prompts}", f"{setup.prompts}"),
        (_("answers in one step"), f"{prompts * config.group_size}", f"{setup.completions:,}"),
        (_("one answer"), _("one of {actions} actions").format(actions=actions),
         _("up to {length:,} tokens").format(length=setup.completion_length)),
        (_("what is trained"), _("{count} logits").format(count=prompts * actions),
         _("{count:,.0f} parameters").format(count=size) if size else _("all parameters of the model")),
        (_("optimizer, learning rate"), f"{config.optimizer}, {number(config.learning_rate)}", f"AdamW, {LEARNING_RATE:g}"),
        (_("ratio"), ratio, there),
        (_("answers in the run"), f"{config.epochs * prompts * config.group_size:,}",
         _("{answers:,}, at most {tokens:,} tokens").format(answers=answers, tokens=most)),
        (_("every prompt is seen"), _("{times} times").format(times=config.epochs),
         _("{times:.2f} times, of {count:,}").format(times=setup.epochs_of_gsm8k, count=GSM8K_PROMPTS)),
        (_("memory"), _("{count} bytes of logits").format(count=8 * prompts * actions),
         _("{trl:.3g} GB on each GPU with TRL, {verl:.3g} GB with verl").format(
             **{name.lower(): sum(parts.values()) for name, parts in held.items()})
         if size else _("see the figure")),
    ]  # fmt: skip
    titles = (_("What changes"), _("Here"), _("In the scripts"))
    table = {title: list(column) for title, column in zip(titles, zip(*rows, strict=True), strict=True)}
    st.table(table, hide_index=True, alt=_("From {few} answers in one step to {many}.").format(
        few=prompts * config.group_size, many=setup.completions))  # fmt: skip


def other_group(setup: Setup) -> int:
    """A group size to ask about: half as large where that is whole and groups are large, else twice."""
    size = setup.config.group_size
    return size // 2 if size >= 8 and size % 2 == 0 else 2 * size
