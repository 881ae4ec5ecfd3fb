"""Plotly figures of a finished run. A figure only draws: it neither trains nor computes a formula.

Every function takes `_`, the visitor's gettext, and returns the figure and its alt text.
"""

import re

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from grpo_core import Bands, TrainingHistory
from ui.labels import labels

POSITIVE = "#0072B2"
NEGATIVE = "#D55E00"
GREY = "#8A94A0"
_PROPERTIES = r"__\w+__|constructor|hasOwnProperty|isPrototypeOf|propertyIsEnumerable|to(Locale)?String|valueOf"
"""What every JavaScript object has already."""
DASHES = ("solid", "dash", "dot", "dashdot")


def is_dark() -> bool:
    return st.context.theme.type == "dark"


def kl_color() -> str:
    return "#B98AD9" if is_dark() else "#7B3FA0"


def scale() -> list[list]:
    """One sequential scale for probability, from the background to blue."""
    return [[0, "#10151C"], [1, "#2678B2"]] if is_dark() else [[0, "#FFFFFF"], [1, POSITIVE]]


def line_colors() -> tuple[str, ...]:
    return ("#56B4E9", "#E69F00", "#4FC3A1") if is_dark() else (POSITIVE, "#B35900", "#00785A")


def kl_curve(_, history: TrainingHistory, bands: Bands):
    values = history.mean_kl[0]
    end = values[-1].item()
    figure = _figure(_, _("KL: how far the policy has gone"), _("KL (nats)"))
    _band(_, figure, bands.mean_kl, bands.seeds, kl_color())
    _line(figure, values, kl_color(), _("this seed"))
    return figure, _("KL from 0 to {end:.3f} nats over the run.").format(end=end)


def reward_curves(_, history: TrainingHistory, bands: Bands):
    colors = line_colors()
    figure = _figure(_, _("Reward: sampled, and of the likeliest answer"), _("reward"))
    _band(_, figure, bands.mean_reward, bands.seeds, colors[0], start=1)
    _band(_, figure, bands.greedy_reward, bands.seeds, colors[1], median=False)
    _line(figure, history.mean_reward[0], colors[0], _("mean reward of the samples"), start=1)
    _line(figure, history.greedy_reward[0], colors[1], _("greedy reward"), dash="dash")
    within = history.task.rewards.min() >= 0 and history.task.rewards.max() <= 1
    figure.update_yaxes(range=[-0.05, 1.05] if within else None)
    text = _("Mean reward from {start:.3f} to {end:.3f}.")
    rewards = history.mean_reward[0]
    return figure, text.format(start=rewards[0].item(), end=rewards[-1].item())


def target_curves(_, history: TrainingHistory, bands: Bands):
    figure = _figure(_, _("Every prompt climbs to its own target"), _("probability"))
    values = history.target_probabilities[0]
    for index, prompt in enumerate(names(history.task.prompts)):
        color = line_colors()[index % 3]
        if values.shape[1] <= 4:  # more bands would only cover each other
            _band(_, figure, bands.target_probabilities[..., index], bands.seeds, color, median=False)
        _line(figure, values[:, index], color, prompt, dash=DASHES[index % 4])
    figure.update_layout(height=330 + 18 * max(0, values.shape[1] - 3))  # the legend takes a line each on a phone
    figure.update_yaxes(range=[-0.02, 1.02])
    text = _("Mean target probability from {start:.3f} to {end:.3f}.")
    return figure, text.format(start=values[0].mean().item(), end=values[-1].mean().item())


def entropy_curve(_, history: TrainingHistory, bands: Bands):
    color = line_colors()[2]
    values = history.entropy[0]
    figure = _figure(_, _("Entropy: the policy makes up its mind"), _("entropy (nats)"))
    _band(_, figure, bands.entropy, bands.seeds, color)
    _line(figure, values, color, _("this seed"))
    figure.update_yaxes(rangemode="tozero")
    text = _("Entropy from {start:.3f} to {end:.3f} nats.")
    return figure, text.format(start=values[0].item(), end=values[-1].item())


def probability_heatmap(_, history: TrainingHistory, bands: Bands):
    """All prompts x actions over all epochs of one seed; a row a pair, the target pairs marked."""
    task = history.task
    table = history.probabilities[0].flatten(1).T.float().numpy()
    limit = 24 if max(map(len, task.prompts)) + max(map(len, task.actions)) <= 40 else 11
    rows = [
        f"{prompt} → {action}" + (" ★" if hit else "")
        for prompt, hits in zip(names(task.prompts, limit), task.is_target.tolist(), strict=True)
        for action, hit in zip(names(task.actions, limit), hits, strict=True)
    ]
    figure = _figure(_, _("Every probability over the run (★ target)"), None)
    figure.add_trace(
        go.Heatmap(
            z=table, y=rows, x0=0, dx=1, zmin=0, zmax=1, colorscale=scale(), ygap=2,
            colorbar={"title": {"text": _("probability")}, "thickness": 12},
            hovertemplate="%{y}<br>" + _("after epoch") + " %{x}: %{z:.3f}<extra></extra>",
        )
    )  # fmt: skip
    figure.update_layout(height=90 + (30 if len(rows) <= 12 else 16) * len(rows))
    figure.update_yaxes(type="category", autorange="reversed", title=None)
    ends = history.target_probabilities[0, -1].tolist()
    text = _("At the end the targets have the probabilities {ends}.")
    return figure, text.format(ends=", ".join(f"{end:.2f}" for end in ends))


def learning_curves(_, history: TrainingHistory, bands: Bands, right):
    """Mean reward, and the probability of the answers that are right: they part where a rule leaks."""
    share = right_share(history, right)
    hacked = share[-1] < share[0] and history.mean_reward[0, -1] > history.mean_reward[0, 0]
    title = _("The reward rises, the right answers vanish") if hacked else _("Reward and right answers over the run")
    figure = _figure(_, title, _("reward, probability"))
    blue, orange, _green = line_colors()
    _band(_, figure, bands.mean_reward, bands.seeds, blue, start=1, median=False)
    _line(figure, history.mean_reward[0], blue, _("mean reward of the samples"), start=1)
    _line(figure, share, orange, _("probability of the right answers"), dash="dash")
    alt = _("Right answers from {start:.3f} to {end:.3f}, mean reward from {first:.3f} to {last:.3f}.")
    rewards = history.mean_reward[0]
    return figure, alt.format(
        start=share[0].item(), end=share[-1].item(), first=rewards[0].item(), last=rewards[-1].item()
    )


def right_share(history: TrainingHistory, right):
    """[E+1] probability of the right answers, the mean over prompts, of the seed on screen."""
    return (history.probabilities[0] * right).sum(-1).mean(-1)


RUN_CURVES = {
    "target": target_curves,
    "kl": kl_curve,
    "reward": reward_curves,
    "entropy": entropy_curve,
    "heatmap": probability_heatmap,
}


def show(drawn: tuple[go.Figure, str], key: str) -> None:
    figure, alt = drawn
    st.plotly_chart(figure, key=key, alt=alt, config={"displayModeBar": False})


def blank(title: str, unit: str | None, across: str) -> go.Figure:
    """An empty figure in the app's layout, with the names of its axes."""
    return go.Figure(
        layout={
            "title": {"text": title, "font": {"size": 15}, "x": 0},
            "height": 330,
            "margin": {"l": 10, "r": 10, "t": 44, "b": 10},
            "hovermode": "closest",
            "legend": {"orientation": "h", "y": -0.28, "yanchor": "top", "x": 0},
            "xaxis": {"title": {"text": across}, "showgrid": False},
            "yaxis": {"title": {"text": unit}, "automargin": True, "zeroline": False, "exponentformat": "power"},
        }
    )


def _figure(_, title: str, unit: str | None) -> go.Figure:
    return blank(title, unit, _("epochs of training"))


def _line(figure, values, color: str, name: str, dash: str = "solid", start: int = 0) -> None:
    figure.add_trace(
        go.Scatter(
            y=values.float().numpy(), x0=start, dx=1, name=name, mode="lines",
            line={"color": color, "width": 2.5, "dash": dash},
            hovertemplate="%{x}: %{y:.3f}<extra>%{fullData.name}</extra>",
        )
    )  # fmt: skip


def _band(_, figure, quantiles, seeds: int, color: str, start: int = 0, median: bool = True) -> None:
    low, middle, high = quantiles.float().numpy()
    x = np.arange(start, start + len(low), dtype=np.int16)
    figure.add_trace(
        go.Scatter(
            x=np.concatenate([x, x[::-1]]), y=np.concatenate([high, low[::-1]]), fill="toself",
            fillcolor=faint(color), line={"width": 0}, hoverinfo="skip", showlegend=False, mode="lines",
        )
    )  # fmt: skip
    if median:
        figure.add_trace(
            go.Scatter(
                y=middle, x0=start, dx=1, mode="lines", line={"color": color, "width": 1, "dash": "dot"},
                name=_("median of {seeds} seeds").format(seeds=seeds), hoverinfo="skip",
            )
        )  # fmt: skip


def faint(color: str) -> str:
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.15)"


def names(texts, limit: int = 24) -> list[str]:
    """Prompts or actions as short names for axes and legends."""
    return [plain(text) for text in labels(texts, limit)]


def plain(text: str) -> str:
    """Plotly reads a little HTML in labels, and keeps categories in an object: a visitor's text must stay text."""
    if re.fullmatch(_PROPERTIES, text):
        text = "\N{WORD JOINER}" + text
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
