"""Plotly: the charts and tables of a puzzle's scene. Only draws what the scene holds."""

from collections.abc import Callable
from textwrap import wrap

import plotly.graph_objects as go

from grpo_core.puzzles import Chart, Scene, Series, Table, written
from ui.figures import DASHES, NEGATIVE, POSITIVE, blank, kl_color, line_colors

TITLE = 34


class _Told(float):
    """A number that is formatted with a true minus."""

    def __format__(self, spec: str) -> str:
        return written(float(self), spec)


def fill(template: str, scene: Scene) -> str:
    """A translated text with the scene's numbers in it."""
    return template.format(**{name: _told(value) for name, value in scene.numbers.items()})


def _told(value):
    return _Told(value) if isinstance(value, float) else value


def translated(_, text: str) -> str:
    return _(text) if text else ""


def chart(_, drawn: Chart, scene: Scene) -> tuple[go.Figure, str]:
    """The chart as a figure, and its alt text."""

    def say(text: str) -> str:
        return fill(translated(_, text), scene)

    figure = blank(_wrapped(say(drawn.title)), say(drawn.up), say(drawn.across))
    figure.update_layout(margin={"t": 64}, title={"yref": "container", "y": 0.97, "yanchor": "top"})
    add = _add_lines if drawn.kind == "lines" else _add_bars
    for place, series in enumerate(drawn.series):
        add(say, figure, drawn, series, place, len(scene.charts) == 1)
    if drawn.kind == "bars":
        figure.update_xaxes(type="category", tickangle=0)
        figure.update_yaxes(zeroline=True, zerolinewidth=1)
    figure.update_layout(showlegend=len(drawn.series) > 1)
    if drawn.log:
        figure.update_yaxes(type="log", exponentformat="power")
    values = [value for series in drawn.series for value in series.values]
    if not drawn.log and max(values) - min(values) < 1e-9:  # Plotly would zoom into rounding
        figure.update_yaxes(range=[min(values) - 0.5, max(values) + 0.5])
    return figure, say(drawn.alt)


def _wrapped(title: str) -> str:
    """A title in lines that fit beside another chart; a Chinese sign is as wide as two letters."""
    wide = sum(ord(sign) > 0x2E7F for sign in title)
    return "<br>".join(wrap(title, TITLE if wide < 4 else TITLE * 2 // 3))


def _color(series: Series) -> str:
    first, second, _third = line_colors()
    roles = {"first": first, "second": second, "positive": POSITIVE, "negative": NEGATIVE, "kl": kl_color()}
    return roles.get(series.role, first)


def _add_lines(say: Callable, figure: go.Figure, drawn: Chart, series: Series, place: int, _roomy) -> None:
    figure.add_scatter(
        x=drawn.x, y=series.values, mode="lines", name=say(series.name),
        line={"color": _color(series), "width": 4 - 1.5 * place, "dash": DASHES[place]},
        hovertemplate="%{x}: %{y:.4g}<extra>%{fullData.name}</extra>",
    )  # fmt: skip


def _add_bars(say: Callable, figure: go.Figure, drawn: Chart, series: Series, place: int, roomy: bool) -> None:
    signs = series.role == "sign"
    colors = [POSITIVE if value >= 0 else NEGATIVE for value in series.values] if signs else _color(series)
    hover = list(series.hover) or [written(value, ".4g") for value in series.values]
    figure.add_bar(
        x=[say(name) for name in drawn.x], y=series.values, name=say(series.name),
        marker={"color": colors, "pattern": {"shape": ("", "/", "x")[place]}}, hovertext=hover, hoverinfo="text+name",
        text=[written(value, ".3g") for value in series.values] if roomy else None,
        textposition="outside", cliponaxis=False, textfont={"size": 10}, constraintext="none",
    )  # fmt: skip


def table(_, drawn: Table) -> dict[str, list[str]]:
    """Column names -> cells as texts."""
    cells = [[_cell(_, cell, drawn.digits) for cell in row] for row in drawn.rows]
    return {translated(_, name) or "№": list(column) for name, column in zip(drawn.columns, zip(*cells, strict=True), strict=True)}  # fmt: skip


def _cell(_, value, digits: int) -> str:
    return translated(_, value) if isinstance(value, str) else written(value, f".{digits}f")
