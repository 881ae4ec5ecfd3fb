"""Plotly figures of one group and one update. A figure only draws what it is given."""

import plotly.graph_objects as go

from grpo_core import UpdateStep
from ui.figures import GREY, NEGATIVE, POSITIVE, blank, faint, is_dark, kl_color, names, plain
from ui.frame import Page
from ui.labels import labels
from ui.numbers import MINUS, fitting, number, signed


def sample_labels(page: Page, update: UpdateStep) -> list[str]:
    """`1 · paris`, or only the number when the rewards were typed by hand."""
    if page.rewards is not None:
        return [str(i + 1) for i in range(len(page.rewards))]
    actions = update.group.actions[page.prompt].tolist()
    short = labels(page.task.actions, 16)
    return [f"{i + 1} · {short[action]}" for i, action in enumerate(actions)]


def reward_bars(page: Page, update: UpdateStep):
    """The rewards of the group, its mean as a line and one std to either side as a band."""
    _ = page.gettext
    rewards = update.group.rewards[page.prompt].tolist()
    mean, std = update.group.mean[page.prompt].item(), update.group.std[page.prompt].item()
    samples = [plain(text) for text in sample_labels(page, update)]
    title = _("Rewards: next to the group's mean {mean}").format(mean=fitting(mean, std))
    figure = _figure(title, _("reward"), _("sample"), samples)
    figure.add_trace(
        _bars(
            samples,
            rewards,
            [reward > mean for reward in rewards],
            [number(reward) for reward in rewards],
            [
                f"{number(reward)} {MINUS} {fitting(mean, std)} = {signed(reward - mean, spread=std)}"
                for reward in rewards
            ],
        )
    )
    text = "#E8EDF2" if is_dark() else "#1B2430"
    figure.add_hrect(
        mean - std, mean + std, fillcolor=faint(text), line={"color": text, "width": 1, "dash": "dot"}, layer="below"
    )
    figure.add_hline(mean, line={"color": text, "width": 1.5})
    edges = [(mean + std, _("+1 std")), (mean - std, _("−1 std"))] if std else []
    for height, name in [(mean, _("mean")), *edges]:
        figure.add_annotation(
            x=1, xref="paper", xanchor="left", y=height, text=name, showarrow=False, xshift=4, font={"color": text}
        )
    figure.update_layout(margin={"r": 56})
    low, high = min(0, mean - std, *rewards), max(0, mean + std, *rewards)
    figure.update_yaxes(range=_room(low, high))
    alt = _("{count} rewards with mean {mean} and standard deviation {std}.")
    return figure, alt.format(count=len(rewards), mean=fitting(mean, std, 3), std=fitting(std, std, 3))


def advantage_bars(page: Page, update: UpdateStep):
    """Up and blue: better than the group. Down, vermilion and hatched: worse."""
    _ = page.gettext
    group = update.group
    rewards, advantages = group.rewards[page.prompt].tolist(), group.advantages[page.prompt].tolist()
    mean, std = group.mean[page.prompt].item(), group.std[page.prompt].item()
    title = (
        _("Advantages: a silent group, every one is 0")
        if group.silent[page.prompt]
        else _("Advantages: above the mean goes up, below down")
    )
    samples = [plain(text) for text in sample_labels(page, update)]
    figure = _figure(title, _("advantage (std)"), _("sample"), samples)
    hover = [
        f"({number(reward)} {MINUS} {fitting(mean, std)}) / ({fitting(std, std)} + {page.config.epsilon:g}) = {signed(value)}"
        for reward, value in zip(rewards, advantages, strict=True)
    ]
    figure.add_trace(
        _bars(
            samples,
            advantages,
            [value > 0 for value in advantages],
            [signed(value) for value in advantages],
            hover,
        )
    )
    figure.add_hline(0, line={"width": 1, "color": GREY})
    figure.update_yaxes(range=_room(min(-1, *advantages), max(1, *advantages)))
    alt = _("Advantages from {low} to {high}.")
    return figure, alt.format(low=signed(min(advantages)), high=signed(max(advantages)))


def policy_bars(page: Page, update: UpdateStep):
    """The chosen prompt's probabilities before and after the update."""
    _ = page.gettext
    before, after = update.before[page.prompt].tolist(), update.after[page.prompt].tolist()
    actions = names(page.task.actions, 16)
    best = max(range(len(actions)), key=lambda i: after[i] - before[i])
    if after[best] > before[best]:
        title = _("New policy: the group pushes '{action}' up").format(action=actions[best])
    else:
        title = _("New policy: nothing moves")
    figure = _figure(title, _("probability"), _("action"), actions, legend=True)
    figure.add_bar(
        x=actions, y=before, name=_("before"), marker={"color": GREY, "pattern": {"shape": "."}},
        text=[f"{value:.3f}" for value in before], textposition="outside",
    )  # fmt: skip
    figure.add_bar(
        x=actions, y=after, name=_("after"), marker={"color": POSITIVE},
        text=[f"{value:.3f}" for value in after], textposition="outside", hoverinfo="text",
        hovertext=[
            f"{new:.3f} {MINUS} {old:.3f} = {signed(new - old, 3)}" for new, old in zip(after, before, strict=True)
        ],
    )  # fmt: skip
    figure.update_yaxes(range=[0, 1.1])
    alt = _("Probability of the target {before:.3f} before and {after:.3f} after.")
    target = page.task.is_target[page.prompt]
    values = {
        "before": update.before[page.prompt][target].sum().item(),
        "after": update.after[page.prompt][target].sum().item(),
    }
    return figure, alt.format(**values)


def gradient_bars(page: Page, update: UpdateStep):
    """The gradient per logit, policy term and KL term side by side."""
    _ = page.gettext
    policy, kl = update.gradient.policy[page.prompt].tolist(), update.gradient.kl[page.prompt].tolist()
    actions = names(page.task.actions, 16)
    group, probabilities = update.group, update.before[page.prompt].tolist()
    taken, advantages = group.actions[page.prompt], group.advantages[page.prompt]
    together, count = advantages.sum().item(), group.actions.numel()
    hover = [
        f"{MINUS}({signed(advantages[taken == k].sum().item())} {MINUS} {probability:.3f} · {signed(together)}) / {count}"
        f" = {signed(policy[k], 3)}"
        for k, probability in enumerate(probabilities)
    ]
    figure = _figure(_("Gradient: the step goes against it"), _("dLoss / dlogit"), _("action"), actions, legend=True)
    figure.add_trace(
        _bars(
            actions,
            policy,
            [value < 0 for value in policy],
            [signed(value, 3) for value in policy],
            hover,
            name=_("policy term"),
        )
    )
    figure.add_bar(
        x=actions, y=kl, name=_("KL term"), marker={"color": kl_color(), "pattern": {"shape": "x"}},
        text=[signed(value, 3) for value in kl], textposition="outside",
    )  # fmt: skip
    figure.update_yaxes(range=_room(min(-0.05, *policy, *kl), max(0.05, *policy, *kl)))
    total = update.gradient.total[page.prompt].tolist()
    pairs = ", ".join(f"{action} {signed(value, 3)}" for action, value in zip(actions, total, strict=True))
    return figure, _("Gradient per logit: {pairs}.").format(pairs=pairs)


def _bars(x, y, good, text, hover, name=None) -> go.Bar:
    return go.Bar(
        x=x, y=y, text=text, textposition="outside", cliponaxis=False, hovertext=hover, name=name,
        hoverinfo="text",
        marker={
            "color": [POSITIVE if is_good else NEGATIVE for is_good in good],
            "pattern": {"shape": ["" if is_good else "/" for is_good in good]},
        },
    )  # fmt: skip


def _room(low: float, high: float) -> list[float]:
    """An axis range with space for the labels above and below the bars."""
    space = 0.18 * (high - low or 1)
    return [low - space, high + space]


def _figure(title: str, unit: str, across: str, ticks: list[str], legend: bool = False) -> go.Figure:
    """The legend is above the bars: long names of many ticks are turned and need the space below them."""
    figure = blank(title, unit, across)
    figure.update_layout(showlegend=legend)
    if legend:
        figure.update_layout(margin={"t": 70}, legend={"y": 1.02, "yanchor": "bottom"})
    if sum(map(len, ticks)) > 40:
        figure.update_layout(height=330 + 5 * max(map(len, ticks)))
    figure.update_xaxes(type="category")
    return figure
