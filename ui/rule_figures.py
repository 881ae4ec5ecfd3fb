"""Plotly figure of a task made of rules: what each answer is worth."""

import plotly.graph_objects as go

from grpo_core.tasks import RuleTask
from ui import figures
from ui.i18n import said
from ui.numbers import number


def reward_table(_, task: RuleTask):
    """Prompts x answers: the reward, the reason on hover, a star for what is really right."""
    rewards = task.bandit().rewards
    right = task.is_right.tolist()
    figure = figures.blank(_("What the rules give each answer (★ right)"), None, _("answer"))
    figure.add_trace(
        go.Heatmap(
            z=rewards.float().numpy(), x=figures.names(task.answers), y=figures.names(task.prompts),
            zmin=min(0, rewards.min().item()), zmax=max(1, rewards.max().item()), colorscale=figures.scale(),
            text=[
                [number(round(reward, 4)) + (" ★" if star else "") for reward, star in zip(row, stars, strict=True)]
                for row, stars in zip(rewards.tolist(), right, strict=True)
            ],
            texttemplate="%{text}", hoverinfo="text", xgap=3, ygap=3, showscale=False,
            hovertext=[[figures.plain(said(_, verdict.reason)[:200]) for verdict in row] for row in task.verdicts],
        )
    )  # fmt: skip
    figure.update_layout(height=150 + 44 * len(task.prompts))
    figure.update_xaxes(type="category", tickfont={"size": 11})
    figure.update_yaxes(type="category", autorange="reversed")
    passing = sum(verdict.passed for row in task.verdicts for verdict in row)
    alt = _("{passing} of {count} pairs of prompt and answer pass their rules.")
    return figure, alt.format(passing=passing, count=rewards.numel())
