"""Training run: the whole run, epoch by epoch."""

from dataclasses import replace
from itertools import cycle

import streamlit as st

from grpo_core import findings
from ui import figures, links
from ui.downloads import draw_downloads
from ui.frame import choose, open_page
from ui.i18n import say
from ui.player import handout, player, player_texts
from ui.question import ask
from ui.runs import bands, run

ICONS = {True: ":material/check_circle:", False: ":material/error:"}

page = open_page("training_run")
_ = page.gettext
history = run(page.task, page.config)
many = bands(page.task, page.config)

st.markdown(page.prose("intro"))
player(
    history, player_texts(_), band=many, prompt=page.prompt, on_prompt=lambda index: links.change("prompt", index + 1)
)

if many.seeds < 256:
    st.caption(_("The run is large, so the bands are over fewer seeds than 256."))

st.subheader(_("Did it go as it should?"), anchor=False)
st.markdown("\n\n".join(f"{ICONS[line.sensible]} {say(_, line.message)}" for line in findings(history)))

st.subheader(_("A closer look"), anchor=False)
st.caption(_("One curve large: hover for the numbers, drag to zoom, double-click to go back."))
choose("curve", _("Curve"), {name: _(label) for name, label in links.CURVES.items()}, required=False)
curve = links.settings()["curve"]
if curve == "all":
    for place, name in zip(cycle(st.columns(2)), figures.RUN_CURVES, strict=False):
        with place:
            figures.show(figures.RUN_CURVES[name](_, history, many), name)
elif curve:
    figures.show(figures.RUN_CURVES[curve](_, history, many), "curve")


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
