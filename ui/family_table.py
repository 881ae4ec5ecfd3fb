"""The six slots as a table against the chapter, and what a bandit cannot tell apart, in words."""

import streamlit as st

from grpo_core import FieldError
from grpo_core.frameworks import Algorithm, Preset
from grpo_core.frameworks.slots import SLOTS, differing, slots
from grpo_core.method_bands import Family
from ui.frame import Page
from ui.i18n import escape, say


def draw_slots(page: Page, preset: Preset, chapter: Preset, name: str) -> None:
    """A row a slot, the differing ones marked in words and colour."""
    _ = page.gettext
    different = differing(preset.algorithm, chapter.algorithm)
    mark = _("differs")
    table = {
        _("slot"): [
            f"**{_(title)}** :orange-badge[{mark}]" if key in different else _(title) for key, title in SLOTS.items()
        ],
        escape(name): in_words(_, preset.algorithm),
        _("The chapter"): in_words(_, chapter.algorithm),
    }
    st.table(
        table, hide_index=True, alt=_("{count} of six slots differ from the chapter.").format(count=len(different))
    )
    said = _("{name} differs from the chapter in {count} of six slots: {slots}.")
    if different:
        listed = _(", ").join(_(SLOTS[key]) for key in different)
        st.caption(said.format(name=escape(name), count=len(different), slots=listed))
    else:
        st.caption(_("This is the chapter's own loss, with the kl_coef, ddof and epsilon of the sidebar."))


def in_words(_, algorithm: Algorithm) -> list[str]:
    return [_("; ").join(say(_, message) for message in slot) for slot in slots(algorithm).values()]


def draw_refusals(page: Page, names: dict[str, str], errors: dict[str, FieldError]) -> None:
    """Which presets cannot take this group, by what they say."""
    by_message = {}
    for key, error in errors.items():
        by_message.setdefault(say(page.gettext, error.message), []).append(escape(names[key]))
    for message, refusing in by_message.items():
        st.caption(page.gettext(", ").join(refusing) + ": " + message)


def draw_told(page: Page, family: Family, names: dict[str, str], chosen: str) -> None:
    """Which presets' runs are the chosen one's, by the runs, and why where the slots say it."""
    _ = page.gettext
    others = {second: told for (first, second), told in family.told.items() if first == chosen}
    if not others:
        return
    same = {key: told for key, told in others.items() if told.same}
    if not same:
        nearest = min(others, key=lambda key: others[key].gap)
        text = _(
            "Every other preset can be told apart from {name} here. The nearest is {other}: no probability, of any seed in any epoch, differs by more than {gap:.2g}."
        )
        st.info(
            text.format(name=escape(names[chosen]), other=escape(names[nearest]), gap=others[nearest].gap),
            icon=":material/compare_arrows:",
        )
        return
    text = _(
        "Cannot be told apart from {name} here: {others}. No probability, of any seed in any epoch, differs by more than {gap:.2g}."
    )
    listed = _(", ").join(escape(names[key]) for key in same)
    lines = [text.format(name=escape(names[chosen]), others=listed, gap=max(told.gap for told in same.values()))]
    for key, told in same.items():
        reasons = {}
        for slot, message in told.reasons.items():
            reasons.setdefault(say(_, message), []).append(_(SLOTS[slot]))
        because = " ".join(f"{reason} ({_(', ').join(places)})" for reason, places in reasons.items())
        if because:
            lines.append(f"- {escape(names[key])}: {because}")
    st.info("\n".join([lines[0], "", *lines[1:]]), icon=":material/compare_arrows:")
