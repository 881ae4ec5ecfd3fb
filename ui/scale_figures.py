"""Plotly figure of a real run's memory. A figure only draws what it is given."""

from grpo_core.messages import N_
from grpo_core.scale_up import Setup, parameters
from ui.figures import GREY, POSITIVE, blank, is_dark, line_colors

PARTS = {
    "policy": N_("policy"),
    "gradients": N_("gradients"),
    "optimizer": N_("Adam's two moments"),
    "reference": N_("reference policy"),
    "sampler": N_("sampler's copy"),
}


def memory_chart(_, setup: Setup):
    """What each GPU holds, stacked, a bar a framework."""
    held = setup.memory
    totals = {framework: sum(parts.values()) for framework, parts in held.items()}
    known = parameters(setup.model) is not None
    title = _("Each GPU holds {trl:.3g} GB (TRL), {verl:.3g} GB (verl)")
    if not known:
        title = _("GB for each billion: {trl:.3g} (TRL), {verl:.3g} (verl)")
    figure = blank(title.format(trl=totals["TRL"], verl=totals["verl"]), None, _("GB, before any activation"))
    blue, orange, green = line_colors()
    colors = (POSITIVE if not is_dark() else blue, orange, green, GREY, "#56B4E9" if not is_dark() else "#9CCBEA")
    for (part, name), color, pattern in zip(PARTS.items(), colors, ("", "", "", "/", "x"), strict=True):
        sizes = {framework: parts[part] for framework, parts in held.items() if part in parts}
        if sizes:
            figure.add_bar(
                x=list(sizes.values()), y=list(sizes), orientation="h", name=_(name),
                marker={"color": color, "pattern": {"shape": pattern}},
                hovertemplate="%{y}: %{x:.3g} GB<extra>" + _(name) + "</extra>",
            )  # fmt: skip
    for framework, total in totals.items():
        figure.add_annotation(x=total, y=framework, text=f"{total:.3g} GB", xanchor="left", xshift=4, showarrow=False)
    figure.update_layout(barmode="stack", height=300, legend={"traceorder": "normal", "y": -0.36})
    figure.update_yaxes(type="category", autorange="reversed")
    figure.update_xaxes(range=[0, 1.2 * max(totals.values())])
    alt = _("TRL holds {trl:.3g} GB on each GPU and verl, which shards what is trained, {verl:.3g} GB.")
    return figure, alt.format(trl=totals["TRL"], verl=totals["verl"])
