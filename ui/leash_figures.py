"""Plotly figures of the leash: what kl_coef buys, where policies rest, how the KL is estimated."""

import plotly.graph_objects as go
import torch

from grpo_core.kl import ESTIMATORS
from ui.figures import GREY, blank, is_dark, kl_color, line_colors, names
from ui.numbers import signed

SYMBOLS = ("circle", "square", "diamond")


def corners(_, task, prompt: int) -> tuple[list[str], list[int]]:
    """Three corners for any number of answers: the target, the likeliest other answer, all the rest.

    Returns their names and the order of the actions in which the first two come first.
    """
    target = int(task.is_target[prompt].int().argmax())
    others = [a for a in task.reference_policy[prompt].argsort(descending=True, stable=True).tolist() if a != target]
    shown = [names(task.actions)[a] for a in (target, *others)]
    return [*shown[:2], shown[2] if len(shown) == 3 else _("all others")], [target, *others]


def in_corners(policies: torch.Tensor, order: list[int]) -> torch.Tensor:
    """[..., A] probabilities as [..., 3] for the three corners."""
    ordered = policies[..., order]
    return torch.stack([ordered[..., 0], ordered[..., 1:2].sum(-1), ordered[..., 2:].sum(-1)], -1)


def _labels(kl_coefs, places: list[float], current: float) -> list[str]:
    """The coefficient at each point, left out where another point with a label is too near."""
    labels, taken = [""] * len(kl_coefs), []
    for i in sorted(range(len(kl_coefs)), key=lambda i: kl_coefs[i] != current):
        if all(abs(places[i] - place) > 0.08 for place in taken):
            labels[i] = f"<b>kl_coef {kl_coefs[i]:g}</b>" if kl_coefs[i] == current else f"{kl_coefs[i]:g}"
            taken.append(places[i])
    return labels


def _beside(x: float, widest: float) -> str:
    """Where the longer label of the current coefficient has room."""
    return "top left" if x > widest / 2 else "top right"


def tradeoff(_, kl_coefs, kl: torch.Tensor, reward: torch.Tensor, frontier: tuple, current: float):
    """What each coefficient ends with, KL against reward, [K, S] each: median and 5-95 % of the seeds."""
    figure = blank(
        _("A longer leash buys reward and costs KL"), _("expected reward at the end"), _("KL at the end (nats)")
    )
    figure.add_scatter(
        x=frontier[0].tolist(), y=frontier[1].tolist(), mode="lines", line={"color": GREY, "dash": "dash", "width": 1.5},
        name=_("best reward that any policy has at this KL"), hoverinfo="skip",
    )  # fmt: skip
    low, middle, high = (torch.quantile(kl, level, dim=1).numpy() for level in (0.05, 0.5, 0.95))
    down, center, up = (torch.quantile(reward, level, dim=1).numpy() for level in (0.05, 0.5, 0.95))
    here = [value == current for value in kl_coefs]
    figure.add_scatter(
        x=middle, y=center, mode="markers+text", name=_("median of {seeds} seeds").format(seeds=kl.shape[1]),
        text=_labels(kl_coefs, middle.tolist(), current), customdata=kl_coefs, cliponaxis=False,
        textposition=[_beside(x, middle.max()) if now else "bottom right" for x, now in zip(middle, here, strict=True)],
        marker={
            "color": kl_color(), "size": [13 if now else 9 for now in here],
            "symbol": ["circle" if now else "circle-open" for now in here], "line": {"width": 2},
        },
        error_x={"array": high - middle, "arrayminus": middle - low, "thickness": 1, "width": 0},
        error_y={"array": up - center, "arrayminus": center - down, "thickness": 1, "width": 0},
        hovertemplate="kl_coef %{customdata:g}<br>KL %{x:.3f}, " + _("reward") + " %{y:.3f}<extra></extra>",
    )  # fmt: skip
    figure.update_layout(height=380)
    alt = _(
        "With kl_coef {low} the KL ends at {kl_low:.3f} and the reward at {reward_low:.3f}, with {high} at {kl_high:.3f} and {reward_high:.3f}."
    )
    return figure, alt.format(
        low=f"{kl_coefs[0]:g}", kl_low=middle[0], reward_low=center[0],
        high=f"{kl_coefs[-1]:g}", kl_high=middle[-1], reward_high=center[-1],
    )  # fmt: skip


def simplex(_, corner_names: list[str], kl_coefs, paths: torch.Tensor, reference: torch.Tensor, current: float):
    """The way of the policy from the reference, paths [K, E+1, 3] over (target, another answer, the rest)."""
    figure = go.Figure(
        layout={
            "title": {"text": _("From the reference towards '{target}'").format(target=corner_names[0]), "font": {"size": 15}, "x": 0, "y": 0.94},
            "height": 380, "margin": {"l": 40, "r": 40, "t": 80, "b": 40}, "showlegend": False,
            "ternary": {
                "bgcolor": "rgba(0,0,0,0)",
                **{
                    axis: {"title": {"text": name}, "min": 0, "tickvals": [0.25, 0.5, 0.75], "gridcolor": "rgba(138,148,160,.35)"}
                    for axis, name in zip(("aaxis", "baxis", "caxis"), corner_names, strict=True)
                },
            },
        }
    )  # fmt: skip
    text = "#E8EDF2" if is_dark() else "#1B2430"
    labels = _labels(kl_coefs, paths[:, -1, 0].tolist(), current)
    for i, (value, path) in enumerate(zip(kl_coefs, paths, strict=True)):
        a, b, c = path.T.numpy()
        now = value == current
        figure.add_scatterternary(
            a=a, b=b, c=c, mode="lines", line={"color": kl_color(), "width": 3.5 if now else 1.2}, hoverinfo="skip"
        )
        figure.add_scatterternary(
            a=a[-1:], b=b[-1:], c=c[-1:], mode="markers+text", text=[labels[i]],
            textposition="middle right" if now else "middle left", textfont={"color": text}, cliponaxis=False,
            marker={"color": kl_color(), "size": 12 if now else 8, "symbol": "circle" if now else "circle-open"},
            hovertemplate=f"kl_coef {value:g}: %{{a:.3f}}<extra></extra>",
        )  # fmt: skip
    a, b, c = reference.tolist()
    figure.add_scatterternary(
        a=[a], b=[b], c=[c], mode="markers+text", text=[_("reference")], textposition="bottom center",
        textfont={"color": text}, marker={"color": GREY, "size": 11, "symbol": "x"}, hoverinfo="text",
    )  # fmt: skip
    alt = _("The target starts at probability {start:.3f} and ends between {low:.3f} and {high:.3f}.")
    ends = paths[:, -1, 0]
    return figure, alt.format(start=a, low=ends.min().item(), high=ends.max().item())


def resting(_, curves: dict, textbook: tuple, measured: dict, reference: float):
    """Predicted lines and measured points; curves: name -> (kl_coefs, first root, other roots as triples)."""
    figure = blank(_("Lines are predicted, points measured"), _("probability of the target"), "kl_coef")
    colors, seen = line_colors(), _("measured")
    for i, (name, (x, first, others)) in enumerate(curves.items()):
        color = colors[i]
        figure.add_scatter(x=x, y=first, mode="lines", name=name, line={"color": color, "width": 2.5})
        for holds, symbol, label in ((True, "circle", _("holds too")), (False, "circle-open", _("does not hold"))):
            points = [(k, p) for k, p, stable in others if stable == holds]
            if points:
                figure.add_scatter(
                    x=[k for k, _p in points], y=[p for _k, p in points], mode="markers",
                    name=f"{name}: {label}", marker={"color": color, "size": 4, "symbol": symbol},
                )  # fmt: skip
        rest = measured[name]
        figure.add_scatter(
            x=rest[0], y=rest[1].tolist(), mode="markers", name=f"{name}: {seen}",
            marker={
                "color": color, "size": 11, "line": {"width": 2},
                "symbol": [SYMBOLS[i] if flat else SYMBOLS[i] + "-open" for flat in rest[2].tolist()],
            },
            hovertemplate="kl_coef %{x}: %{y:.3f}<extra></extra>",
        )  # fmt: skip
    figure.add_scatter(
        x=textbook[0],
        y=textbook[1],
        mode="lines",
        name=_("textbook optimum"),
        line={"color": GREY, "width": 2, "dash": "dash"},
    )
    figure.add_hline(
        reference,
        line={"color": GREY, "width": 1, "dash": "dot"},
        annotation_text=_("reference"),
        annotation_position="top left",
    )
    several = any(others for _x, _first, others in curves.values())
    highest = 1 if several else max(*textbook[1], *(max(first) for _x, first, _others in curves.values()))
    figure.update_yaxes(range=[0, 1.05 * highest])
    figure.update_layout(height=420, legend={"y": -0.22})
    ends = ", ".join(f"{name} {values[-1].item():.3f}" for name, (_coefs, values, _flat) in measured.items())
    alt = _("From a reference of {start:.3f}, kl_coef {kl_coef:g} rests at: {ends}.")
    return figure, alt.format(start=reference, kl_coef=rest[0][-1], ends=ends)


def estimates(_, actions, policy, values: dict[str, list[float]], kl: float):
    """The value of each estimate for each action that may be sampled; the exact KL as a line."""
    answers = [f"{action} ({p:.2f})" for action, p in zip(names(actions), policy, strict=True)]
    figure = blank(_("One sample: k1 can be negative"), _("estimate (nats)"), _("sampled answer (π)"))
    for i, kind in enumerate(ESTIMATORS):
        figure.add_bar(
            x=answers, y=values[kind], name=kind, marker={"color": line_colors()[i], "pattern": {"shape": ("", "/", "x")[i]}},
            hovertemplate=f"{kind} = %{{y:.3f}}<extra></extra>",
        )  # fmt: skip
    figure.add_hline(
        kl, line={"color": kl_color(), "width": 2}, annotation_text=f"KL {kl:.3f}", annotation_position="top left"
    )
    figure.update_xaxes(type="category")
    alt = _("The exact KL is {kl:.3f}; k1 reaches from {low} to {high}.")
    return figure, alt.format(kl=kl, low=signed(min(values["k1"])), high=signed(max(values["k1"])))


def estimate_means(_, counts: list[int], moments: dict[str, list[tuple]], kl: float):
    """The mean of n samples of each estimate: its expectation, one standard deviation to either side.

    moments: estimate -> (expectation, variance) for each count; the exact KL is a line.
    """
    figure = blank(_("More samples: k2 keeps its bias"), _("mean estimate ± std (nats)"), _("samples"))
    for i, kind in enumerate(ESTIMATORS):
        means, stds = zip(*((mean, variance**0.5) for mean, variance in moments[kind]), strict=True)
        figure.add_scatter(
            x=[count * 1.25 ** (i - 1) for count in counts], y=means, mode="markers", name=kind, customdata=list(zip(counts, stds, strict=True)),
            marker={"color": line_colors()[i], "symbol": SYMBOLS[i], "size": 8},
            error_y={"array": stds, "color": line_colors()[i], "thickness": 2, "width": 3},
            hovertemplate=f"{kind}, n %{{customdata[0]}}: %{{y:.3f}} ± %{{customdata[1]:.3f}}<extra></extra>",
        )  # fmt: skip
    figure.add_hline(
        kl, line={"color": kl_color(), "width": 2}, annotation_text=f"KL {kl:.3f}", annotation_position="top right"
    )
    figure.update_xaxes(type="log", tickvals=counts)
    bias = moments["k2"][0][0] - kl
    alt = _("The bias of k2 is {bias} at any number of samples; every spread shrinks to 0.")
    return figure, alt.format(bias=signed(bias, 3))


def leash_gradients(_, actions, gradients: dict[str, list[float]]):
    """The leash's gradient per logit when an estimate is used as the loss."""
    figure = blank(_("As a loss, k1 does not pull"), _("dKL / dlogit"), _("answer"))
    figure.add_bar(
        x=names(actions),
        y=gradients["exact"],
        name=_("exact, k2"),
        marker={"color": kl_color()},
    )
    for i, kind in ((0, "k1"), (2, "k3")):
        figure.add_bar(
            x=names(actions), y=gradients[kind], name=kind,
            marker={"color": line_colors()[i], "pattern": {"shape": ("", "", "x")[i]}},
        )  # fmt: skip
    figure.update_traces(hovertemplate="%{y:+.4f}<extra></extra>")
    figure.update_xaxes(type="category")
    pairs = ", ".join(
        f"{a} {signed(e, 3)} / {signed(g, 3)}"
        for a, e, g in zip(names(actions), gradients["exact"], gradients["k3"], strict=True)
    )
    return figure, _("Exact and k3, per logit: {pairs}.").format(pairs=pairs)
