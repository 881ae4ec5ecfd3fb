"""The page PPO, DPO, GRPO: its charts, table, scenes, formulas and question against the core."""

import base64
import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from grpo_core import METHODS, TrainConfig, chapter_task, one_update, train, train_method
from grpo_core.method_bands import MethodBands, method_seeds, silent_shares, train_method_bands
from tests.pages.reading import charts, open_page, shown
from ui.i18n import escape
from ui.method_figures import NAMES

TASK = chapter_task()
NAME = "ppo_dpo_grpo"


def numbers(values) -> np.ndarray:
    if isinstance(values, dict):
        return np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"])
    return np.array(values, dtype=float)


def lines(chart: dict) -> dict[str, dict]:
    return {trace["name"]: trace for trace in chart["data"] if "name" in trace}


def column(page, method: str) -> dict[str, str]:
    table = next(table.value for table in page.table if method in table.value)
    return dict(zip(table["what it needs"], table[method], strict=True))


def formulas(page) -> list[str]:
    return [element.value.strip("$\n ") for element in page.latex]


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("methods", ["three", "all"])
def test_it_runs_with_described_charts_and_tables(lang, methods):
    page = open_page(NAME, lang=lang, methods=methods)
    assert not page.exception and not page.warning
    assert len(page.get("plotly_chart")) == 5 and len(page.table) == (1 if methods == "three" else 2)
    for chart, spec in zip(page.get("plotly_chart"), charts(page), strict=True):
        assert chart.proto.alt and spec["layout"]["title"]["text"] and spec["layout"]["xaxis"]["title"]["text"]
        assert bool(re.search(r"[\u4e00-\u9fff]", chart.proto.alt)) == (lang == "zh")


@pytest.mark.parametrize("metric", ["mean_reward", "mean_kl"])
def test_curves_are_the_core_s_medians_and_bands(metric):
    chart = charts(open_page(NAME, epochs="12", group_size="6", methods="all", seed="7"))[metric == "mean_kl"]
    drawn, bands = lines(chart), [trace for trace in chart["data"] if trace.get("fill") == "toself"]
    assert list(drawn) == list(NAMES.values())
    assert len({(trace["line"]["color"], trace["line"]["dash"]) for trace in drawn.values()}) == 6
    for (name, label), band in zip(NAMES.items(), bands, strict=True):
        history = train_method(TASK, TrainConfig(epochs=12, group_size=6), METHODS[name], range(64))
        low, median, high = getattr(history, metric).quantile(
            torch.tensor([0.05, 0.5, 0.95], dtype=torch.float64), dim=0
        )
        assert numbers(drawn[label]["y"]) == pytest.approx(median.numpy(), abs=1e-5)
        assert numbers(band["y"]) == pytest.approx(torch.cat([high, low.flip(0)]).numpy(), abs=1e-5)
        assert numbers(drawn[label]["customdata"]).tolist() == history.samples_used.tolist()
    assert numbers(drawn["DPO"]["customdata"]).tolist() == [216] * 13
    assert numbers(drawn["GRPO"]["customdata"])[-1] == 216


def test_the_switch_adds_the_variants_and_is_in_the_link():
    page = open_page(NAME)
    assert list(lines(charts(page)[0])) == ["PPO", "DPO", "GRPO"]
    page.segmented_control(key="setting_methods").set_value("all").run()
    assert list(lines(charts(page)[0])) == list(NAMES.values())
    assert page.query_params["methods"] in ("all", ["all"])
    assert len(open_page(NAME, methods="some").warning) == 1


def test_the_table_says_what_each_needs():
    page = open_page(NAME, epochs="10", methods="all")
    dpo = train_method(TASK, TrainConfig(epochs=10), METHODS["DPO"], range(64))
    kept = dpo.pairs.sum((1, 2, 3)).quantile(0.5).item()
    ppo, grpo, offline = (column(page, name) for name in ("PPO", "GRPO", "DPO"))
    assert [row["online samples"] for row in (ppo, grpo, offline)] == ["yes", "yes", "no"]
    assert ppo["samples drawn"] == grpo["samples drawn"] == "120" and offline["samples drawn"].startswith(
        "120, all before"
    )
    assert [row["updates per rollout"] for row in (ppo, grpo)] == ["4", "1"]
    assert [row["updates in the run"] for row in (ppo, grpo, offline)] == ["40", "10", "10"]
    assert ppo["extra parameters"].startswith("3,") and grpo["extra parameters"] == offline["extra parameters"] == "0"
    assert [row["value model"] for row in (ppo, grpo, offline)] == ["yes", "no", "no"]
    assert offline["preference pairs"] == f"{kept:g} of 60, the rest are ties" and ppo["preference pairs"] == "no"
    assert float(offline["expected reward at the end"]) == pytest.approx(
        dpo.mean_reward[:, -1].quantile(0.5).item(), abs=6e-4
    )
    assert column(page, "REINFORCE")["a reward is compared with"] == "nothing"
    assert column(open_page(NAME, kl_coef="0"), "GRPO")["reference policy"] == "no, kl_coef is 0"


def test_the_pairs_on_screen_are_the_seed_s_and_missing_ones_are_named():
    for params in ({"seed": 3, "epochs": 2}, {"seed": 0, "epochs": 40}):
        page = open_page(NAME, **{key: str(value) for key, value in params.items()})
        pairs = train_method(TASK, TrainConfig(**params), METHODS["DPO"]).pairs[0]
        both = pairs + pairs.transpose(1, 2)
        expected = [int(prompt[i, j]) for prompt in both for i, j in ((0, 1), (0, 2), (1, 2))]
        (bars,) = charts(page)[2]["data"]
        assert numbers(bars["x"]).tolist() == expected
        assert bars["text"] == [str(count) if count else "never" for count in expected] and 0 in expected
        assert charts(page)[2]["layout"]["yaxis"]["ticktext"][:3] == ["4 &gt; paris", "4 &gt; a", "paris = a"]


def test_what_one_epoch_s_pairs_leave_out_stays_where_it_was():
    history = train_method(TASK, TrainConfig(epochs=1), METHODS["DPO"], range(64))
    bare = history.pairs.sum((2, 3)) == 0
    assert 0.1 < bare.double().mean() < 0.9
    assert history.probabilities[:, -1][bare] == pytest.approx(1 / 3, abs=1e-12)
    assert f"Of one epoch's samples 12 can be paired; from those alone, {bare.double().mean().item():.0%} of" in shown(
        open_page(NAME)
    )
    assert "from those alone" not in shown(open_page(NAME, group_size="64"))


def test_the_margin_is_the_core_s_and_still_grows():
    margin = train_method(TASK, TrainConfig(), METHODS["DPO"], range(64)).margin.median(0).values
    assert margin[-1] > margin[-2] > margin[20] > 0
    sentence = re.search(r"goes from 0 to ([\d.]+); the last epoch still added ([\d.]+)\.", shown(open_page(NAME)))
    assert float(sentence[1]) == pytest.approx(margin[-1].item(), abs=6e-4)
    assert float(sentence[2]) == pytest.approx((margin[-1] - margin[-2]).item(), abs=6e-5)


def test_the_value_lags_behind_the_reward_at_first():
    page = open_page(NAME)
    history = train_method(TASK, TrainConfig(), METHODS["PPO"], range(64))
    value, reward = history.values.mean(-1).quantile(0.5, dim=0), history.mean_reward.quantile(0.5, dim=0)
    drawn = lines(charts(page)[3])
    assert numbers(drawn["value"]["y"]) == pytest.approx(value.numpy(), abs=1e-5)
    assert numbers(drawn["expected reward"]["y"]) == pytest.approx(reward.numpy(), abs=1e-5)
    lag = reward - value
    assert f"furthest behind in epoch {lag.argmax()}, by {lag.max():.2f}" in shown(page)
    assert lag.argmax() < 10 and lag[-1].abs() < lag.max() / 10


def test_silent_groups_are_counted():
    page = open_page(NAME, epochs="20")
    shares = train(TASK, TrainConfig(epochs=20), seeds=range(64)).silent.double().mean((0, 2))
    assert silent_shares(TASK, TrainConfig(epochs=20)) == pytest.approx(shares)
    (curve,) = charts(page)[4]["data"]
    assert numbers(curve["y"]) == pytest.approx(shares.numpy(), abs=1e-6)
    assert f"Of the 240 samples of a run, {240 * shares.mean():.0f} were in silent groups" in shown(page)
    assert "Of the 120 samples of a run, 120 were in silent groups (100%)" in shown(open_page(NAME, group_size="1"))


@pytest.mark.parametrize(
    "params", [{}, {"seed": "2", "learning_rate": "0.01"}, {"optimizer": "sgd"}, {"seed": "5", "learning_rate": "1"}]
)
def test_the_formulas_come_out(params):
    page = open_page(NAME, **params)
    text = "\n".join(formulas(page))
    value = r"([+-]?[\d.]+)"
    new, old, ratio = map(float, re.search(rf"frac{{{value}}}{{{value}}} = {value}", text).groups())
    assert new / old == pytest.approx(ratio, abs=2e-3)
    factor, advantage, held, _, objective = map(
        float, re.search(rf"min\({value} \\cdot {value},\\ {value} \\cdot {value}\) \\\\ &= {value}", text).groups()
    )
    assert factor == ratio and held == pytest.approx(min(max(ratio, 0.8), 1.2))
    assert min(factor * advantage, held * advantage) == pytest.approx(objective, abs=1e-3)
    clipped = "The clip holds it" in shown(page)
    assert clipped == (factor * advantage > held * advantage)
    beta, chosen, rejected, margin = map(
        float, re.search(rf"m &= {value}\\cdot\({value} - \({value}\)\) \\\\ &= {value}", text).groups()
    )
    assert beta * (chosen - rejected) == pytest.approx(margin, abs=7e-5)
    shown_margin, loss = map(float, re.search(rf"-\\log\\sigma\({value}\) = {value}", text).groups())
    assert shown_margin == margin and np.log1p(np.exp(-margin)) == pytest.approx(loss, abs=1e-4)
    reward, mean, std, advantage = map(
        float, re.search(rf"A_{{\d+}} = \\frac{{{value} - {value}}}{{{value} \+ 10\^{{-6}}}} = {value}", text).groups()
    )
    assert (reward - mean) / std == pytest.approx(advantage, abs=0.005)
    assert not re.search(r"-0\.0+(?![0-9])", text)


def test_the_ratio_is_that_before_ppo_s_last_update():
    text = "\n".join(formulas(open_page(NAME)))
    run = train_method(TASK, TrainConfig(epochs=1), replace(METHODS["PPO"], inner_epochs=3)).probabilities[0, -1]
    assert f"{{{run[0, 0]:.4f}}}{{0.3333}}" in text


@pytest.mark.parametrize(
    ("params", "right"), [({}, 0), ({"learning_rate": "0"}, 1), ({"group_size": "1", "epochs": "1"}, 1)]
)
def test_noisy_labels_are_answered_by_computing(params, right):
    page = open_page(NAME, **params)
    for option in range(3):
        page.radio(key=f"{NAME}_prediction").set_value(option).run()
        assert not page.exception and bool(page.success) == (option == right)
    if not params:
        noisy = replace(METHODS["DPO"], pairs="bradley_terry")
        ends = [
            train_method(TASK, TrainConfig(), method, range(64)).margin[:, -1].quantile(0.5)
            for method in (METHODS["DPO"], noisy)
        ]
        assert f"{ends[0]:.3f} with clean labels, {ends[1]:.3f} with noisy ones" in page.info[0].value


def test_no_pairs_are_said_not_hidden():
    page = open_page(NAME, group_size="1", epochs="1")
    assert column(page, "DPO")["preference pairs"] == "no pairs" and column(page, "DPO")["samples drawn"] == "0"
    assert "There are no pairs in the data." in shown(page) and "nan" not in shown(page).lower()
    assert "DPO has nothing to learn from" in shown(page) and "silent group teaches nothing" in shown(page)


@pytest.mark.parametrize(
    "params",
    [
        {"kl_coef": "2"},
        {"epochs": "500", "group_size": "64"},
        {"epochs": "3", "group_size": "1"},
        {"ddof": "1", "epsilon": "1"},
    ],
)
def test_extreme_settings_run(params):
    page = open_page(NAME, methods="all", **params)
    assert not page.exception and "nan" not in shown(page).lower()
    assert ("fewer seeds than 64" in shown(page)) == (params.get("group_size") == "64")


def test_bands_use_fewer_seeds_for_a_large_run_and_none_of_the_seed():
    assert method_seeds(TASK, TrainConfig()) == 64 and method_seeds(TASK, TrainConfig(epochs=500, group_size=64)) == 20
    assert method_seeds(TASK, TrainConfig(epochs=10_000, group_size=64)) == 8
    first, second = (train_method_bands(TASK, TrainConfig(epochs=5, seed=seed), METHODS["GRPO"]) for seed in (0, 9))
    assert torch.equal(first.mean_reward, second.mean_reward)


def test_bands_of_runs_without_pairs():
    bands: MethodBands = train_method_bands(TASK, TrainConfig(epochs=1, group_size=1), METHODS["DPO"])
    assert bands.pairs_kept == 0 and bands.without_pair == 1 and bands.margin.isnan().all()
    online = train_method_bands(TASK, TrainConfig(epochs=3), METHODS["PPO"])
    assert online.without_pair == 0 and online.extra_parameters == 3


def test_the_formulas_follow_the_prompt_and_say_what_does_not_push():
    notes = ("The reward is the value", "The clip holds it", "Not clipped")
    seen = set()
    for seed in range(4):
        group = one_update(TASK, TrainConfig(seed=seed, group_size=2)).group
        for prompt in range(3):
            page = open_page(NAME, seed=str(seed), group_size="2", prompt=str(prompt + 1))
            best = int(group.rewards[prompt].argmax())
            answer = TASK.actions[group.actions[prompt, best]]
            assert f"answer {best + 1} to “{escape(TASK.prompts[prompt])}”: {answer}." in shown(page)
            (note,) = (note for note in notes if note in shown(page))
            assert (note == notes[0]) == (group.rewards[prompt, best] == 0)
            assert ("silent group teaches nothing" in shown(page)) == group.silent[prompt].item()
            seen.add((note, group.silent[prompt].item()))
    assert {(notes[0], True), (notes[1], False)} <= seen
