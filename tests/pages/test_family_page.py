"""The page GRPO family: its table, advantages, formula, clip, runs and paste box against the core."""

import json
import re

import pytest
import torch

from grpo_core import TrainConfig, chapter_task
from grpo_core.family import clip_curve, ratio_range
from grpo_core.frameworks import PRESETS
from grpo_core.frameworks.slots import SLOTS, differing
from grpo_core.method_bands import train_family
from grpo_core.methods import Method
from tests.pages.reading import charts, numbers, open_page, shown, trace

NAME = "grpo_family"


def formulas(page) -> str:
    return "\n".join(element.value.strip("$\n ") for element in page.latex)


def paste(text: str, **params):
    page = open_page(NAME, **params)
    return page.text_area(key="paste_text").set_value(text).run()


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("key", PRESETS)
def test_every_preset_shows_whole(lang, key):
    page = open_page(NAME, lang=lang, preset=key, epochs="5")
    assert not page.exception and not page.warning and not page.error
    assert len(page.get("plotly_chart")) == 6 and len(page.table) == 1 and len(page.latex) >= 2
    for chart, spec in zip(page.get("plotly_chart"), charts(page), strict=True):
        assert chart.proto.alt and spec["layout"]["title"]["text"]
        assert bool(re.search(r"[\u4e00-\u9fff]", chart.proto.alt)) == (lang == "zh")
    assert "nan" not in (shown(page) + formulas(page)).lower()


def test_no_english_words_stand_in_the_chinese_table():
    for key in PRESETS:
        for column in list(open_page(NAME, lang="zh", preset=key, epochs="3").table[0].value.items()):
            for cell in column[1]:
                words = re.sub(r":orange-badge|ddof|KL|k[123]\b|[\d.e\\-]+", "", cell)
                assert not re.search(r"[A-Za-z]{2,}", words), cell


@pytest.mark.parametrize("key", ["trl", "maxrl", "chapter"])
def test_the_table_marks_the_slots_that_differ(key):
    page = open_page(NAME, preset=key)
    different = differing(PRESETS[key].algorithm, PRESETS["chapter"].algorithm)
    marked = ["differs" in cell for cell in page.table[0].value["slot"]]
    assert marked == [slot in different for slot in SLOTS]
    assert (f"in {len(different)} of six slots" in shown(page)) == (key != "chapter")


def test_the_sidebar_sets_the_chapter_s_slots():
    page = open_page(NAME, kl_coef="0.5", ddof="1")
    assert "0\\.5" in page.table[0].value["The chapter"][4] and "ddof 1" in page.table[0].value["The chapter"][1]


@pytest.mark.parametrize("rewards", ["", "1,1,0", "3"])
def test_the_advantages_are_the_core_s(rewards):
    page = open_page(NAME, rewards=rewards)
    given = [float(part) for part in (rewards or "1,0,0,0.5").split(",")]
    drawn = charts(page)[0]["data"][0]
    table = numbers(drawn["z"])
    kept = [key for key in PRESETS if len(given) > 1 or PRESETS[key].algorithm.estimator.smallest == 1]
    assert len(drawn["y"]) == len(kept)
    expected = [value for key in kept for value in PRESETS[key].algorithm.advantages([given])[0].tolist()]
    flat = table if not isinstance(table[0], list) else [value for row in table for value in row]
    assert flat == pytest.approx(expected, abs=1e-5)
    assert ("at least 2 samples" in shown(page)) == (len(given) == 1)


def test_bad_rewards_keep_the_last_good_group():
    page = open_page(NAME)
    page.text_input(key="setting_rewards").set_value("1, x").run()
    assert not page.exception and len(page.error) == 1
    assert "numbers" in page.error[0].value and numbers(charts(page)[0]["data"][0]["z"])
    page.text_input(key="setting_rewards").set_value("0, 1").run()
    assert not page.error and page.query_params["rewards"] in ("0, 1", ["0, 1"])


def test_the_formula_comes_out_with_the_group_s_numbers():
    for key, preset in PRESETS.items():
        text = formulas(open_page(NAME, preset=key, epochs="2"))
        advantage = preset.algorithm.advantages([[1, 0, 0, 0.5]])[0, 0].item()
        assert float(re.findall(r"= ([+-][\d.]+)$", text, re.MULTILINE)[-1]) == pytest.approx(advantage, abs=1e-3), key
        fraction = re.search(r"frac{([\d.]+) - ([\d.]+)}{([\d.]+)} = ([+][\d.]+)", text)
        if fraction:
            value, baseline, divisor, result = map(float, fraction.groups())
            assert (value - baseline) / divisor == pytest.approx(result, abs=2e-3)
    assert r"\text{clip}(\rho, 0.8, 1.28)" in formulas(open_page(NAME, preset="dapo", epochs="2"))


def test_the_clip_is_drawn_from_the_core():
    algorithm = PRESETS["verl"].algorithm
    page = charts(open_page(NAME, preset="verl", epochs="2"))
    for chart, part in ((page[1], "objective"), (page[2], "slope")):
        for name, advantage in (("A = +1", 1.0), ("A = −1", -1.0)):
            drawn = trace(chart, name)
            ratios = numbers(drawn["x"])
            assert (ratios[0], ratios[-1]) == pytest.approx(ratio_range(algorithm)) and ratios[-1] > 3
            curve = clip_curve(
                algorithm, torch.linspace(*ratio_range(algorithm), len(ratios), dtype=torch.float64), advantage
            )
            assert numbers(drawn["y"]) == pytest.approx(getattr(curve, part).tolist(), abs=1e-5)


@pytest.mark.parametrize("updates", ["1", "4"])
def test_the_runs_and_what_cannot_be_told_apart(updates):
    page = open_page(NAME, updates=updates, epochs="20", seed="5")
    methods = {
        key: Method(key, algorithm=preset.algorithm, max_draws=preset.max_draws, inner_epochs=int(updates))
        for key, preset in PRESETS.items()
    }
    family = train_family(chapter_task(), TrainConfig(epochs=20), methods)
    drawn = trace(charts(page)[3], "TRL default")
    assert numbers(drawn["y"]) == pytest.approx(family.bands["trl"].mean_reward[1].tolist(), abs=1e-5)
    ends = charts(page)[5]["data"][0]
    assert sorted(numbers(ends["x"])) == pytest.approx(
        sorted(bands.mean_reward[1, -1].item() for bands in family.bands.values())
    )
    said = "\n".join(info.value for info in page.info)
    if updates == "1":
        assert "Cannot be told apart from TRL default here: GSPO, CISPO" in said and "one token" in said
        assert [label for label in ends["y"] if label.startswith("= ")] and "more than 0." in said
    else:
        assert "Every other preset can be told apart from TRL default" in said


@pytest.mark.parametrize(("updates", "right"), [("1", 0), ("4", 2)])
def test_the_question_is_answered_by_computing(updates, right):
    page = open_page(NAME, updates=updates, epochs="10")
    for option in range(3):
        page.radio(key=f"{NAME}_prediction").set_value(option).run()
        assert not page.exception and bool(page.success) == (option == right)


def test_a_pasted_configuration_becomes_the_preset_and_is_in_the_link():
    page = paste("loss_type: grpo\nbeta: 0.25\nlearning_rate: 1e-6\noutput_dir: x", epochs="5")
    assert not page.exception and not page.error
    assert "your configuration" in page.table[0].value and "0\\.25" in page.table[0].value["your configuration"][4]
    text = shown(page)
    assert "**Read** (2): loss\\_type, beta" in text and "(1): learning\\_rate" in text and "(1): output\\_dir" in text
    link = page.query_params["pasted"]
    link = link if isinstance(link, str) else link[0]
    assert json.loads(link) == {"framework": "trl", "loss_type": "grpo", "beta": 0.25}
    again = open_page(NAME, pasted=link, epochs="5")
    assert not again.warning and "your configuration" in again.table[0].value
    assert numbers(charts(again)[0]["data"][0]["z"]) == pytest.approx(numbers(charts(page)[0]["data"][0]["z"]))
    again.selectbox(key="setting_preset").set_value("dapo").run()
    assert "DAPO" in again.table[0].value and "pasted" not in again.query_params


def test_what_is_not_covered_is_named_beside_the_field_and_the_last_picture_stays():
    page = paste("loss_type: dapo\ntop_entropy_quantile: 0.2", preset="rloo", epochs="5")
    assert not page.exception and "top\\_entropy\\_quantile" in page.error[0].value and "RLOO" in page.table[0].value
    page.text_area(key="paste_text").set_value("epsilon: 0.1").run()
    assert "choose it above" in page.error[0].value
    page.segmented_control(key="paste_framework").set_value("trl").run()
    assert not page.error and "your configuration" in page.table[0].value
    for text in ("<script>alert(1)</script>: 1", "a: &a [1]", "{" * 500, "**x**: $y$"):
        page.text_area(key="paste_text").set_value(text).run()
        assert not page.exception and len(page.error) == 1 and "<script>" not in page.error[0].value


def test_a_large_configuration_stays_in_the_session():
    page = paste("loss_type: grpo\nreward_weights: [" + ", ".join(["1.5"] * 300) + "]", epochs="3")
    assert not page.exception and not page.error and page.query_params["pasted"] in ("own", ["own"])
    assert "your configuration" in page.table[0].value
    other = open_page(NAME, pasted="own")
    assert len(other.warning) == 1 and "too large for a link" in other.warning[0].value


@pytest.mark.parametrize("pasted", ["x", "{}", '{"framework":"trl","foo":1}', '{"framework":"verl"}', "[" * 999])
def test_bad_pasted_links_fall_back_with_a_notice(pasted):
    page = open_page(NAME, pasted=pasted, epochs="3")
    assert not page.exception and len(page.warning) == 1 and "TRL default" in page.table[0].value


@pytest.mark.parametrize(
    "params",
    [
        {"group_size": "1"}, {"group_size": "64", "epochs": "500"}, {"task": "graded"}, {"optimizer": "sgd"},
        {"learning_rate": "0"}, {"learning_rate": "1", "updates": "4"}, {"rewards": ",".join(["1", "0"] * 32)},
        {"rewards": "-1000000,1000000,0.000001"}, {"rewards": "0,0"},
    ],
)  # fmt: skip
def test_extreme_settings_run(params):
    page = open_page(NAME, **params)
    assert not page.exception and "nan" not in (shown(page) + formulas(page)).lower()
    assert ("fewer seeds or epochs" in shown(page)) == (params.get("epochs") == "500")


def test_the_chosen_preset_may_be_one_that_refuses_the_group():
    page = open_page(NAME, preset="trl", group_size="1", rewards="1", epochs="3")
    assert not page.exception and "TRL default" in shown(page) and not page.info
