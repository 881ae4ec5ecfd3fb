"""One update: what a group's advantages do to the policy."""

from dataclasses import replace

import streamlit as st

from grpo_core import one_update
from ui import figures, group_figures, links, update_steps
from ui.frame import open_page
from ui.group_picker import choose_group
from ui.numbers import signed
from ui.question import ask

page = open_page("one_update")
_ = page.gettext

st.markdown(page.prose("intro"))
choose_group(page)
update = one_update(page.task, page.config, draw=page.draw, prompt=page.prompt, rewards=page.rewards)

left, right = st.columns(2)
with left:
    figures.show(group_figures.policy_bars(page, update), "policy")
with right:
    figures.show(group_figures.gradient_bars(page, update), "gradient")

st.subheader(_("Step by step"), anchor=False)
step = links.settings()["step"]
back, where, forward = st.columns([1, 4, 1], vertical_alignment="center")
back.button(_("Back"), disabled=step == 1, on_click=links.change, args=("step", step - 1), width="stretch")
where.markdown(f"**{step} / {links.STEPS} · {_(update_steps.STEPS[step - 1])}**")
forward.button(
    _("Next"),
    disabled=step == links.STEPS,
    on_click=links.change,
    args=("step", step + 1),
    width="stretch",
    type="primary",
)
for formula in update_steps.formulas(page, update, step):
    st.latex(formula)

st.subheader(_("The loss and its two terms"), anchor=False)
total, policy, kl = st.columns(3)
total.metric(_("loss"), signed(update.loss.total.item(), 4))
policy.metric(_("policy term"), signed(update.loss.policy.item(), 4))
kl.metric(_("KL term"), signed(update.loss.kl.item(), 4))
norm = update.gradient.total.norm().item()
st.caption(_("Norm of the gradient over all prompts: {norm:.4f}.").format(norm=norm))
st.markdown(page.prose("zero"))


def answer() -> tuple[int, str]:
    smaller = replace(page.config, learning_rate=page.config.learning_rate / 2)
    half = one_update(page.task, smaller, draw=page.draw, prompt=page.prompt, rewards=page.rewards)
    before, after = update.logit_change.norm().item(), half.logit_change.norm().item()
    text = _("Length of the step in logits: {before:.4f} now, {after:.4f} with half the learning rate.")
    return (1 if after < before else 0), text.format(before=before, after=after)


ask(
    page,
    _("Suppose the learning rate is halved. The step of the logits will be"),
    [_("the same"), _("half as long"), _("a quarter as long")],
    answer,
)
with st.expander(_("What real frameworks do")):
    st.markdown(page.prose("frameworks"))
