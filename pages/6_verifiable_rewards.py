"""Verifiable rewards: the rule can be anything that can be checked."""

import streamlit as st

from grpo_core import BanditTask, FieldError
from grpo_core.tasks import MAX_TARGET, rule_part
from grpo_core.verifiers import RULES, WORKED_EXAMPLES
from ui import figures, links, rule_figures
from ui.frame import PAGES, choose_prompt, open_page
from ui.i18n import escape, say
from ui.labels import labels
from ui.numbers import number
from ui.question import ask
from ui.rule_tables import mark, show_examples, show_verdicts, written
from ui.runs import bands, run
from ui.task_editor import choose_task, draw_task_files, edit_task

page = open_page("verifiable_rewards")
_ = page.gettext
task = page.rule_task
history = run(page.task, page.config)

st.markdown(page.prose("intro"))
choose_task(page)
if task.truth:
    st.warning(page.prose("leaky"), icon=":material/report:")

left, right = st.columns(2)
with left:
    figures.show(rule_figures.reward_table(_, task), "rewards")
with right:
    many = bands(page.task, page.config)
    figures.show(figures.learning_curves(_, history, many, task.is_right), "learning")

rewards, share = history.mean_reward[0].tolist(), figures.right_share(history, task.is_right).tolist()
reward, accuracy, link = st.columns(3, vertical_alignment="center")
reward.metric(_("mean reward, first → last epoch"), f"{rewards[0]:.2f} → {rewards[-1]:.2f}")
accuracy.metric(_("probability of the right answers"), f"{share[0]:.2f} → {share[-1]:.2f}")
path, _title, icon = PAGES["training_run"]
link.page_link(path, label=_("Watch it epoch by epoch"), icon=icon, query_params=links.query_params("training_run"))

silent = [
    label for label, row in zip(labels(task.prompts, 60), page.task.rewards, strict=True) if row.max() == row.min()
]
if silent:
    text = _("All answers get the same reward here, so every group is silent and nothing is learned: {prompts}")
    st.info(escape(text.format(prompts=" · ".join(silent)), limit=1000), icon=":material/volume_off:")

st.subheader(_("Why each answer passes or fails"), anchor=False)
choose_prompt(page)
show_verdicts(page, task, page.prompt)


def answer() -> tuple[int, str]:
    generous = run(BanditTask(task.prompts, task.answers, page.task.rewards + 1), page.config)
    before, after = history.target_probability[0, -1].item(), generous.target_probability[0, -1].item()
    verdict = 0 if after < before - 0.01 else 2 if after > before + 0.01 else 1
    text = _(
        "Only differences within the group count: the best answers end at {before:.3f} now and at {after:.3f} with the bonus."
    )
    return verdict, text.format(before=before, after=after)


ask(
    page,
    _(
        "Suppose the rules gave every answer one point more, right or wrong. At the end, the best answers' probability is"
    ),
    [_("lower"), _("about the same"), _("higher")],
    answer,
)

st.subheader(_("Make it your own"), anchor=False)
st.markdown(page.prose("own"))
edit_task(page)
draw_task_files(page)

st.subheader(_("Try a rule"), anchor=False)
name = st.segmented_control(_("Rule"), list(RULES), default="exact_match", required=True, key="try_rule")
example_target, example_answer, _passes = WORKED_EXAMPLES[name][0]
target = st.text_area(
    _("Target"), written(example_target), key=f"try_target_{name}", max_chars=MAX_TARGET, height="content"
)
candidate = st.text_area(_("Answer"), example_answer, key=f"try_answer_{name}", max_chars=2000, height="content")
try:
    verdict = rule_part(name, target).made().check(candidate)
except FieldError as error:
    st.error(say(_, error.message))
else:
    shown = st.success if verdict.passed else st.info
    shown(
        _("{mark} reward {reward}").format(mark=mark(verdict), reward=number(verdict.reward))
        + ": "
        + say(_, verdict.reason)
    )

st.subheader(_("Every rule by example"), anchor=False)
show_examples(page)
with st.expander(_("What real frameworks do")):
    st.markdown(page.prose("frameworks"))
