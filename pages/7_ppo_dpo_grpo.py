"""PPO, DPO, GRPO: what each needs, what each costs, and what each gives up."""

import math
from dataclasses import replace

import streamlit as st

from grpo_core import METHODS
from ui import figures, links, method_figures
from ui.frame import choose, open_page
from ui.method_formulas import draw_formulas
from ui.method_table import draw_tables
from ui.question import ask
from ui.runs import labelled_bands, method_bands, pairs, silent

page = open_page("ppo_dpo_grpo")
_ = page.gettext
task, config = page.task, page.config

st.markdown(page.prose("intro"))
choose("methods", _("Methods"), {name: _(label) for name, label in links.METHOD_SETS.items()})
everything = list(method_figures.NAMES)
runs = method_bands(task, config, everything if links.settings()["methods"] == "all" else everything[:3])
ppo, dpo = runs["PPO"], runs["DPO"]

left, right = st.columns(2)
with left:
    figures.show(method_figures.reward_chart(_, runs), "reward")
with right:
    figures.show(method_figures.kl_chart(_, runs), "kl")
st.caption(
    _(
        "Lines are medians, bands hold 90 % of {seeds} seeds. The online methods draw {each} samples in every epoch; DPO drew all of its own before epoch 0. Equal samples are not equal updates: PPO updates {times} times on the same samples."
    ).format(seeds=ppo.seeds, each=config.group_size * len(task.prompts), times=METHODS["PPO"].inner_epochs)
)
if ppo.seeds < 64:
    st.caption(_("The run is large, so there are fewer seeds than 64."))

st.subheader(_("What each needs"), anchor=False)
draw_tables(_, config, runs)
st.markdown(page.prose("compare"))

st.subheader(_("What each gives up"), anchor=False)


def scene(drawn, key: str, *texts: str) -> None:
    picture, words = st.columns([3, 2], vertical_alignment="center")
    with picture:
        figures.show(drawn, key)
    words.markdown("\n\n".join(texts))


brief = method_bands(task, replace(config, epochs=1), ["DPO"])["DPO"]
missing = _(
    "Of one epoch's samples {samples} can be paired; from those alone, {share:.0%} of the prompts would have no pair at all: however often it updates, their answers stay as likely as before."
).format(samples=int(brief.samples_used[-1]), share=brief.without_pair)
margin = _("The margin of its pairs goes from 0 to {end:.3f}; the last epoch still added {last:.4f}.").format(
    end=dpo.margin[1, -1].item(), last=(dpo.margin[1, -1] - dpo.margin[1, -2]).item()
)
scene(
    method_figures.pair_bars(_, task, pairs(task, config), page.prompt),
    "pairs",
    page.prose("dpo"),
    margin if dpo.pairs_kept else _("There are no pairs in the data."),
    missing if brief.without_pair else "",
)

lag = ppo.mean_reward[1] - ppo.value[1]
behind = _("It is furthest behind in epoch {epoch}, by {gap:.2f}; at the end the two differ by {end:.3f}.").format(
    epoch=int(lag.argmax()), gap=lag.max().item(), end=abs(lag[-1].item())
)
scene(method_figures.value_chart(_, ppo), "value", page.prose("ppo"), behind)

shares = silent(task, config)
wasted = _(
    "Of the {samples} samples of a run, {wasted:.0f} were in silent groups ({share:.0%}), mean over the seeds."
).format(
    samples=int(ppo.samples_used[-1]),
    wasted=shares.mean().item() * int(ppo.samples_used[-1]),
    share=shares.mean().item(),
)
scene(method_figures.silent_chart(_, shares), "silent", page.prose("grpo"), wasted)

st.subheader(_("Three losses, in symbols and with this seed's numbers"), anchor=False)
draw_formulas(page)


def answer() -> tuple[int, str]:
    noisy = labelled_bands(task, config, replace(METHODS["DPO"], pairs="bradley_terry"))
    if not (dpo.pairs_kept and noisy.pairs_kept):
        return 1, _("There are no pairs in the data.")
    clean_end, noisy_end = dpo.margin[1, -1].item(), noisy.margin[1, -1].item()
    right = 0 if noisy_end < clean_end - 0.001 else 2 if noisy_end > clean_end + 0.001 else 1
    text = _(
        "Median margin at the end over {seeds} seeds: {clean:.3f} with clean labels, {noisy:.3f} with noisy ones, which contradict each other."
    )
    return right, text.format(seeds=dpo.seeds, clean=clean_end, noisy=noisy_end)


ask(
    page,
    _(
        "Suppose the labels were noisy: the right answer is chosen in {share:.0%} of its pairs, a tie by a coin. DPO's margin at the end will be"
    ).format(share=1 / (1 + math.exp(-1))),
    [_("smaller"), _("about the same"), _("larger")],
    answer,
)
with st.expander(_("What real frameworks do")):
    st.markdown(page.prose("frameworks"))
