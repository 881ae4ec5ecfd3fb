"""Plotly figures of the GRPO family. A figure only draws what it is given."""

import plotly.graph_objects as go
import torch

from grpo_core.family import ClipCurve
from grpo_core.method_bands import Family
from ui.figures import GREY, NEGATIVE, POSITIVE, blank, faint, is_dark, line_colors
from ui.numbers import number, signed

SHOWN_NUMBERS = 8
"""Answers in a group up to which every advantage is written into its cell."""


def advantage_map(_, names: dict[str, str], rewards: list[float], advantages: dict[str, torch.Tensor], chosen: str):
    """A row a preset, a column an answer: blue up, vermilion down, the number with its sign."""
    keys = list(advantages)
    table = torch.stack([advantages[key] for key in keys])
    distinct = len({tuple(round(value, 3) for value in row) for row in table.tolist()})
    figure = blank(_("The same rewards, {count} sets of advantages").format(count=distinct), None, _("reward"))
    text = [[signed(value) for value in row] for row in table.tolist()]
    reach = max(1e-9, table.abs().max().item())
    ground = "#10151C" if is_dark() else "#FFFFFF"
    rows = [f"<b>{names[key]}</b>" if key == chosen else names[key] for key in keys]
    columns = [f"{index}" for index in range(1, len(rewards) + 1)]
    figure.add_trace(
        go.Heatmap(
            z=table.float().numpy(), x=columns, y=rows, zmin=-reach, zmax=reach, xgap=2, ygap=2, showscale=False,
            colorscale=[[0, NEGATIVE], [0.5, ground], [1, POSITIVE]], customdata=[rewards] * len(keys),
            text=text if len(rewards) <= SHOWN_NUMBERS else None, texttemplate="%{text}",
            hovertemplate="%{y}<br>" + _("reward") + " %{customdata} → %{z:+.4f}<extra></extra>",
        )
    )  # fmt: skip
    figure.update_layout(height=90 + 26 * len(keys))
    figure.update_xaxes(
        type="category", tickvals=columns, ticktext=[number(reward) for reward in rewards], side="top", title=None
    )
    figure.update_layout(margin={"t": 70})
    figure.update_yaxes(type="category", autorange="reversed")
    mine = ", ".join(signed(value) for value in advantages[chosen].tolist()) if chosen in advantages else "–"
    alt = _("Advantages of one group under {count} presets; {name}: {values}.")
    return figure, alt.format(count=len(keys), name=names[chosen], values=mine)


def objective_chart(_, up: ClipCurve, down: ClipCurve, name: str):
    """The objective over the ratio, for an advantage of +1 and of -1."""
    flat = bool((up.slope == 0).any() or (down.slope == 0).any())
    title = _("Objective: flat where the clip holds it") if flat else _("Objective: flat nowhere")
    return _two_signs(_, title, _("objective (0 at ratio 1)"), up, down, "objective", name)


def slope_chart(_, up: ClipCurve, down: ClipCurve, name: str):
    """Its gradient per log-prob."""
    flat = bool((up.slope == 0).any() or (down.slope == 0).any())
    title = _("Gradient: 0 where the clip holds it") if flat else _("Gradient: 0 nowhere")
    return _two_signs(_, title, _("gradient per log-prob"), up, down, "slope", name)


def _two_signs(_, title: str, unit: str, up: ClipCurve, down: ClipCurve, part: str, name: str):
    figure = blank(title, unit, _("ratio to the old policy"))
    for curve, color, dash, label in ((up, POSITIVE, "solid", "A = +1"), (down, NEGATIVE, "dash", "A = −1")):
        shade = {"#0072B2": "#56B4E9"}.get(color, color) if is_dark() else color
        figure.add_trace(
            go.Scatter(
                x=curve.ratios.float().numpy(), y=getattr(curve, part).float().numpy(), name=label, mode="lines",
                line={"color": shade, "width": 2.5, "dash": dash},
                hovertemplate="%{x:.4g}: %{y:+.4g}<extra>" + label + "</extra>",
            )
        )  # fmt: skip
    figure.add_vline(1, line={"width": 1, "color": GREY})
    figure.add_hline(0, line={"width": 1, "color": GREY})
    ends = [getattr(curve, part)[index].item() for curve in (up, down) for index in (0, -1)]
    alt = _(
        "{name}, ratio {low:.4g} to {high:.4g}: A = +1 from {first:+.3g} to {second:+.3g}, A = −1 from {third:+.3g} to {fourth:+.3g}."
    )
    low, high = up.ratios[0].item(), up.ratios[-1].item()
    return figure, alt.format(
        name=name, low=low, high=high, first=ends[0], second=ends[1], third=ends[2], fourth=ends[3]
    )


def reward_chart(_, family: Family, names: dict[str, str], chosen: str):
    """Expected reward over the epochs: the chosen preset and the chapter with bands, the others thin."""
    figure = blank(
        _("Expected reward: {name} and the chapter").format(name=names[chosen]),
        _("expected reward"),
        _("epochs of training"),
    )
    return _curves(_, figure, family, names, chosen, "mean_reward", [-0.02, 1.05])


def kl_chart(_, family: Family, names: dict[str, str], chosen: str):
    figure = blank(_("KL: how far each one went for it"), _("KL to the reference (nats)"), _("epochs of training"))
    return _curves(_, figure, family, names, chosen, "mean_kl", None)


def _curves(_, figure, family: Family, names: dict[str, str], chosen: str, metric: str, span):
    blue, orange, _green = line_colors()
    for key, bands in family.bands.items():
        if key not in (chosen, "chapter"):
            thin = {"color": "rgba(138,148,160,0.55)", "width": 1}
            _line(figure, getattr(bands, metric)[1], names[key], thin, False)
    marked = {"chapter": (orange, "dash"), chosen: (blue, "solid")}
    for key, (color, dash) in marked.items():
        if key in family.bands:
            low, middle, high = getattr(family.bands[key], metric).float()
            x = torch.arange(len(low))
            figure.add_trace(
                go.Scatter(
                    x=torch.cat([x, x.flip(0)]).short().numpy(), y=torch.cat([high, low.flip(0)]).numpy(), fill="toself",
                    fillcolor=faint(color), line={"width": 0}, hoverinfo="skip", showlegend=False, mode="lines",
                )
            )  # fmt: skip
            _line(figure, middle, names[key], {"color": color, "width": 2.5, "dash": dash}, True)
    figure.add_trace(
        go.Scatter(x=[None], y=[None], name=_("the others"), mode="lines", line={"color": GREY, "width": 1})
    )
    if span and all(
        bands.mean_reward.min() >= -0.02 and bands.mean_reward.max() <= 1.05 for bands in family.bands.values()
    ):
        figure.update_yaxes(range=span)
    ends = ", ".join(f"{names[key]} {getattr(bands, metric)[1, -1].item():.3f}" for key, bands in family.bands.items())
    return figure, _("Medians at the end: {ends}.").format(ends=ends)


def _line(figure, values, name: str, style: dict, legend: bool) -> None:
    figure.add_trace(
        go.Scatter(
            y=values.float().numpy(), x0=0, dx=1, name=name, mode="lines", line=style, showlegend=legend,
            hovertemplate="%{x}: %{y:.3f}<extra>" + name + "</extra>",
        )
    )  # fmt: skip


def end_chart(_, family: Family, names: dict[str, str], chosen: str):
    """Where each preset ends: the median, and 90 % of the seeds as a line; the best at the top."""
    ends = {key: bands.mean_reward[:, -1].tolist() for key, bands in family.bands.items()}
    keys = sorted(ends, key=lambda key: ends[key][1])
    figure = blank(_("Where each one ends"), None, _("expected reward at the end"))
    blue, orange, _green = line_colors()
    plain = "#E8EDF2" if is_dark() else "#1B2430"
    look = {"chapter": (orange, "square"), chosen: (blue, "diamond")}
    same = {key for key in keys if key != chosen and (chosen, key) in family.told and family.told[chosen, key].same}
    labels = [("= " if key in same else "") + names[key] for key in keys]
    low, middle, high = zip(*(ends[key] for key in keys), strict=True)
    colors, symbols = zip(*(look.get(key, (plain, "circle")) for key in keys), strict=True)
    figure.add_trace(
        go.Scatter(
            x=middle, y=labels, mode="markers", marker={"color": colors, "symbol": symbols, "size": 9},
            error_x={"type": "data", "symmetric": False, "array": [b - m for b, m in zip(high, middle, strict=True)],
                     "arrayminus": [m - a for a, m in zip(low, middle, strict=True)], "thickness": 1.2, "width": 3,
                     "color": GREY},
            customdata=[f"{a:.3f} – {b:.3f}" for a, b in zip(low, high, strict=True)], showlegend=False,
            hovertemplate="%{y}: %{x:.4f}<br>90 %: %{customdata}<extra></extra>",
        )
    )  # fmt: skip
    figure.update_layout(height=90 + 24 * len(keys))
    figure.update_yaxes(type="category")
    best, worst = names[keys[-1]], names[keys[0]]
    return figure, _("Best at the end {best} with {high:.3f}, last {worst} with {low:.3f}.").format(
        best=best, high=middle[-1], worst=worst, low=middle[0]
    )
