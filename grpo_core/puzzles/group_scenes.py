"""Scenes about rewards within a group: std, peers, scale, missing rewards, rounding."""

import math

import torch

from grpo_core.advantages import group_advantages, group_statistics
from grpo_core.config import TrainConfig
from grpo_core.float_noise import EPSILONS, framework_advantages
from grpo_core.frameworks import from_openrlhf, from_trl, from_verl
from grpo_core.messages import N_, FieldError
from grpo_core.puzzles.puzzle import Chart, Scene, Series, Table, number, numbers, written
from grpo_core.theory import expected_push

BATCH = 8
SIZES = (1, 2, 4, 8)
ADVANTAGE, ANSWER, REWARD = N_("advantage"), N_("answer"), N_("reward")


def batch_std(_config: TrainConfig, groups: str) -> Scene:
    """Two groups of four; `groups` is "silent" or "mixed" (the second group has one right answer)."""
    rewards = [[1.0, 1.0, 1.0, 1.0], [float(groups == "mixed"), 0.0, 0.0, 0.0]]
    by_group, by_batch = (from_trl({"scale_rewards": scale}) for scale in ("group", "batch"))
    logged, logged_batch = by_group.reward_metrics(rewards), by_batch.reward_metrics(rewards)
    advantages = by_group.advantages(rewards)
    stds = group_statistics(rewards_of(rewards), ddof=1)[1]
    told = {
        "groups": len(rewards), "batch_std": logged["reward_std"], "silent_share": logged["frac_reward_zero_std"],
        "silent_share_batch": logged_batch["frac_reward_zero_std"], "first_std": number(stds[0]),
        "second_std": number(stds[1]), "largest": number(advantages.abs().max()),
    }  # fmt: skip
    table = Table(
        (N_("group"), N_("rewards"), N_("group std"), N_("largest advantage")),
        tuple(
            (str(i), ", ".join(f"{reward:g}" for reward in row), number(std), number(advantage.abs().max()))
            for i, (row, std, advantage) in enumerate(zip(rewards, stds, advantages, strict=True), 1)
        ),
        N_("The groups' stds are {first_std:.3f} and {second_std:.3f}, that of the batch is {batch_std:.3f}."),
    )  # fmt: skip
    chart = Chart(
        N_("The batch is spread out, its groups are not"), N_("group"), N_("std of the rewards"),
        (N_("group 1"), N_("group 2"), N_("whole batch")),
        (Series(N_("std of the rewards"), (*numbers(stds), logged["reward_std"])),),
        N_("The groups' stds are {first_std:.3f} and {second_std:.3f}, that of the batch is {batch_std:.3f}."), "bars",
    )  # fmt: skip
    return Scene(told, (chart,), table)


def rewards_of(rows) -> torch.Tensor:
    return torch.tensor(rows, dtype=torch.float64)


def group_of_one(config: TrainConfig, _size) -> Scene:
    pushes = numbers(expected_push(0.5, size) for size in SIZES)
    lone = {name: lone_advantage(make) for name, make in FRAMEWORKS.items()}
    told = {
        "batch": BATCH, "size": config.group_size, "prompts": BATCH // config.group_size,
        "push_one": pushes[0], "push": number(expected_push(0.5, config.group_size)), "verl": lone["verl 0.9.1"],
    }  # fmt: skip
    chart = Chart(
        N_("A group of one pushes nothing"), N_("group size"), N_("expected push at p = 0.5"),
        tuple(map(str, SIZES)), (Series(N_("expected push"), pushes),),
        N_("With G = 1 the expected push is {push_one:g}, with G = {size} it is {push:.3f}."), "bars",
    )  # fmt: skip
    rows = [(name, N_("refused") if value is None else f"{value:.3f}") for name, value in lone.items()]
    rows.append((N_("the chapter"), f"{number(group_advantages([1.0])[0]):.3f}"))
    table = Table(
        (N_("who"), N_("advantage of a lone reward of 1")), tuple(rows),
        N_("verl gives a lone reward as its own advantage; TRL and OpenRLHF refuse it."),
    )  # fmt: skip
    return Scene(told, (chart,), table, (rf"\frac{{{BATCH}}}{{G}} = \frac{{{BATCH}}}{{{config.group_size}}} = {told['prompts']}",))  # fmt: skip


FRAMEWORKS = {
    "TRL 1.16.0": lambda: from_trl({}),
    "verl 0.9.1": lambda: from_verl({"adv_estimator": "grpo"}),
    "OpenRLHF 0.11.2": lambda: from_openrlhf({"advantage_estimator": "group_norm", "kl_coef": 0.0}),
}


def lone_advantage(make) -> float | None:
    """The advantage of the only answer of a group, of reward 1; None where it is refused."""
    try:
        return number(make().advantages([[1.0]])[0, 0])
    except FieldError:
        return None


def zero_or_minus_one(_config: TrainConfig, scale: str) -> Scene:
    groups = {"0, 1": [0.0, 1.0, 1.0, 0.0], "−1, 1": [-1.0, 1.0, 1.0, -1.0]}
    by_scale = {
        which: [from_trl({"scale_rewards": which}).advantages([rewards])[0] for rewards in groups.values()]
        for which in ("group", "none")
    }
    low, high = by_scale[scale]
    means, stds = map(numbers, group_statistics(rewards_of(list(groups.values())), ddof=1)[:2])
    told = {
        "zero_group": number(by_scale["group"][0].max()), "minus_group": number(by_scale["group"][1].max()),
        "zero_none": number(by_scale["none"][0].max()), "minus_none": number(by_scale["none"][1].max()),
        "ratio": number(by_scale["none"][1].max() / by_scale["none"][0].max()),
        "ratio_shown": number(high.max() / low.max()), "scale": scale,
    }  # fmt: skip
    hover = [
        tuple(
            f"{written(reward, 'g')} → {written(advantage, '+.4f')}"
            for reward, advantage in zip(rewards, values.tolist(), strict=True)
        )
        for rewards, values in zip(groups.values(), (low, high), strict=True)
    ]
    chart = Chart(
        N_("{scale}: the second is {ratio_shown:.2f} times the first"), ANSWER, ADVANTAGE,
        ("1", "2", "3", "4"),
        tuple(
            Series(name, numbers(values), role, texts)
            for name, values, role, texts in zip(groups, (low, high), ("first", "second"), hover, strict=True)
        ),
        N_("With {scale}, the advantages of one are {ratio_shown:.2f} times those of the other."), "bars",
    )  # fmt: skip
    formulas = (
        rf"\frac{{1 - {means[0]:g}}}{{{stds[0]:.4f} + 10^{{-4}}}} = {told['zero_group']:.4f}",
        rf"\frac{{1 - {means[1]:g}}}{{{stds[1]:.4f} + 10^{{-4}}}} = {told['minus_group']:.4f}",
        rf"1 - 0.5 = {told['zero_none']:g}, \quad 1 - 0 = {told['minus_none']:g}",
    )
    return Scene(told, (chart,), formulas=formulas)


def none_reward(_config: TrainConfig, scored: str) -> Scene:
    """Four answers, the third not scored; `scored`: "three", or "one" of the others."""
    given = [1.0, 0.0, math.nan, 1.0] if scored == "three" else [1.0, math.nan, math.nan, math.nan]
    trl = from_trl({})
    advantages = trl.advantages([given])[0]
    as_zero = trl.advantages([[0.0 if reward != reward else reward for reward in given]])[0]
    known = [reward for reward in given if reward == reward]
    told = {
        "scored": len(known), "mean": sum(known) / len(known), "right": number(advantages[0]),
        "missing": number(advantages[2]), "right_as_zero": number(as_zero[0]), "missing_as_zero": number(as_zero[2]),
    }  # fmt: skip
    names = ("1", "2", "3", "4")
    table = Table(
        (ANSWER, REWARD, ADVANTAGE, N_("if None were 0")),
        tuple(
            (name, "None" if reward != reward else f"{reward:g}", number(ours), number(other))
            for name, reward, ours, other in zip(names, given, advantages, as_zero, strict=True)
        ),
        N_("The answer without a reward has the advantage {missing:g}."),
    )  # fmt: skip
    chart = Chart(
        N_("Left out is not the same as wrong"), ANSWER, ADVANTAGE, names,
        (
            Series(N_("None left out"), numbers(advantages)),
            Series(N_("if None were 0"), numbers(as_zero), "second"),
        ),
        N_("Left out: {missing:g}. As a reward of 0: {missing_as_zero:+.3f}."), "bars",
    )  # fmt: skip
    return Scene(told, (chart,), table)


def float_noise(_config: TrainConfig, reward: float) -> Scene:
    group = [[reward] * 7] * 4
    noise = {name: number(framework_advantages(group, name)[0, 0]) for name in EPSILONS}
    own = number(group_advantages(torch.tensor(group, dtype=torch.float32))[0, 0])
    told = {
        "reward": reward, "trl": noise["TRL 1.16.0"], "verl": noise["verl 0.9.1"], "openrlhf": noise["OpenRLHF 0.11.2"],
        "own": own,
    }  # fmt: skip
    table = Table(
        (N_("formula"), N_("epsilon"), N_("advantage of each answer")),
        (
            *((name, f"{EPSILONS[name]:.0e}", value) for name, value in noise.items()),
            (N_("this project, float32"), "1e-06", own),
        ),
        N_("The smaller the epsilon, the larger the advantage of seven equal rewards."), digits=6,
    )  # fmt: skip
    deviation = rewards_in_float32(reward)
    formulas = (rf"{reward:g} - \overline{{r}} = {tex(deviation)}",)
    return Scene(told, table=table, formulas=formulas)


def rewards_in_float32(reward: float) -> float:
    """The deviation of a reward from the mean of seven equal ones, as float32 rounds it."""
    group = torch.full((4, 7), reward, dtype=torch.float32)
    return float((group - group.mean(-1, keepdim=True))[0, 0])


def tex(value: float) -> str:
    """A number in scientific notation for LaTeX."""
    mantissa, _, exponent = f"{value:.2e}".partition("e")
    return "0" if value == 0 else rf"{mantissa} \cdot 10^{{{int(exponent)}}}"
