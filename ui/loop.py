"""The loop of GRPO as five cards: policy -> group -> rewards -> advantages -> new policy."""

from html import escape

import streamlit as st

from grpo_core import UpdateStep, one_update
from ui import links
from ui.figures import NEGATIVE, POSITIVE
from ui.frame import PAGES, Page

MINUS = "−"
EXPLAINED_ON = ("training_run", "one_group", "one_group", "one_group", "one_update")
"""The page behind each card."""


@st.fragment
def draw(page: Page) -> None:
    """One update of the run, chosen by its epoch; the first one unless the visitor moves the slider."""
    _ = page.gettext
    if page.config.epochs > 1:
        epoch = st.slider(_("Epoch of the run"), 1, page.config.epochs, 1, key="home_epoch")
    else:
        epoch = 1
    update = one_update(page.task, page.config, after=epoch - 1)
    cards = (
        (_("1 Policy"), _("How probable is each answer?"), _policy(page, update.before)),
        (
            _("2 Group"),
            _("Sample {count} answers to this one prompt.").format(count=page.config.group_size),
            _group(page, update),
        ),
        (_("3 Rewards"), _("The rule checks each answer: 1 if right, else 0."), _rewards(page, update)),
        (_("4 Advantages"), _("Compare each reward with the group's mean."), _advantages(page, update)),
        (
            _("5 New policy"),
            _("Push up what beat the group, push down the rest."),
            _policy(page, update.after, update.before),
        ),
    )
    columns = st.columns(len(cards), gap="small")
    for column, (title, says, body), target in zip(columns, cards, EXPLAINED_ON, strict=True):
        with column.container(border=True, height="stretch"):
            st.html(
                f"<h4 style='margin:0'>{escape(title)}</h4>"
                f"<p style='margin:.3rem 0 .6rem;font-size:.85rem'>{escape(says)}</p>{body}"
            )
            path, label, icon = PAGES[target]
            st.page_link(path, label=_(label), icon=icon, query_params=links.query_params(target))


def _policy(page: Page, probabilities, before=None) -> str:
    rows = []
    for index, action in enumerate(page.task.actions):
        value = probabilities[page.prompt, index].item()
        target = bool(page.task.is_target[page.prompt, index])
        change = "" if before is None else f" ({_signed(value - before[page.prompt, index].item(), 3)})"
        mark = " · " + page.gettext("target") if target else ""
        color = POSITIVE if target else "#8A94A0"
        rows.append(
            f"<div style='font-size:.85rem;margin-top:.35rem'>{escape(action)}{escape(mark)}"
            f"<div style='background:#8883;border-radius:3px'><div style='width:{100 * value:.1f}%;height:.7rem;"
            f"border-radius:3px;background:{color}'></div></div>{value:.3f}{change}</div>"
        )
    return "".join(rows)


def _group(page: Page, update: UpdateStep) -> str:
    """The answers in the order they were sampled."""
    return _chips(
        (page.task.actions[action], update.group.rewards[page.prompt, i] > 0)
        for i, action in enumerate(update.group.actions[page.prompt].tolist())
    )


def _rewards(page: Page, update: UpdateStep) -> str:
    rewards = update.group.rewards[page.prompt].tolist()
    mean, std = update.group.mean[page.prompt].item(), update.group.std[page.prompt].item()
    _ = page.gettext
    mean_label, std_label = escape(_("mean")), escape(_("std"))
    return _chips((f"{reward:g}", reward > 0) for reward in rewards) + (
        f"<p style='font-size:.85rem;margin:.6rem 0 0'>{mean_label} {mean:.2f}<br>{std_label} {std:.2f}</p>"
    )


def _advantages(page: Page, update: UpdateStep) -> str:
    if update.group.silent[page.prompt]:
        says = page.gettext("A silent group: all rewards are equal, so every advantage is 0.")
        return f"<p style='font-size:.9rem'><b>{escape(says)}</b></p>"
    return _chips((_signed(value), value > 0) for value in update.group.advantages[page.prompt].tolist())


def _chips(items) -> str:
    """Blue and solid for what beat the group or is right, vermilion and dashed for the rest."""
    chips = (
        f"<span style='border:2px {'solid' if good else 'dashed'} {POSITIVE if good else NEGATIVE};border-radius:.4rem;"
        f"padding:.1rem .4rem;font-size:.9rem;font-variant-numeric:tabular-nums'>{escape(text)}</span>"
        for text, good in items
    )
    return f"<div style='display:flex;flex-wrap:wrap;gap:.3rem'>{''.join(chips)}</div>"


def _signed(value: float, digits: int = 2) -> str:
    return f"{value:+.{digits}f}".replace("-", MINUS)
