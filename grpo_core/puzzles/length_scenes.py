"""Scenes about answers of unequal length: who gets which weight."""

import torch

from grpo_core.config import TrainConfig
from grpo_core.frameworks import from_verl
from grpo_core.messages import N_
from grpo_core.puzzles.puzzle import Chart, Scene, Series, Table, number

SHORT = 2
MODES = ("seq-mean-token-mean", "token-mean", "seq-mean-token-sum")
CONSTANT = 64
"""Dr. GRPO's divisor, a constant of the run: verl's loss_scale_factor."""


def token_pushes(settings: dict, length: int, advantages) -> tuple[float, float]:
    """-dLoss/d(log π) of one token of a short and of a long answer with these advantages, on-policy."""
    log_prob = torch.full((2, length), -1.0, dtype=torch.float64, requires_grad=True)
    mask = (torch.arange(length) < torch.tensor([[SHORT], [length]])).double()
    loss = from_verl(settings).loss(log_prob, None, None, mask, advantages).value
    gradient = -torch.autograd.grad(loss, log_prob)[0]
    return number(gradient[0, 0]), number(gradient[1, 0])


def token_or_sequence_mean(_config: TrainConfig, length: int) -> Scene:
    weights = {mode: token_pushes({"loss_agg_mode": mode}, length, [1.0, 1.0]) for mode in MODES}
    grpo, dapo, _sums = weights.values()
    told = {
        "length": length, "short_length": SHORT, "short": grpo[0], "long": grpo[1], "token": dapo[0],
        "times": grpo[0] / grpo[1], "share": length * dapo[1] / (SHORT * dapo[0] + length * dapo[1]),
    }  # fmt: skip
    chart = Chart(
        N_("The weight of one token"), "loss_agg_mode", N_("weight of one token"), MODES[:2],
        (
            Series(N_("token of the answer with {short_length} tokens"), (grpo[0], dapo[0])),
            Series(N_("token of the answer with {length} tokens"), (grpo[1], dapo[1]), "second"),
        ),
        N_("seq-mean-token-mean: {short:.4f} and {long:.4f}. token-mean: {token:.4f} each."), "bars",
    )  # fmt: skip
    table = Table(
        ("loss_agg_mode", N_("short: whole answer"), N_("long: whole answer")),
        tuple((mode, SHORT * short, length * long) for mode, (short, long) in weights.items()),
        N_("With token-mean the long answer has {share:.0%} of the weight."),
    )  # fmt: skip
    formulas = (
        rf"\frac12 \cdot \frac1{{{SHORT}}} = {grpo[0]:.4f}, \quad \frac12 \cdot \frac1{{{length}}} = {grpo[1]:.4f}",
        rf"\frac{{1}}{{{SHORT} + {length}}} = {dapo[0]:.4f}",
    )
    return Scene(told, (chart,), table, formulas)


def dr_grpo(_config: TrainConfig, length: int) -> Scene:
    """A short right and a long wrong answer of one group, as the std flag and the aggregation change."""
    sums = {"loss_agg_mode": "seq-mean-token-sum-norm", "global_batch_info": {"loss_scale_factor": CONSTANT}}
    cases = {
        N_("GRPO of the paper"): (True, {"loss_agg_mode": "seq-mean-token-mean"}),
        N_("std off, seq-mean-token-mean"): (False, {"loss_agg_mode": "seq-mean-token-mean"}),
        N_("std off, token-mean"): (False, {"loss_agg_mode": "token-mean"}),
        N_("Dr. GRPO: std off, seq-mean-token-sum-norm"): (False, sums),
    }
    advantages, pushes = {}, {}
    for name, (by_std, settings) in cases.items():
        estimator = from_verl({"adv_estimator": "grpo", "norm_adv_by_std_in_grpo": by_std})
        found = estimator.advantages([[1.0, 0.0]])[0]
        advantages[name] = number(found[0])
        pushes[name] = token_pushes(settings, length, found)
    paper, off, mean, both = cases
    told = {
        "length": length, "short_length": SHORT, "with_std": advantages[paper], "without_std": advantages[off],
        "times": -pushes[off][0] / pushes[off][1], "mean": pushes[mean][0], "sum": pushes[both][0],
        "constant": CONSTANT, "tokens": SHORT + length,
    }  # fmt: skip
    chart = Chart(
        N_("Only a new aggregation makes tokens equal"), N_("setting"), N_("push on one token"), ("1", "2", "3", "4"),
        (
            Series(N_("right answer, {short_length} tokens"), tuple(push[0] for push in pushes.values()), "positive"),
            Series(N_("wrong answer, {length} tokens"), tuple(push[1] for push in pushes.values()), "negative"),
        ),
        N_("Std off: right and wrong tokens differ {times:g} times; Dr. GRPO: ±{sum:.4f}."), "bars",
    )  # fmt: skip
    table = Table(
        ("", N_("setting"), N_("advantage"), N_("right token"), N_("wrong token")),
        tuple((str(i), name, advantages[name], *pushes[name]) for i, name in enumerate(cases, 1)),
        N_("Std off: right and wrong tokens differ {times:g} times; Dr. GRPO: ±{sum:.4f}."), digits=4,
    )  # fmt: skip
    return Scene(told, (chart,), table)
