"""Training run: the whole run, epoch by epoch."""

from dataclasses import replace

import streamlit as st

from grpo_core import findings
from ui import figures, links
from ui.downloads import draw_downloads
from ui.frame import open_page
from ui.i18n import say
from ui.player import handout, player, player_texts
from ui.question import ask
from ui.runs import bands, run

page = open_page("training_run")
_ = page.gettext
history = run(page.task, page.config)
many = bands(page.task, page.config)

st.markdown(page.prose("intro"))
player(
    history, player_texts(_), band=many, prompt=page.prompt, on_prompt=lambda index: links.change("prompt", index + 1)
)

st.subheader(_("Did it go as it should?"), anchor=False)
for finding in findings(history):
    icon = ":material/check_circle:" if finding.sensible else ":material/error:"
    st.markdown(f"{icon} {say(_, finding.message)}")

st.subheader(_("The run as curves"), anchor=False)
note = _("Bands: the same settings with {seeds} other seeds; median and 5–95 %.")
if many.seeds < 256:
    note += " " + _("The run is large, so there are fewer seeds than 256.")
st.caption(note.format(seeds=many.seeds))
left, right = st.columns(2)
with left:
    figures.show(figures.kl_curve(_, history, many), "kl")
    figures.show(figures.target_curves(_, history, many), "target")
with right:
    figures.show(figures.reward_curves(_, history, many), "reward")
    figures.show(figures.entropy_curve(_, history, many), "entropy")
figures.show(figures.probability_heatmap(_, history), "heatmap")


kl_coef = page.config.kl_coef
other_kl_coef = 2 * kl_coef + 0.2 if kl_coef < 0.9 else kl_coef / 4


def answer() -> tuple[int, str]:
    before = many.mean_kl[1, -1].item()
    after = bands(page.task, replace(page.config, kl_coef=other_kl_coef)).mean_kl[1, -1].item()
    right = 0 if after < before - 0.01 else 2 if after > before + 0.01 else 1
    text = _("Median KL at the end over {seeds} seeds: {before:.3f} now, {after:.3f} with the other coefficient.")
    return right, text.format(seeds=many.seeds, before=before, after=after)


ask(
    page,
    _("Suppose kl_coef goes from {now:g} to {then:g}. The KL at the end of the run will be").format(
        now=kl_coef, then=other_kl_coef
    ),
    [_("lower"), _("about the same"), _("higher")],
    answer,
)

st.markdown(page.prose("formula"))
with st.expander(_("What real frameworks do")):
    st.markdown(page.prose("frameworks"))
st.subheader(_("Take it with you"), anchor=False)
draw_downloads(
    _, history, lambda: handout(history, player_texts(_), band=many, title=_("Training run"), lang=page.lang)
)
