"""Every puzzle's scene by numbers worked by hand, and that its answer, links and settings hold."""

import json
import math
from pathlib import Path

import pytest
import torch

from grpo_core import METHODS, FieldError, TrainConfig, chapter_task, train, train_method
from grpo_core.puzzles import PUZZLES, Puzzle, ratio_loss, search
from grpo_core.puzzles.group_scenes import lone_advantage
from grpo_core.puzzles.puzzle import Table

NAMES = json.loads((Path(__file__).parent.parent / "conformance" / "setting_names.json").read_text())
EVERY = [(key, option) for key, puzzle in PUZZLES.items() for option in range(puzzle.options)]


def told(key: str, option: int | None = None) -> dict:
    puzzle = PUZZLES[key]
    return puzzle.at(puzzle.start if option is None else option).numbers


def test_there_are_the_seventeen_of_the_design():
    threads = {thread.name for puzzle in PUZZLES.values() for thread in puzzle.threads}
    trl = (2703, 3452, 3120, 2681, 3857, 2858, 3199, 4040, 3015, 2854, 4967, 5588, 2832, 5902)
    verl = (751, 957, 593, 3276, 791, 990)
    assert threads == {"open-r1 #239", *(f"trl #{n}" for n in trl), *(f"verl #{n}" for n in verl)}
    assert len(PUZZLES) == 17 and all(key == puzzle.key for key, puzzle in PUZZLES.items())
    assert [key for key, puzzle in PUZZLES.items() if not puzzle.threads] == ["float_noise"]
    assert all(len(puzzle.answer) == 2 and puzzle.fix for puzzle in PUZZLES.values())
    urls = {thread.name: thread.url for puzzle in PUZZLES.values() for thread in puzzle.threads}
    assert urls["trl #2703"] == "https://github.com/huggingface/trl/issues/2703"
    assert urls["trl #5902"] == "https://github.com/huggingface/trl/pull/5902"
    assert urls["verl #990"] == "https://github.com/verl-project/verl/pull/990"


@pytest.mark.parametrize(("key", "option"), EVERY)
def test_every_scene_fills_its_texts(key, option):
    puzzle = PUZZLES[key]
    scene = puzzle.at(option)
    texts = [*puzzle.answer, *(text for chart in scene.charts for text in (chart.title, chart.alt))]
    names = [name for chart in scene.charts for series in chart.series for name in (series.name, *map(str, chart.x))]
    filled = [text.format(**scene.numbers) for text in (*texts, *names)]
    assert all(filled) and (scene.charts or scene.table)
    for chart in scene.charts:
        assert all(len(series.values) == len(chart.x) for series in chart.series)
        assert all(math.isfinite(value) for series in chart.series for value in series.values)
        assert all(len(series.hover) in (0, len(chart.x)) for series in chart.series)
    if isinstance(scene.table, Table):
        assert scene.table.alt.format(**scene.numbers)
        assert all(len(row) == len(scene.table.columns) for row in scene.table.rows)


@pytest.mark.parametrize("puzzle", PUZZLES.values(), ids=PUZZLES)
def test_turning_the_control_changes_the_scene(puzzle: Puzzle):
    if puzzle.control is None:
        assert puzzle.key == "k3_as_a_loss"
        return
    shown = [str(puzzle.at(option)) for option in range(puzzle.options)]
    assert len(set(shown)) == puzzle.options > 1 and 0 <= puzzle.start < puzzle.options


def stated(framework: str, name: str) -> bool:
    """Whether a framework has the setting; names of OpenRLHF are options of its command."""
    if framework.startswith("OpenRLHF"):
        return name.startswith("--") and name[2:] in NAMES["openrlhf"]
    return name in NAMES["trl" if framework.startswith("TRL") else "verl"]


def test_the_settings_exist_in_the_frameworks():
    named = [
        (framework, name) for puzzle in PUZZLES.values() for framework in puzzle.fix for name in puzzle.fix[framework]
    ]
    assert [pair for pair in named if not stated(*pair)] == []
    assert len(named) > 40 and not stated("TRL 1.16.0", "kl_coef") and not stated("verl 0.9.1", "actor.kl")


def test_loss_rises_is_the_kl_term():
    for option, kl_coef in enumerate((0.0, 0.04, 0.2)):
        scene = PUZZLES["loss_rises"].at(option)
        run = train(chapter_task(), TrainConfig(kl_coef=kl_coef))
        value, leash = scene.charts[0].series
        assert value.values == pytest.approx((kl_coef * run.mean_kl[0, :-1]).tolist(), abs=1e-12)
        assert value.values == pytest.approx(leash.values, abs=1e-12) and value.values[0] == 0
        assert scene.charts[1].series[0].values == pytest.approx(run.grad_norm[0].tolist())
        assert scene.numbers["last"] == pytest.approx(kl_coef * scene.numbers["kl"], abs=1e-12)
        assert scene.config == TrainConfig(kl_coef=kl_coef)
    # Of the first groups of four, wrong and right ones are pushed apart by A / (P G).
    assert scene.numbers["gradient"] > 0.3 and scene.numbers["reward_last"] > scene.numbers["reward_first"]


def test_two_loss_values_of_one_gradient():
    scene = PUZZLES["loss_is_cosmetic"].at(2)
    run = train(chapter_task(), TrainConfig(kl_coef=0.0))
    assert scene.numbers["largest"] == 0 and scene.numbers["lowest"] == pytest.approx(run.loss.min().item())
    assert scene.charts[0].series[1].values == pytest.approx(run.policy_loss[0].tolist(), abs=1e-12)
    assert scene.numbers["reward_last"] == run.mean_reward[0, -1].item() > scene.numbers["reward_first"]
    still = PUZZLES["loss_is_cosmetic"].at(0)
    assert (
        still.numbers["largest"] == 0
        and still.config.learning_rate == 0
        and still.numbers["target"] == pytest.approx(1 / 3)
    )


def test_ratio_loss_is_that_of_the_training_loop():
    config = TrainConfig(kl_coef=0.1, epochs=5, seed=3)
    history, loss = ratio_loss(chapter_task(), config)
    assert torch.equal(loss, train_method(chapter_task(), config, METHODS["GRPO"]).loss[0])
    assert torch.equal(history.probabilities, train(chapter_task(), config).probabilities)


def test_only_a_second_update_is_clipped():
    for option, updates in enumerate((4, 8, 16)):
        scene = PUZZLES["never_clipped"].at(option)
        one, many = (series.values for series in scene.charts[0].series)
        assert not any(one) and scene.numbers["one"] == 0 and scene.numbers["updates"] == updates
        assert scene.numbers["many"] == pytest.approx(sum(many) / 40) and scene.numbers["most"] == max(many)
    assert 0 < told("never_clipped", 0)["most"] <= told("never_clipped", 1)["most"] <= told("never_clipped", 2)["most"]


def test_minus_detached_by_hand():
    rows = {name: row for name, *row in PUZZLES["minus_detached"].at(1).table.rows}
    assert rows["x − x.detach()"] == [0, 1] and rows["exp(x − x.detach())"] == [1, 1] and rows["x − x"] == [0, 0]
    assert rows["log π"] == pytest.approx([-math.log(3), 1])
    for option, advantage in enumerate((-1, 1, 2)):
        numbers = told("minus_detached", option)
        assert numbers["loss"] == -advantage
        assert numbers["chosen"] == pytest.approx(-2 / 3 * advantage) and numbers["other"] == pytest.approx(
            advantage / 3
        )


def test_the_std_of_the_batch_by_hand():
    silent, mixed = told("batch_std", 0), told("batch_std", 1)
    assert silent["batch_std"] == pytest.approx(math.sqrt(8 * 0.25 / 7))
    assert (silent["first_std"], silent["second_std"], silent["largest"]) == (0, 0, 0)
    assert (silent["silent_share"], silent["silent_share_batch"]) == (1, 0)
    # 1 0 0 0: mean 1/4, std sqrt((9 + 3) / 16 / 3) = 1/2, advantage 3/4 / (1/2 + 1e-4)
    assert mixed["second_std"] == pytest.approx(0.5) and mixed["largest"] == pytest.approx(0.75 / 0.5001)
    assert mixed["batch_std"] == pytest.approx(math.sqrt((5 * (3 / 8) ** 2 + 3 * (5 / 8) ** 2) / 7))
    assert (mixed["silent_share"], mixed["silent_share_batch"]) == (0.5, 0)


def test_a_group_of_one_by_hand():
    scene = PUZZLES["group_of_one"].at(1)
    # G = 2: half of the groups are mixed and push 1/2. G = 4: (8 sqrt(3/16) + 6 / 2) / 16.
    assert scene.charts[0].series[0].values[:3] == pytest.approx((0, 0.25, (8 * math.sqrt(3 / 16) + 3) / 16))
    assert scene.numbers["prompts"] == 2 and scene.numbers["push_one"] == 0
    assert scene.numbers["verl"] == pytest.approx(1 / (1 + 1e-6), abs=1e-9)
    assert [row[1] for row in scene.table.rows] == ["refused", "1.000", "refused", "0.000"]
    assert lone_advantage(lambda: (_ for _ in ()).throw(FieldError("rewards", "no"))) is None


def test_kl_is_logged_only_with_beta():
    without, with_it = (PUZZLES["kl_not_logged"].at(option) for option in (0, 1))
    assert without.numbers["default"] == without.numbers["beta"] == 0 and without.numbers["logged"] == "—"
    # The two tokens' ratios are 4/5 and 5/4, whose logs cancel: k3 adds up to 4/5 + 5/4 - 2.
    assert with_it.numbers["logged"] == f"{(0.8 + 1.25 - 2) / 2:.4f}" == "0.0250"
    assert [row[1] for row in without.table.rows] == ["not logged", "0.0000"]
    for scene in (without, with_it):
        assert scene.numbers["drift"] == pytest.approx(train(chapter_task(), scene.config).mean_kl[0, -1].item())


def test_k3_explodes_without_a_clamp():
    near, _, far, out = (told("kl_explodes", option) for option in range(4))
    assert near["trl"] == pytest.approx(math.e - 2, rel=1e-6) == near["verl"]
    assert (near["trl_gradient"], near["plain_gradient"]) == pytest.approx((-1, 1 - math.e), rel=1e-6)
    assert far["trl"] == pytest.approx(math.exp(11.7) - 12.7, rel=1e-5) and f"{far['trl']:.6g}" == "120559"
    assert (far["verl"], far["verl_gradient"]) == (10, 0)
    assert far["trl_gradient"] == pytest.approx(-11.7, rel=1e-3)
    assert far["plain_gradient"] == pytest.approx(1 - math.exp(11.7), rel=1e-5)
    assert out["trl"] == math.inf and math.isnan(out["trl_gradient"]) and out["plain_gradient"] == -math.inf
    assert (out["verl"], out["verl_gradient"]) == (10, 0)
    assert PUZZLES["kl_explodes"].at(3).table.rows[3][1:] == ("10", "0")


def test_k3_by_hand():
    numbers, log2 = told("k3_as_a_loss"), math.log(2)
    assert numbers["exact"] == pytest.approx(log2 / 4) == numbers["k3"]
    assert numbers["plain"] == pytest.approx(0.25) and numbers["right"] == pytest.approx((log2 - log2 / 4) / 2)
    assert numbers["corrected"] == pytest.approx(numbers["right"])
    exact, plain, corrected = (series.values for series in PUZZLES["k3_as_a_loss"].at().charts[0].series)
    assert plain == pytest.approx((0.25, 0, -0.25)) and corrected == pytest.approx(exact)
    assert [row[1] for row in PUZZLES["k3_as_a_loss"].at().table.rows] == pytest.approx([log2 / 4, log2 / 4, 3 * log2**2 / 8, log2 / 4])  # fmt: skip


def test_a_silent_group_is_moved_by_the_kl_alone():
    log2 = math.log(2)
    gradient = [(log2 - log2 / 4) / 2, -log2 / 16, (-log2 - log2 / 4) / 4]
    for option, kl_coef in enumerate((0.0, 0.04, 0.2)):
        numbers = told("silent_but_moving", option)
        assert numbers["policy"] == 0
        assert numbers["kl"] == pytest.approx(kl_coef * math.hypot(*gradient))
        assert numbers["first"] == pytest.approx(kl_coef * gradient[0])


def test_the_spread_of_rewards_by_hand():
    numbers = told("zero_or_minus_one")
    assert numbers["zero_group"] == pytest.approx(0.5 / (math.sqrt(1 / 3) + 1e-4))
    assert numbers["minus_group"] == pytest.approx(1 / (math.sqrt(4 / 3) + 1e-4))
    assert (numbers["zero_none"], numbers["minus_none"], numbers["ratio"]) == (0.5, 1, 2)
    assert told("zero_or_minus_one", 1)["ratio_shown"] == 2
    assert told("zero_or_minus_one", 0)["ratio_shown"] == pytest.approx(1, abs=1e-3)


def test_none_is_left_out_by_hand():
    three, one = told("none_reward", 0), told("none_reward", 1)
    std = math.sqrt((1 / 9 + 1 / 9 + 4 / 9) / 2)
    assert three["mean"] == pytest.approx(2 / 3) and three["right"] == pytest.approx(1 / 3 / (std + 1e-4))
    assert three["missing"] == 0 == one["missing"] == one["right"]
    assert three["right_as_zero"] == pytest.approx(0.5 / (math.sqrt(1 / 3) + 1e-4)) == -three["missing_as_zero"]
    assert one["right_as_zero"] == pytest.approx(0.75 / (0.5 + 1e-4))


@pytest.mark.parametrize(("option", "length"), enumerate((2, 8, 32)))
def test_weights_of_tokens_by_hand(option, length):
    numbers = told("token_or_sequence_mean", option)
    assert numbers["short"] == pytest.approx(1 / 4) and numbers["long"] == pytest.approx(1 / (2 * length))
    assert numbers["token"] == pytest.approx(1 / (2 + length)) and numbers["times"] == pytest.approx(length / 2)
    assert numbers["share"] == pytest.approx(length / (2 + length))
    rows = PUZZLES["token_or_sequence_mean"].at(option).table.rows
    assert rows[0][1:] == pytest.approx((0.5, 0.5)) and rows[2][1:] == pytest.approx((1, length / 2))


def test_kl_in_the_reward_by_hand():
    numbers = told("kl_in_the_reward", 1)
    compared = [1 - 0.04, 1 - 0.01, -0.02, -0.01]
    mean = sum(compared) / 4
    std = math.sqrt(sum((value - mean) ** 2 for value in compared) / 3) + 1e-6
    assert numbers["far"] == pytest.approx((compared[0] - mean) / std)
    assert numbers["near"] == pytest.approx((compared[1] - mean) / std)
    assert numbers["right"] == pytest.approx(0.5 / (math.sqrt(1 / 3) + 1e-6)) and numbers["silent"] == 0
    for option, kl_coef in enumerate((0.001, 0.1, 1.0)):  # KL 0.4 0.1 0.2 0.1: mean 0.2, std sqrt(0.06 / 3)
        silent = told("kl_in_the_reward", option)["silent_far"]
        assert silent == pytest.approx(-0.2 * kl_coef / (math.sqrt(0.02) * kl_coef + 1e-6))


def test_minibatches_after_the_first_are_clipped():
    one, four, many = (told("clip_within_an_epoch", option) for option in range(3))
    assert (one["first"], one["first_ratio"], one["working"]) == (0, 1, 0)
    assert one["last_ratio"] == 1 and four["first_ratio"] == many["first_ratio"] == 1 and many["first"] == 0
    # A step of Adam moves every logit by 0.03 at most, so k steps a ratio by exp(2 k 0.03) at most.
    for count, numbers in ((4, four), (16, many)):
        assert 1 < numbers["last_ratio"] < math.exp(0.06 * (count - 1))
    assert four["last_ratio"] < 1.2 and four["working"] == 0 < many["working"] and many["last"] > 0.5


def test_dr_grpo_by_hand():
    for option, length in enumerate((2, 8, 32)):
        numbers = told("dr_grpo", option)
        assert numbers["without_std"] == 0.5 and numbers["with_std"] == pytest.approx(0.5 / (math.sqrt(0.5) + 1e-6))
        assert numbers["times"] == pytest.approx(length / 2) and numbers["sum"] == pytest.approx(0.5 / (2 * 64))
        assert numbers["mean"] == pytest.approx(0.5 / (2 + length))
        pushes = [row[3:] for row in PUZZLES["dr_grpo"].at(option).table.rows]
        assert pushes[2][0] == pytest.approx(-pushes[2][1]) and pushes[3][0] == pytest.approx(-pushes[3][1])
        assert pushes[1] == pytest.approx((0.5 / 4, -0.5 / (2 * length)))


def test_float_noise_is_the_frameworks_alone():
    for option in range(3):
        numbers = told("float_noise", option)
        assert numbers["own"] == 0
        if numbers["reward"] == 0.5:
            assert (numbers["trl"], numbers["verl"], numbers["openrlhf"]) == (0, 0, 0)
        elif numbers["openrlhf"]:  # the mean rounds otherwise on another processor
            assert abs(numbers["openrlhf"]) > 1 > abs(numbers["verl"]) > abs(numbers["trl"])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2703", ["loss_rises"]), ("trl #2703", ["loss_rises"]), ("#957", ["token_or_sequence_mean"]),
        ("nan", ["kl_not_logged", "kl_explodes"]), ("CLIP_RATIO", ["never_clipped", "clip_within_an_epoch"]),
        ("detach", ["minus_detached"]), ("loss_agg_mode dr.", ["dr_grpo"]), ("gradient descent of cats", []),
        ("{first:.4f}", []), ("<script>alert(1)</script>", []), ("%s {0} \\", []),
    ],
)  # fmt: skip
def test_search(text, found):
    assert list(search(text)) == found


def test_search_reads_both_languages_and_offers_all_for_nothing():
    assert search("") == search("  \t") == tuple(PUZZLES)
    assert {"kl_not_logged", "kl_explodes", "k3_as_a_loss", "kl_in_the_reward"} <= set(search("kl"))
    chinese = {PUZZLES["dr_grpo"].question: "关掉标准差开关"}
    assert search("标准差", lambda text: chinese.get(text, text)) == ("dr_grpo",)
    assert search("std flag", lambda text: chinese.get(text, text)) == ("dr_grpo",)
