"""KL leash: what kl_coef buys and costs, and where the policy comes to rest."""

import numpy as np
import streamlit as st

from grpo_core import (
    categorical_kl,
    estimate_kl,
    estimator_moments,
    kl_and_reward,
    kl_loss_gradient,
    resting_probability,
    textbook_frontier,
    textbook_probability,
)
from grpo_core.kl import ESTIMATORS
from ui import figures, leash_figures, leash_formulas, links
from ui.frame import choose, choose_prompt, open_page
from ui.question import ask
from ui.runs import leashes, predicted_rest, rest, run

SWEEP = (0.0, 0.3, 0.5, 1.0, 2.0)
MEASURED = (0.5, 0.75, 1.0, 1.5, 2.0)
COUNTS = (4 ** np.arange(6)).tolist()
PREDICTED = tuple(np.linspace(0.45, 2, 63).tolist())
FRONTIER = np.geomspace(0.05, 50, 60).tolist()
STEPS = {
    "SGD 0.05": {},
    "SGD 0.5": {"learning_rate": 0.5, "epochs": 2_000},
    "Adam 0.1": {"learning_rate": 0.1, "optimizer": "adam", "epochs": 2_000},
}

page = open_page("kl_leash")
_ = page.gettext
task, config = page.task, page.config

st.markdown(page.prose("intro"))
choose_prompt(page)
kl_coefs = tuple(sorted({*SWEEP, config.kl_coef}))
policies = leashes(task, config, kl_coefs)
kl, reward = kl_and_reward(task, policies[:, :, -1])
frontier = textbook_frontier(task, FRONTIER)
left, right = st.columns(2)
with left:
    figures.show(leash_figures.tradeoff(_, kl_coefs, kl, reward, frontier, config.kl_coef), "tradeoff")
with right:
    names, order = leash_figures.corners(_, task, page.prompt)
    paths = leash_figures.in_corners(policies[:, 0, :, page.prompt], order)
    reference = leash_figures.in_corners(task.reference_policy[page.prompt], order)
    figures.show(leash_figures.simplex(_, names, kl_coefs, paths, reference, config.kl_coef), "simplex")
st.markdown(page.prose("tradeoff"))

st.subheader(_("Where it comes to rest"), anchor=False)
st.markdown(page.prose("rest"))
choose(
    "reference",
    _("Probability of the target under the reference"),
    {text: text for text in links.REFERENCES},
    hidden=False,
)
start, group_size = links.REFERENCES[links.settings()["reference"]], config.group_size
scales = {_("with std"): "std", _("without std"): "none"}
predicted = {name: (PREDICTED, *predicted_rest(PREDICTED, group_size, scale, start)) for name, scale in scales.items()}
with st.spinner(_("Training until it rests …")):
    measured = {name: (MEASURED, *rest(MEASURED, group_size, scale, start)) for name, scale in scales.items()}
    steps = {name: rest((1.0,), group_size, "std", start, **step).probability.item() for name, step in STEPS.items()}
textbook = (PREDICTED, textbook_probability(PREDICTED, start))
figures.show(leash_figures.resting(_, predicted, textbook, measured, start), "rest")
leash_formulas.draw_resting_equation(config.kl_coef if config.kl_coef >= MEASURED[0] else 1.0, group_size, start)
st.markdown(page.prose("textbook"))
st.dataframe(
    {
        _("step"): list(steps),
        _("measured at kl_coef 1"): [f"{value:.3f}" for value in steps.values()],
        _("predicted"): [f"{resting_probability(1.0, group_size, 'std', start):.3f}"] * len(steps),
    },
    hide_index=True,
    alt=_("Where each step rests, and the prediction for small ones."),
)
small, *larger = steps.values()
further = _("Here the larger steps rest further from the reference.")
nearer = _("Here the larger steps rest nearer the reference.")
if all(value > small for value in larger) or all(value < small for value in larger):
    st.caption(further if larger[0] > small else nearer)


def answer() -> tuple[int, str]:
    with_std, without = (resting_probability(1.0, group_size, scale, start) for scale in ("std", "none"))
    text = _("With kl_coef 1 it rests at {with_std:.3f} with the std and at {without:.3f} without it.")
    right = 1 if abs(with_std - without) < 5e-4 else 0 if without < with_std else 2
    return right, text.format(with_std=with_std, without=without)


ask(
    page,
    _("Suppose the advantages are no longer divided by the std (Dr. GRPO). At kl_coef 1 the policy will rest"),
    [_("nearer the reference"), _("at the same point"), _("further from the reference")],
    answer,
)

st.subheader(_("How far is it? Exact KL and its estimates"), anchor=False)
st.markdown(page.prose("estimates"))
policy = run(task, config).probabilities[0, -1, page.prompt]
ref = task.reference_policy[page.prompt]
exact = categorical_kl(policy, ref).item()
values = {kind: estimate_kl((policy / ref).log(), kind).tolist() for kind in ESTIMATORS}
moments = {
    kind: [tuple(part.item() for part in estimator_moments(policy, ref, kind, count)) for count in COUNTS]
    for kind in ESTIMATORS
}
gradients = {kind: kl_loss_gradient(policy, ref, kind).tolist() for kind in ("exact", *ESTIMATORS)}
first, second, third = st.columns(3)
with first:
    figures.show(leash_figures.estimates(_, task.actions, policy.tolist(), values, exact), "estimates")
with second:
    figures.show(leash_figures.estimate_means(_, COUNTS, moments, exact), "means")
with third:
    figures.show(leash_figures.leash_gradients(_, task.actions, gradients), "gradients")
leash_formulas.draw_estimates(policy, ref)
st.markdown(page.prose("gradients"))
with st.expander(_("What real frameworks do")):
    st.markdown(page.prose("frameworks"))
