"""What each method needs and what a run of it costs, as a table of texts."""

import streamlit as st

from grpo_core import TrainConfig
from grpo_core.messages import N_
from grpo_core.method_bands import MethodBands
from ui.method_figures import NAMES

_COMPARED = {
    "reward": N_("nothing"),
    "baseline": N_("the prompt's mean reward so far"),
    "value": N_("a learned value of the prompt"),
    "group": N_("the mean of its group"),
    None: N_("the other answer of its pair"),
}


def draw_tables(_, config: TrainConfig, runs: dict[str, MethodBands]) -> None:
    """Three methods a table: more columns do not fit a phone."""
    names = list(runs)
    for start in range(0, len(names), 3):
        table = method_table(_, config, {name: runs[name] for name in names[start : start + 3]})
        st.table(table, hide_index=True, alt=_("Samples, updates, value model, pairs and reference of every method."))


def method_table(_, config: TrainConfig, runs: dict[str, MethodBands]) -> dict[str, list[str]]:
    """A column a method, a row a need; the numbers are this run's, medians over the seeds."""
    rows = [_("online samples"), _("samples drawn"), _("a reward is compared with"), _("updates per rollout"),
            _("updates in the run"), _("clip"), _("value model"), _("extra parameters"), _("preference pairs"),
            _("reference policy"), _("expected reward at the end"), _("KL at the end")]  # fmt: skip
    columns = {_(NAMES[name]): _column(_, config, run) for name, run in runs.items()}
    return {_("what it needs"): rows, **columns}


def _column(_, config: TrainConfig, run: MethodBands) -> list[str]:
    method, drawn = run.method, int(run.samples_used[-1])
    offline = method.pairs is not None
    yes, no = _("yes"), _("no")
    pairs = _("{kept:g} of {drawn}, the rest are ties").format(kept=run.pairs_kept, drawn=drawn // 2)
    leash = _("for the KL") if config.kl_coef else _("no, kl_coef is 0")
    return [
        no if offline else yes,
        _("{count}, all before training").format(count=drawn) if offline and drawn else str(drawn),
        _(_COMPARED[method.advantage]),
        _("one fixed data set") if offline else str(method.inner_epochs),
        str(config.epochs * method.inner_epochs),
        _("none") if method.clip is None else f"{method.clip:g}",
        yes if run.extra_parameters else no,
        _("{count}, one a prompt").format(count=run.extra_parameters) if run.extra_parameters else "0",
        no if not offline else _("no pairs") if not run.pairs_kept else pairs,
        _("in the loss") if offline else leash,
        f"{run.mean_reward[1, -1].item():.3f}",
        f"{run.mean_kl[1, -1].item():.3f}",
    ]
