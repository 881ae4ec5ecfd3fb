"""GRPO family: every variant is one change in one place."""

import streamlit as st
import torch

from grpo_core import FieldError
from grpo_core.family import clip_curve, ratio_range
from grpo_core.method_bands import SEEDS
from ui import family_figures, figures, links
from ui.family_formulas import advantage_numbers, formula
from ui.family_table import draw_refusals, draw_slots, draw_told
from ui.frame import choose, open_page
from ui.group_picker import type_rewards
from ui.i18n import escape, say_and
from ui.preset_picker import choose_preset, draw_paste, draw_settings, names_of, presets_of
from ui.question import ask
from ui.runs import family

DEFAULT_GROUP = "1, 0, 0, 0.5"

page = open_page("grpo_family")
_ = page.gettext
st.markdown(page.prose("intro"))
presets = presets_of(page)
names = names_of(page, presets)
chosen = choose_preset(page, presets)
preset, chapter = presets[chosen], presets["chapter"]
draw_paste(page)

st.subheader(_("Six slots"), anchor=False)
draw_slots(page, preset, chapter, names[chosen])

st.subheader(_("The advantages of one group"), anchor=False)
error = type_rewards(st, _("Rewards of the group, by hand"), DEFAULT_GROUP)
if error:
    st.error(say_and(_, error.message, _("The last good group stays.")))
rewards = page.rewards or links.parse_rewards(DEFAULT_GROUP)
advantages, refused = {}, {}
for key, each in presets.items():
    try:
        advantages[key] = each.algorithm.advantages([rewards])[0]
    except FieldError as problem:
        refused[key] = problem
figures.show(family_figures.advantage_map(_, names, rewards, advantages, chosen), "advantages")
draw_refusals(page, names, refused)
st.markdown(page.prose("advantages"))

st.subheader(_("The loss, put together from the slots"), anchor=False)
for line in formula(preset.algorithm):
    st.latex(line)
for line in advantage_numbers(preset.algorithm.estimator, rewards):
    st.latex(line)

st.subheader(_("What the clip does"), anchor=False)
ratios = torch.linspace(*ratio_range(preset.algorithm), 1001, dtype=torch.float64)
up, down = (clip_curve(preset.algorithm, ratios, advantage) for advantage in (1.0, -1.0))
left, right = st.columns(2)
with left:
    figures.show(family_figures.objective_chart(_, up, down, names[chosen]), "objective")
with right:
    figures.show(family_figures.slope_chart(_, up, down, names[chosen]), "slope")
st.markdown(page.prose("clip"))

st.subheader(_("Side by side on the task"), anchor=False)
choose("updates", _("Updates per rollout"), {"1": _("1 update per rollout"), "4": _("4 updates per rollout")})
updates = links.UPDATES[links.settings()["updates"]]
runs = family(page.task, page.config, presets, updates)
draw_refusals(page, names, runs.errors)
left, right = st.columns(2)
with left:
    figures.show(family_figures.reward_chart(_, runs, names, chosen), "reward")
with right:
    figures.show(family_figures.kl_chart(_, runs, names, chosen), "kl")
figures.show(family_figures.end_chart(_, runs, names, chosen), "end")
draw_told(page, runs, names, chosen)
first = runs.bands["chapter"]
most = max(runs.bands, key=lambda key: runs.bands[key].samples_used[-1].item())
st.caption(
    _("Lines are medians, bands hold 90 % of {seeds} seeds; {epochs} epochs, {samples:,.0f} samples a run.").format(
        seeds=first.seeds, epochs=first.mean_reward.shape[1] - 1, samples=first.samples_used[-1].item()
    )
)
if runs.bands[most].samples_used[-1] > first.samples_used[-1]:
    st.caption(
        _("{name} drew {samples:,.0f}: it draws silent groups again, so its curve is not one of equal cost.").format(
            name=escape(names[most]), samples=runs.bands[most].samples_used[-1].item()
        )
    )
if first.seeds < SEEDS or first.mean_reward.shape[1] - 1 < page.config.epochs:
    st.caption(_("The run is large, so there are fewer seeds or epochs here, to train all presets at once."))
st.markdown(page.prose("runs"))


def answer() -> tuple[int, str]:
    def count(times: int) -> int:
        told = family(page.task, page.config, presets, times).told
        return sum(pair[0] == chosen and each.same for pair, each in told.items())

    now, then = count(updates), count(other)
    text = _("Not to be told apart from {name}: {now} presets with {updates} per rollout, {then} with {other}.")
    return (0 if then < now else 1 if then == now else 2), text.format(
        name=escape(names[chosen]), now=now, updates=updates, then=then, other=other
    )


other = 5 - updates
ask(
    page,
    _(
        "Suppose {other} updates per rollout instead of {updates}. How many presets could not be told apart from {name}?"
    ).format(other=other, updates=updates, name=escape(names[chosen])),
    [_("fewer than now"), _("as many as now"), _("more than now")],
    answer,
)
with st.expander(_("What real frameworks do")):
    draw_settings(_, preset)
    st.markdown(page.prose("frameworks"))
