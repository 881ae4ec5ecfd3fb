"""Plotly figures of silent groups: the expected push, groups against prompts, dynamic sampling."""

import numpy as np
import torch

from grpo_core import expected_push, silent_probability
from ui.figures import POSITIVE, blank, faint, line_colors
from ui.numbers import signed

GREY = "#8A94A0"
P = np.linspace(0, 1, 101)
SIZES = (2, 4, 8, 16, 32, 64)
DIFFICULTIES = (0.05, 0.2, 0.5)
BUDGET = 64


def push_curves(_, group_size: int, places: list[float]):
    """Expected push on the right answer's logit over its probability; `places` are the prompts' own."""
    figure = blank(
        _("The std lifts the extremes; hard prompts starve first"),
        _("expected push"),
        _("probability of the right answer"),
    )
    lines = (
        (_("with std"), expected_push(P, group_size), POSITIVE, "solid"),
        (_("without std"), expected_push(P, group_size, "none"), line_colors()[1], "dash"),
        (_("REINFORCE, no baseline"), P * (1 - P), line_colors()[2], "dot"),
        (_("with std, endless group"), np.sqrt(P * (1 - P)), GREY, "dashdot"),
    )
    for name, values, color, dash in lines:
        figure.add_scatter(
            x=P, y=values, mode="lines", name=name, line={"color": color, "dash": dash, "width": 2.5},
            hovertemplate=f"{name}<br>p %{{x:.2f}}: %{{y:.4f}}<extra></extra>",
        )  # fmt: skip
    figure.add_scatter(
        x=places, y=expected_push(np.array(places), group_size), mode="markers", name=_("this run's prompts at the end"),
        marker={"color": POSITIVE, "size": 10, "line": {"width": 2, "color": "#FFFFFF"}},
        hovertemplate="p %{x:.3f}: %{y:.4f}<extra></extra>",
    )  # fmt: skip
    figure.update_layout(height=400)
    with_std, without = expected_push(0.05, group_size), expected_push(0.05, group_size, "none")
    alt = _("At p = 0.05 the expected push is {with_std:.4f} with the std and {without:.4f} without it.")
    return figure, alt.format(with_std=with_std, without=without)


def prompts_with_signal(_, group_size: int):
    """The share of prompts that get any signal, over the group size."""
    figure = blank(_("Larger groups reach hard prompts"), _("share of groups with a signal"), _("group size"))
    for i, p in enumerate(DIFFICULTIES):
        heard = 1 - silent_probability(p, np.array(SIZES))
        _over_sizes(figure, i, heard, p, "1 − %{customdata:.3f} = %{y:.3f}", 1 - heard)
    figure.update_yaxes(range=[0, 1.05])
    here = 1 - silent_probability(DIFFICULTIES[0], group_size)
    return figure, _("At p = 0.05 a group of {size} has a signal with probability {share:.2f}.").format(
        size=group_size, share=here
    )


def signals_of_a_budget(_):
    """Groups with a signal when the number of samples is fixed: small groups mean more prompts."""
    title = _("{budget} samples: more prompts, more signals").format(budget=BUDGET)
    figure = blank(title, _("expected groups with a signal"), _("group size"))
    for i, p in enumerate(DIFFICULTIES):
        groups = BUDGET / np.array(SIZES)
        signals = groups * (1 - silent_probability(p, np.array(SIZES)))
        _over_sizes(figure, i, signals, p, "%{customdata:.0f} · P = %{y:.2f}", groups)
    figure.update_yaxes(rangemode="tozero")
    low, high = (BUDGET / size * (1 - silent_probability(0.5, size)) for size in (SIZES[-1], SIZES[0]))
    return figure, _("At p = 0.5 it is {high:.1f} groups with groups of 2 and {low:.1f} with one of 64.").format(
        high=high, low=low
    )


def sampling_cost(_, runs: dict[str, tuple[torch.Tensor, torch.Tensor]]):
    """Target probability against samples drawn; name -> (mean samples [E+1], target probability [S, E+1])."""
    figure = blank(_("What dynamic sampling buys for its samples"), _("target probability"), _("samples drawn"))
    for i, (name, (samples, target)) in enumerate(runs.items()):
        color = line_colors()[i]
        low, middle, high = (torch.quantile(target, level, dim=0).numpy() for level in (0.05, 0.5, 0.95))
        x = samples.numpy()
        figure.add_scatter(
            x=np.concatenate([x, x[::-1]]), y=np.concatenate([high, low[::-1]]), fill="toself", fillcolor=faint(color),
            line={"width": 0}, hoverinfo="skip", showlegend=False, mode="lines",
        )  # fmt: skip
        figure.add_scatter(
            x=x, y=middle, mode="lines", name=name, line={"color": color, "width": 2.5, "dash": ("solid", "dash")[i]},
            hovertemplate="%{x:.0f}: %{y:.3f}<extra></extra>",
        )  # fmt: skip
    figure.update_yaxes(range=[0, 1.05])
    ends = ", ".join(f"{name} {target[:, -1].median().item():.3f}" for name, (_samples, target) in runs.items())
    return figure, _("Median target probability at the end: {ends}.").format(ends=ends)


def noise_table(_, rows: list[tuple[str, float]]) -> dict[str, list[str]]:
    return {
        _("formula"): [name for name, _value in rows],
        _("advantage of each answer"): [signed(value, 6) for _name, value in rows],
    }


def _over_sizes(figure, i: int, values, p: float, hover: str, data) -> None:
    figure.add_scatter(
        x=SIZES, y=values, customdata=data, mode="lines+markers", name=f"p = {p:g}",
        line={"color": line_colors()[i], "dash": ("solid", "dash", "dot")[i], "width": 2.5},
        hovertemplate=f"G %{{x}}, p {p:g}<br>{hover}<extra></extra>",
    )  # fmt: skip
    figure.update_xaxes(type="log", tickvals=SIZES)
