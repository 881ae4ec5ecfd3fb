"""A run as the text that the command prints and `train.log` keeps."""

from collections.abc import Iterator

from grpo_core.findings import findings
from grpo_core.history import TrainingHistory


def report_lines(history: TrainingHistory) -> Iterator[str]:
    """Settings, a line per epoch, the greedy policy, and the four findings, of the first seed."""
    task, config = history.task, history.config
    yield f"prompts={len(task.prompts)} actions={len(task.actions)} group_size={config.group_size}"
    rows = history.metrics_frame().iloc[: config.epochs]
    for row in rows.itertuples():
        yield (
            f"epoch={row.epoch:03d} mean_reward={_fixed(row.mean_reward, 3)} "
            f"greedy_reward={_fixed(row.greedy_reward, 3)} adv_mean={_fixed(row.adv_mean, 3)} "
            f"adv_std={_fixed(row.adv_std, 3)} mean_kl={_fixed(row.mean_kl, 4)}"
        )
    yield ""
    yield "policy"
    greedy = history.greedy_actions[0, -1].tolist()
    for prompt, action, target in zip(task.prompts, greedy, task.targets, strict=True):
        yield f"prompt={prompt!r} action={task.actions[action]!r} target={target!r}"
    yield ""
    yield from map(str, findings(history))


def _fixed(value: float, digits: int) -> str:
    """Fixed decimals, and 0.000 rather than -0.000."""
    return f"{round(value, digits) + 0.0:.{digits}f}"
