"""One group: a reward only means something next to its group's."""

import streamlit as st

from grpo_core import group_advantages, one_update
from ui import figures, group_figures
from ui.frame import open_page
from ui.group_picker import choose_group
from ui.numbers import number, signed, tex
from ui.question import ask
from ui.update_steps import advantage_formula

page = open_page("one_group")
_ = page.gettext

st.markdown(page.prose("intro"))
choose_group(page)
update = one_update(page.task, page.config, draw=page.draw, prompt=page.prompt, rewards=page.rewards)
group = update.group
rewards, advantages = group.rewards[page.prompt], group.advantages[page.prompt]
mean, std = group.mean[page.prompt].item(), group.std[page.prompt].item()

left, right = st.columns(2)
with left:
    figures.show(group_figures.reward_bars(page, update), "rewards")
with right:
    figures.show(group_figures.advantage_bars(page, update), "advantages")

if group.silent[page.prompt]:
    st.info(page.prose("silent"), icon=":material/volume_off:")

st.subheader(_("The formula, in symbols and with this group's numbers"), anchor=False)
best = int(rewards.argmax())
st.latex(r"A_i = \frac{r_i - \text{mean}(r)}{\text{std}(r) + \epsilon}")
if group.silent[page.prompt]:
    st.latex(rf"r_1 = \dots = r_{{{len(rewards)}}} = {tex(number(rewards[0].item()))} \;\Rightarrow\; A_i = 0")
else:
    st.latex(advantage_formula(best + 1, rewards[best].item(), mean, std, page.config.epsilon, advantages[best].item()))

divisor = "G" if page.config.ddof == 0 else "G - 1"
st.caption(_("The std divides by {divisor}; epsilon and the divisor are under Advanced.").format(divisor=divisor))

st.subheader(_("The reward table"), anchor=False)
st.dataframe(
    {
        _("sample"): group_figures.sample_labels(page, update),
        _("reward"): [number(value) for value in rewards.tolist()],
        _("reward − mean"): [signed(value, 3, std) for value in (rewards - mean).tolist()],
        _("advantage"): [signed(value, 3) for value in advantages.tolist()],
    },
    hide_index=True,
    alt=_("Reward and advantage of every sample of the group."),
)


def answer() -> tuple[int, str]:
    doubled = group_advantages(rewards * 2, page.config.ddof, page.config.epsilon)
    before, after = advantages.abs().max().item(), doubled.abs().max().item()
    right = 0 if after > 1.01 * before else 1
    text = _(
        "Rewards and std double together, only epsilon does not: the largest advantage is {before:.3f} now, {after:.3f} then."
    )
    return right, text.format(before=before, after=after)


ask(
    page,
    _("Suppose every reward of this group is doubled. The advantages will"),
    [_("grow"), _("stay as they are"), _("shrink")],
    answer,
)
with st.expander(_("What real frameworks do")):
    st.markdown(page.prose("frameworks"))
