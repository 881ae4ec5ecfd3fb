"""Plotly figures of silent groups: the expected push, groups against prompts, dynamic sampling."""

import numpy as np
import torch

from ui.figures import GREY, POSITIVE, blank, faint, line_colors
from ui.numbers import signed


def push_curves(_, p: np.ndarray, curves: dict[str, np.ndarray], dots: tuple[list, np.ndarray] | None):
    """Expected push on the right answer's logit over its probability p, a line a method, the first with std.

    dots: the prompts' probabilities and the push on each, where the rewards are right or wrong.
    """
    figure = blank(
        _("The std lifts the extremes"),
        _("expected push"),
        _("probability of the right answer"),
    )
    colors = (POSITIVE, *line_colors()[1:3], GREY)
    for (name, values), color, dash in zip(curves.items(), colors, ("solid", "dash", "dot", "dashdot"), strict=True):
        figure.add_scatter(
            x=p, y=values, mode="lines", name=name, line={"color": color, "dash": dash, "width": 2.5},
            hovertemplate=f"{name}<br>p %{{x:.2f}}: %{{y:.4f}}<extra></extra>",
        )  # fmt: skip
    if dots:
        figure.add_scatter(
            x=dots[0], y=dots[1], mode="markers", name=_("this run's prompts at the end"),
            marker={"color": POSITIVE, "size": 10, "line": {"width": 2, "color": "#FFFFFF"}},
            hovertemplate="p %{x:.3f}: %{y:.4f}<extra></extra>",
        )  # fmt: skip
    figure.update_layout(height=400)
    hard = int(np.abs(p - 0.05).argmin())
    pushes = ", ".join(f"{name} {values[hard]:.4f}" for name, values in curves.items())
    return figure, _("Expected push at p = {p:.2f}: {pushes}.").format(p=p[hard], pushes=pushes)


def prompts_with_signal(_, sizes: np.ndarray, heard: dict[float, np.ndarray]):
    """The share of groups with a signal over the group size, a line for each difficulty p."""
    figure = blank(_("Larger groups reach hard prompts"), _("share of groups with a signal"), _("group size"))
    for i, (p, share) in enumerate(heard.items()):
        _over_sizes(figure, i, sizes, share, p, "1 − %{customdata:.3f} = %{y:.3f}", 1 - share)
    figure.update_yaxes(range=[0, 1.05])
    (p, share), *_rest = heard.items()
    alt = _("At p = {p:g} a group of {small} has a signal with probability {low:.2f}, one of {large} with {high:.2f}.")
    return figure, alt.format(p=p, small=sizes[0], low=share[0], large=sizes[-1], high=share[-1])


def signals_of_a_budget(_, budget: int, sizes: np.ndarray, signals: dict[float, np.ndarray]):
    """Groups with a signal when the number of samples is fixed: small groups mean more prompts."""
    title = _("{budget} samples: more prompts, more signals").format(budget=budget)
    figure = blank(title, _("expected groups with a signal"), _("group size"))
    for i, (p, expected) in enumerate(signals.items()):
        _over_sizes(figure, i, sizes, expected, p, "%{customdata:.0f} · P = %{y:.2f}", budget / sizes)
    figure.update_yaxes(rangemode="tozero")
    p, expected = next(reversed(signals.items()))
    alt = _("At p = {p:g} it is {high:.1f} groups with groups of {small} and {low:.1f} with groups of {large}.")
    return figure, alt.format(p=p, high=expected[0], small=sizes[0], low=expected[-1], large=sizes[-1])


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


def _over_sizes(figure, i: int, sizes, values, p: float, hover: str, data) -> None:
    figure.add_scatter(
        x=sizes, y=values, customdata=data, mode="lines+markers", name=f"p = {p:g}",
        line={"color": line_colors()[i], "dash": ("solid", "dash", "dot")[i], "width": 2.5},
        hovertemplate=f"G %{{x}}, p {p:g}<br>{hover}<extra></extra>",
    )  # fmt: skip
    figure.update_xaxes(type="log", tickvals=sizes)
