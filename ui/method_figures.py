"""Plotly figures that compare the methods. A figure only draws what it is given."""

import math

import plotly.graph_objects as go
import torch

from grpo_core import BanditTask
from grpo_core.messages import N_
from grpo_core.method_bands import MethodBands
from ui.figures import GREY, POSITIVE, blank, faint, is_dark, line_colors, names

NAMES = {
    "PPO": N_("PPO"),
    "DPO": N_("DPO"),
    "GRPO": N_("GRPO"),
    "GRPO with clipping": N_("GRPO + clip"),
    "REINFORCE": N_("REINFORCE"),
    "REINFORCE with baseline": N_("REINFORCE + baseline"),
}
"""The presets of the core in the order of the page, with their names in a chart."""

_DASHES = {
    "PPO": "dash",
    "DPO": "dot",
    "GRPO": "solid",
    "GRPO with clipping": "longdashdot",
    "REINFORCE": "solid",
    "REINFORCE with baseline": "dashdot",
}


def color(name: str) -> str:
    """One colour a family, told apart within it by the dashes; purple and grey stay KL and reference."""
    blue, orange, green = line_colors()
    return {"PPO": orange, "DPO": green, "GRPO": blue, "GRPO with clipping": blue}.get(name, _text())


MAX_BARS = 18


def reward_chart(_, runs: dict[str, MethodBands]):
    """Expected reward of every method's policy, at the same budget of samples."""
    title = _("Expected reward: {samples} samples each").format(samples=_budget(runs))
    figure = _comparison(_, runs, "mean_reward", title, _("expected reward"))
    ends = _ends(_, runs, "mean_reward")
    return figure, _("Median expected reward at the end: {ends}.").format(ends=ends)


def kl_chart(_, runs: dict[str, MethodBands]):
    title = _("KL: how far each one went for it")
    figure = _comparison(_, runs, "mean_kl", title, _("KL to the reference (nats)"))
    return figure, _("Median KL at the end, in nats: {ends}.").format(ends=_ends(_, runs, "mean_kl"))


def pair_bars(_, task: BanditTask, pairs: torch.Tensor, chosen: int):
    """DPO's data of one seed, pairs [P, A, A] of (chosen, rejected): every two answers of every prompt, also those
    never compared. Of a large task only the prompt `chosen`.
    """
    labels, counts, answers = [], [], names(task.actions)
    small = len(task.prompts) * math.comb(len(answers), 2) <= MAX_BARS
    prompts = range(len(task.prompts)) if small else [chosen]
    for prompt, rewards in ((pairs[p], task.rewards[p].tolist()) for p in prompts):
        for first in range(len(task.actions)):
            for second in range(first + 1, len(task.actions)):
                better, worse = (first, second) if rewards[first] >= rewards[second] else (second, first)
                sign = "&gt;" if rewards[better] > rewards[worse] else "="
                labels.append(f"{answers[better]} {sign} {answers[worse]}")
                counts.append(int(prompt[better, worse] + prompt[worse, better]))
    figure = blank(_("DPO: what its data compare"), None, _("pairs in the data"))
    never = counts.count(0)
    rows = list(range(len(counts)))
    figure.add_bar(
        x=counts, y=rows, orientation="h", marker={"color": POSITIVE}, textposition="outside", cliponaxis=False,
        text=[str(count) if count else _("never") for count in counts], hoverinfo="text",
        hovertext=[f"{label}: {count}" for label, count in zip(labels, counts, strict=True)],
    )  # fmt: skip
    each = len(counts) // len(prompts)
    for index, prompt in enumerate(names(task.prompts)[p] for p in prompts):
        figure.add_annotation(
            x=1, xref="paper", xanchor="right", y=index * each + (each - 1) / 2, text=prompt, showarrow=False
        )
        if index:
            figure.add_hline(index * each - 0.5, line={"width": 1, "color": GREY})
    figure.update_layout(showlegend=False, height=max(330, 90 + 20 * len(counts)))
    figure.update_xaxes(range=[0, 1.9 * max(1, *counts)], rangemode="nonnegative")
    figure.update_yaxes(tickvals=rows, ticktext=labels, autorange="reversed")
    alt = _("Of {count} comparisons of two answers {never} are never in the pairs.")
    return figure, alt.format(count=len(counts), never=never)


def value_chart(_, run: MethodBands):
    """PPO's value against the expected reward that it should be, mean over prompts."""
    figure = blank(_("PPO: the value has to catch up"), _("reward"), _("epochs of training"))
    legend = (_("expected reward"), _("value"))
    for quantiles, name, dash in zip((run.mean_reward, run.value), legend, ("solid", "dot"), strict=True):
        _band(figure, quantiles, color("PPO"))
        _line(figure, quantiles[1], color("PPO"), dash, name)
    lag = run.mean_reward[1] - run.value[1]
    epoch = int(lag.argmax())
    figure.add_shape(
        type="line", x0=epoch, x1=epoch, y0=run.value[1, epoch].item(), y1=run.mean_reward[1, epoch].item(),
        line={"width": 2, "color": _text()},
    )  # fmt: skip
    figure.add_annotation(
        x=epoch, y=(run.value[1, epoch] + run.mean_reward[1, epoch]).item() / 2, xanchor="left", xshift=6,
        text=_("lag {gap:.2f}").format(gap=lag[epoch].item()), showarrow=False, **_behind(),
    )  # fmt: skip
    figure.update_yaxes(range=[-0.05, 1.05])
    alt = _("The value is furthest behind in epoch {epoch}: {value:.3f} against {reward:.3f}.")
    return figure, alt.format(
        epoch=epoch, value=run.value[1, epoch].item(), reward=run.mean_reward[1, epoch].item()
    )  # fmt: skip


def silent_chart(_, shares: torch.Tensor):
    """GRPO's share of silent groups [E] per epoch."""
    figure = blank(_("GRPO: groups that teach nothing"), _("share of silent groups"), _("epoch"))
    figure.add_trace(
        go.Scatter(
            y=shares.float().numpy(), x0=1, dx=1, mode="lines" if len(shares) > 1 else "markers", fill="tozeroy",
            fillcolor=faint(color("GRPO")), line={"color": color("GRPO"), "width": 2.5}, showlegend=False,
            hovertemplate=_("epoch") + " %{x}: %{y:.1%}<extra></extra>",
        )
    )  # fmt: skip
    figure.update_yaxes(range=[0, 1.05], tickformat=".0%")
    alt = _("Silent groups: {start:.0%} in the first epoch, {end:.0%} in the last.")
    return figure, alt.format(start=shares[0].item(), end=shares[-1].item())


def _comparison(_, runs: dict[str, MethodBands], metric: str, title: str, unit: str) -> go.Figure:
    figure = blank(title, unit, _("epochs of training"))
    for name, run in runs.items():
        _band(figure, getattr(run, metric), color(name))
    top = max(getattr(run, metric).max().item() for run in runs.values()) or 1
    for name, run in runs.items():
        drawn = run.samples_used.numpy()
        _line(figure, getattr(run, metric)[1], color(name), _DASHES[name], _(NAMES[name]), drawn, _("samples drawn"))
    figure.update_layout(height=390 if len(runs) < 4 else 450)
    figure.update_xaxes(range=[0, len(drawn) - 1])
    figure.update_yaxes(range=[-0.02 * top, 1.06 * top])
    return figure


def _line(figure, values, shade: str, dash: str, name: str, drawn=None, unit: str = "") -> None:
    more = f"<br>%{{customdata}} {unit}" if unit else ""
    figure.add_trace(
        go.Scatter(
            y=values.float().numpy(), x0=0, dx=1, name=name, mode="lines", customdata=drawn,
            line={"color": shade, "width": 2.5, "dash": dash},
            hovertemplate="%{x}: %{y:.3f}" + more + "<extra>" + name + "</extra>",
        )
    )  # fmt: skip


def _band(figure, quantiles, shade: str) -> None:
    low, _middle, high = quantiles.float()
    x = torch.arange(len(low))
    figure.add_trace(
        go.Scatter(
            x=torch.cat([x, x.flip(0)]).short().numpy(), y=torch.cat([high, low.flip(0)]).numpy(), fill="toself",
            fillcolor=faint(shade), line={"width": 0}, hoverinfo="skip", showlegend=False, mode="lines",
        )
    )  # fmt: skip


def _text() -> str:
    return "#E8EDF2" if is_dark() else "#1B2430"


def _behind() -> dict:
    """A label on the background's own colour, so that no line runs through it."""
    return {"bgcolor": "rgba(16,21,28,0.8)" if is_dark() else "rgba(255,255,255,0.8)"}


def _budget(runs: dict[str, MethodBands]) -> int:
    return max(int(run.samples_used[-1]) for run in runs.values())


def _ends(_, runs: dict[str, MethodBands], metric: str) -> str:
    return ", ".join(f"{_(NAMES[name])} {getattr(run, metric)[1, -1].item():.3f}" for name, run in runs.items())
