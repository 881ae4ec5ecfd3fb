"""Silent groups: why group size and difficulty decide how much is learned."""

from dataclasses import replace

import numpy as np
import streamlit as st
import torch

from grpo_core import (
    endless_push,
    expected_push,
    expected_signals,
    group_advantages,
    reinforce_push,
    silent_probability,
)
from grpo_core.config import SETTINGS
from grpo_core.float_noise import EPSILONS, framework_advantages
from ui import figures, links, silent_figures
from ui.frame import choose, open_page
from ui.player import player_texts, silent_player
from ui.question import ask
from ui.runs import bands, drawn_again, run
from ui.silent_formulas import draw_chance

P = np.linspace(0, 1, 101)
SIZES = np.array([2, 4, 8, 16, 32, 64])
DIFFICULTIES = (0.05, 0.2, 0.5)
BUDGET = 64
MAX_DRAWS = 8
GROUPS = 4

page = open_page("silent_groups")
_ = page.gettext
task, config = page.task, page.config
history, many = run(task, config), bands(task, config)
group_size = config.group_size

st.markdown(page.prose("intro"))
silent_player(
    history, player_texts(_), band=many, prompt=page.prompt, on_prompt=lambda index: links.change("prompt", index + 1)
)
if not task.is_binary:
    st.caption(
        _("The map is for right or wrong. Here a group has more rewards, so it is silent less often than shown.")
    )
draw_chance(history, page.prompt)
counted = int(history.silent[0].sum())
text = _(
    "In this run {counted} of {groups} groups were silent; over {seeds} seeds the median at the end is {share:.0%}."
)
st.caption(
    text.format(
        counted=counted, groups=history.silent[0].numel(), seeds=many.seeds, share=many.silent_share[1, -1].item()
    )
)

st.subheader(_("How hard does a group push?"), anchor=False)
pushes = {
    _("with std"): expected_push(P, group_size),
    _("without std"): expected_push(P, group_size, "none"),
    _("REINFORCE, no baseline"): reinforce_push(P),
    _("with std, endless group"): endless_push(P),
}
places = history.target_probabilities[0, -1].tolist()
dots = (places, expected_push(places, group_size)) if task.is_binary else None
figures.show(silent_figures.push_curves(_, P, pushes, dots), "push")
st.markdown(page.prose("push"))

st.subheader(_("A larger group, or more prompts?"), anchor=False)
heard = {p: 1 - silent_probability(p, SIZES) for p in DIFFICULTIES}
signals = {p: expected_signals(p, SIZES, BUDGET) for p in DIFFICULTIES}
left, right = st.columns(2)
with left:
    figures.show(silent_figures.prompts_with_signal(_, SIZES, heard), "reach")
with right:
    figures.show(silent_figures.signals_of_a_budget(_, BUDGET, SIZES, signals), "budget")
st.markdown(page.prose("budget"))

st.subheader(_("Draw again until the group is mixed"), anchor=False)
st.markdown(page.prose("dynamic"))
choose("dynamic", _("Dynamic sampling"), {"off": _("off"), "on": _("at most {count} draws").format(count=MAX_DRAWS)})
shown = {_("one draw a group"): drawn_again(task, config, 1)}
if links.settings()["dynamic"] == "on":
    shown[_("drawn again")] = drawn_again(task, config, MAX_DRAWS)
figures.show(
    silent_figures.sampling_cost(_, {name: (samples, target) for name, (samples, target, _silent) in shown.items()}),
    "cost",
)
for name, (samples, target, silent) in shown.items():
    text = _(
        "{name}: {samples:,.0f} samples a run, {silent:.0%} of the groups silent, target probability {target:.3f}."
    )
    st.markdown(text.format(name=name, samples=samples[-1].item(), silent=silent, target=target[:, -1].median().item()))
chance = history.silent_probability[0, 0, page.prompt].item()
if chance < 1:
    st.latex(r"E[\text{draws}] = \frac{1}{1 - P(\text{silent})}")
    st.latex(rf"\frac{{1}}{{1 - {chance:.4f}}} = {1 / (1 - chance):.2f}")


def answer() -> tuple[int, str]:
    other = bands(task, replace(config, group_size=doubled))
    before, after = many.silent_share.mean(-1)[1].item(), other.silent_share.mean(-1)[1].item()
    right = 1 if abs(after - before) < 0.02 else 0 if after < before else 2
    text = _(
        "Median silent share over the run: {before:.0%} with groups of {size}, {after:.0%} with groups of {doubled}."
    )
    return right, text.format(before=before, after=after, size=group_size, doubled=doubled)


doubled = min(2 * group_size, int(SETTINGS["group_size"].maximum)) if group_size < 64 else 32
ask(
    page,
    _(
        "Suppose the groups have {doubled} samples instead of {size}. Over the whole run the silent share will be"
    ).format(doubled=doubled, size=group_size),
    [_("lower"), _("about the same"), _("higher")],
    answer,
)

with st.expander(_("Where float noise makes silent groups speak")):
    st.markdown(page.prose("noise"))
    left, right = st.columns(2)
    reward = left.number_input(_("Reward of every answer"), -1e7, 1e7, 0.3, 0.1, format="%.6g", key="noise_reward")
    size = right.number_input(_("Group size"), 2, 64, 7, key="noise_size")
    group = [[0.3 if reward is None else reward] * (size or 7)] * GROUPS
    rows = [(name, framework_advantages(group, name)[0, 0].item()) for name in EPSILONS]
    rows.append((_("this project, float32"), group_advantages(torch.tensor(group, dtype=torch.float32))[0, 0].item()))
    st.table(silent_figures.noise_table(_, rows))
with st.expander(_("What real frameworks do")):
    st.markdown(page.prose("frameworks"))
