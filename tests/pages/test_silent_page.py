"""Silent groups: the map, the count and the cost are the core's numbers."""

import json
import re

import numpy as np
import pytest

from grpo_core import TrainConfig, chapter_task, expected_push, silent_probability, train, train_bands
from tests.pages.reading import charts, numbers, open_page, shown, trace
from ui.tasks import bandit_of


def test_the_map_and_the_dots():
    data = json.loads(open_page("silent_groups", group_size="5", seed="2").get("bidi_component")[0].proto.json)
    history = train(chapter_task(), TrainConfig(group_size=5, seed=2))
    sizes = data["map"]["sizes"]
    assert sizes[data["map"]["row"]] == 5 and sizes[0] == 1 and sizes[-1] == 64
    columns = len(data["map"]["table"][0])
    for row, size in enumerate(sizes):
        chances = silent_probability((np.arange(columns) + 0.5) / columns, size)
        assert data["map"]["table"][row] == pytest.approx(chances.tolist(), abs=0.006)
    counted, expected = data["curves"]["silent"]
    bands = train_bands(chapter_task(), TrainConfig(group_size=5))
    for frame, epoch in enumerate(data["epochs"]):
        p = history.target_probabilities[0, epoch - 1].numpy()
        assert data["map"]["chance"][frame] == pytest.approx(silent_probability(p, 5).tolist(), abs=6e-4)
        assert expected["values"][frame] == pytest.approx(silent_probability(p, 5).sum(), abs=2e-3)
        assert counted["values"][frame] == history.silent[0, epoch - 1].sum()
        assert counted["high"][frame] == pytest.approx(3 * bands.silent_share[2, epoch - 1].item(), abs=6e-5)


def test_the_count_in_words_and_the_formula():
    page = open_page("silent_groups", seed="4", group_size="3")
    history = train(chapter_task(), TrainConfig(seed=4, group_size=3))
    assert f"In this run {int(history.silent.sum())} of 120 groups were silent" in shown(page)
    assert f"= {silent_probability(1 / 3, 3):.4f}" in page.get("latex")[1].value


def test_push_curves_are_the_theory_s():
    chart = charts(open_page("silent_groups", group_size="8"))[0]
    p = np.linspace(0, 1, 101)
    assert numbers(trace(chart, "with std")["y"]) == pytest.approx(expected_push(p, 8).tolist())
    assert numbers(trace(chart, "without std")["y"]) == pytest.approx((p * (1 - p) * 7 / 8).tolist())
    assert numbers(trace(chart, "REINFORCE, no baseline")["y"]) == pytest.approx((p * (1 - p)).tolist())


def test_groups_against_prompts():
    reach, budget = charts(open_page("silent_groups"))[1:3]
    sizes = np.array([2, 4, 8, 16, 32, 64])
    for p in (0.05, 0.2, 0.5):
        heard = 1 - p**sizes - (1 - p) ** sizes
        assert numbers(trace(reach, f"p = {p:g}")["y"]) == pytest.approx(heard.tolist())
        assert numbers(trace(budget, f"p = {p:g}")["y"]) == pytest.approx((64 / sizes * heard).tolist())


def test_dynamic_sampling_is_a_switch_with_its_cost():
    page = open_page("silent_groups", epochs="20")
    assert len(charts(page)[3]["data"]) == 2 and "drawn again:" not in shown(page)
    page = open_page("silent_groups", epochs="20", dynamic="on")
    lines = charts(page)[3]["data"]
    history = train(chapter_task(), TrainConfig(epochs=20), seeds=range(32), keep_samples=0, max_draws=8)
    samples = 4 * history.draws.double().sum((1, 2)).mean().item()
    assert numbers(lines[3]["x"])[-1] == pytest.approx(samples)
    assert numbers(lines[1]["x"])[-1] == 20 * 12
    assert f"drawn again: {samples:,.0f} samples a run, {history.silent.double().mean():.0%} of the groups" in shown(
        page
    )


def test_float_noise_is_computed_live():
    page = open_page("silent_groups")
    rows = page.table[0].value["advantage of each answer"].tolist()
    assert rows[-1] == "0.000000" and abs(float(rows[2].replace("−", "-"))) > 10
    page.number_input(key="noise_reward").set_value(0.5).run()
    assert set(page.table[0].value["advantage of each answer"]) == {"0.000000"}
    page.number_input(key="noise_reward").set_value(None).run()
    assert not page.exception


def test_the_question_is_answered_by_training():
    page = open_page("silent_groups", epochs="10")
    page.radio(key="silent_groups_prediction").set_value(0).run()
    assert len(page.success) + len(page.info) == 1 and not page.exception
    before, after = (
        train_bands(chapter_task(), TrainConfig(epochs=10, group_size=size)).silent_share.mean(-1)[1] for size in (4, 8)
    )
    text = (page.success or page.info)[0].value
    assert f"{before:.0%} with groups of 4, {after:.0%} with groups of 8" in text


def test_graded_rewards_have_their_own_chance_and_no_place_on_the_curves():
    page = open_page("silent_groups", task="graded", group_size="3")
    history = train(bandit_of("graded"), TrainConfig(group_size=3))
    assert not history.task.is_binary
    chance = history.silent_probability[0]
    data = json.loads(page.get("bidi_component")[0].proto.json)
    assert data["map"]["chance"][0] == pytest.approx(chance[0].tolist(), abs=6e-4)
    formulas = [element.value for element in page.get("latex")]
    assert r"\sum_{r} P(r)^G" in formulas[0]
    levels = [float(level) for level in re.findall(r"([\d.]+)\^\{3\}", formulas[1])]
    assert len(levels) == len(history.task.rewards[0].unique()) > 2
    assert sum(level**3 for level in levels) == pytest.approx(chance[0, 0].item(), abs=2e-3)
    assert f"= {chance[0, 0]:.4f}" in formulas[1]
    assert "more rewards" in shown(page)
    assert all(trace.get("mode") == "lines" for trace in charts(page)[0]["data"])
    assert [trace.get("mode") for trace in charts(open_page("silent_groups"))[0]["data"]][-1] == "markers"
