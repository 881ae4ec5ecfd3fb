"""The page Scale up: both scripts against the core's, its controls and link, bad model names, the table and the question."""

import re

import pytest

from grpo_core import TrainConfig
from grpo_core.frameworks import PRESETS
from grpo_core.scale_up import GPUS, NODES, Setup, trl_script, trl_settings, verl_command, verl_overrides
from tests.hostile import TEXTS
from tests.pages.reading import charts, numbers, open_page, shown, trace
from ui import links
from ui.i18n import say, translator
from ui.scale_view import other_group

NAME = "scale_up"
CHINESE = r"[\u4e00-\u9fff]"
CODE = {
    "TRL",
    "verl",
    "vLLM",
    "GPU",
    "GB",
    "AdamW",
    "adam",
    "logit",
    "GSM8K",
    "transformers",
    "SGLang",
    "Adam",
    "KL",
    "Hugging",
    "Face",
}


def scripts(page) -> list[str]:
    return [block.value for block in page.get("code")]


def link(page) -> dict[str, str]:
    return {key: value if isinstance(value, str) else value[0] for key, value in page.query_params.items()}


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("key", PRESETS)
def test_every_preset_shows_both_scripts_and_what_they_lose(key, lang):
    page, _ = open_page(NAME, lang=lang, preset=key), translator(lang)
    setup = Setup(TrainConfig(), PRESETS[key])
    assert not page.exception and not page.error and not page.warning and not page.info
    assert scripts(page) == [trl_script(setup).strip(), verl_command(setup).strip()]
    assert [button.proto.label for button in page.get("download_button")] == [
        _("Download {file}").format(file=file) for file in ("grpo_gsm8k.py", "grpo_gsm8k.sh")
    ]
    text = shown(page)
    for exported in (trl_settings(setup), verl_overrides(setup)):
        for message in exported.differences:
            assert f"- {say(_, message)}" in text
    can_say = sum(not exported(setup).differences for exported in (trl_settings, verl_overrides))
    assert text.count(_("{framework} can say all of this algorithm.").replace("{framework}", "")) == can_say
    (chart,) = page.get("plotly_chart")
    assert bool(re.search(CHINESE, chart.proto.alt)) == (lang == "zh")


def test_the_controls_are_in_the_scripts_and_in_the_link():
    page = open_page(NAME, preset="dapo", group_size="6", seed="3")
    page.segmented_control(key="setting_gpus").set_value("8").run()
    page.segmented_control(key="setting_nodes").set_value("2").run()
    page.segmented_control(key="setting_vllm").set_value("off").run()
    page.segmented_control(key="setting_updates").set_value("4").run()
    page.text_input(key="setting_model").set_value(" org/Tiny-1B ").run()
    setup = Setup(TrainConfig(group_size=6, seed=3), PRESETS["dapo"], 4, "org/Tiny-1B", 8, 2, False)
    expected = [trl_script(setup).strip(), verl_command(setup).strip()]
    assert not page.exception and not page.error and scripts(page) == expected
    held = link(page)
    assert held == {
        "preset": "dapo", "group_size": "6", "seed": "3", "gpus": "8", "nodes": "2", "vllm": "off", "updates": "4",
        "model": "org/Tiny-1B",
    }  # fmt: skip
    again = open_page(NAME, **held)
    assert not again.warning and scripts(again) == expected
    assert again.text_input(key="setting_model").value == "org/Tiny-1B"


def test_a_pasted_configuration_comes_along():
    page = open_page(NAME, pasted='{"framework":"trl","loss_type":"cispo","epsilon_high":4.0}')
    assert (
        not page.exception
        and not page.warning
        and '"cispo"' in scripts(page)[0]
        and "loss_mode=cispo" in scripts(page)[1]
    )
    page.selectbox(key="setting_preset").set_value("rloo").run()
    assert "adv_estimator=rloo" in scripts(page)[1] and "pasted" not in page.query_params


@pytest.mark.parametrize("text", [*TEXTS, "gpt2", "a/b; rm -rf /", "a/b$(id)", 'x/"y"', "<script>/a"])
def test_a_bad_model_name_keeps_the_last_good_script(text):
    page = open_page(NAME, model="org/good-1B")
    before = scripts(page)
    page.text_input(key="setting_model").set_value(text).run()
    (error,) = page.error
    assert not page.exception and scripts(page) == before and "The last good model stays" in error.value
    assert page.text_input(key="setting_model").value == text.strip() and link(page)["model"] == "org/good-1B"
    assert not re.search(r"(?<!\\)[<*`$\[{]", error.value)
    page.text_input(key="setting_model").set_value("org/other").run()
    assert not page.error and '"org/other"' in scripts(page)[0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gpus", "3"),
        ("nodes", "0"),
        ("vllm", "yes"),
        ("model", "gpt2"),
        ("model", "a/b`id`"),
        ("gpus", "<b>"),
        ("updates", "9"),
    ],
)
def test_a_bad_link_falls_back_with_a_notice(name, value):
    page = open_page(NAME, **{name: value})
    assert not page.exception and len(page.warning) == 1 and name in page.warning[0].value
    assert page.session_state["settings"][name] == links.ALL_DEFAULTS[name] and len(scripts(page)) == 2


def test_a_group_of_one_is_refused_by_trl_and_taken_by_verl():
    page = open_page(NAME, group_size="1")
    assert not page.exception and len(scripts(page)) == 1 and "rollout.n=1" in scripts(page)[0]
    assert "refuses a group of one" in page.info[0].value


def test_the_table_and_the_formula_hold_this_run_s_numbers():
    page = open_page(NAME, gpus="2", preset="chapter", epochs="100", group_size="8", updates="4")
    cells = "\n".join(str(cell) for column in page.table[0].value for cell in page.table[0].value[column])
    for text in ("24", "256", "one of 3 actions", "512 tokens", "9 logits", "500,000,000", "adam, 0.1", "AdamW, 1e-06",
                 "first of 4 updates", "25,600, at most 13,107,200 tokens", "0.43 times, of 7,473", "72 bytes", "11 GB", "6 GB"):  # fmt: skip
        assert text in cells, text
    assert r"8 \cdot 2 \cdot 16 = 32 \cdot 8 = 256" in page.latex[1].value


def test_memory_is_the_core_s():
    chart = charts(open_page(NAME, preset="chapter", gpus="4"))[0]
    assert numbers(trace(chart, "policy")["x"]) == [2.0, 0.5]
    assert numbers(trace(chart, "reference policy")["x"]) == [2.0, 0.5]
    assert numbers(trace(chart, "sampler's copy")["x"]) == [1.0, 1.0]
    free = charts(open_page(NAME, preset="trl", vllm="off", model="o/no-size"))[0]
    assert "reference policy" not in [each.get("name") for each in free["data"]]
    assert "GB for each billion: 16 (TRL), 6 (verl)" in free["layout"]["title"]["text"]


@pytest.mark.parametrize(
    ("params", "right", "said"),
    [
        ({}, 0, "8 · 4 · 4 answers are 128; in groups of 8 they are 16 prompts"),
        (
            {"gpus": "8", "nodes": "8", "group_size": "3"},
            0,
            "3 · 64 · 1 answers are 192; in groups of 6 they are 32 prompts",
        ),
        ({"group_size": "64", "gpus": "1"}, 2, "8 · 1 · 256 answers are 2048; in groups of 32 they are 64 prompts"),
        ({"group_size": "1"}, 0, "8 · 4 · 1 answers are 32; in groups of 2 they are 16 prompts"),
    ],
)
def test_the_question_is_answered_by_computing(params, right, said):
    page = open_page(NAME, **params)
    for option in range(3):
        page.radio(key=f"{NAME}_prediction").set_value(option).run()
        assert not page.exception and bool(page.success) == (option == right)
        assert said in (page.success or page.info)[-1].value


def test_every_size_has_an_answer():
    for gpus in GPUS:
        for nodes in NODES:
            for group_size in range(1, 65):
                setup = Setup(TrainConfig(group_size=group_size), PRESETS["verl"], gpus=gpus, nodes=nodes)
                prompts = setup.completions / other_group(setup)
                assert prompts in (setup.prompts / 2, 2 * setup.prompts)


def test_chinese_has_no_english_words_in_the_table():
    page = open_page(NAME, lang="zh", preset="chapter")
    for column in page.table[0].value:
        for cell in (column, *page.table[0].value[column]):
            words = re.findall(r"[A-Za-z]{2,}", str(cell))
            assert [word for word in words if word not in CODE] == [], cell


@pytest.mark.parametrize(
    "params",
    [
        {"task": "leaky"},
        {"task": "graded"},
        {"epochs": "500", "group_size": "64", "updates": "4"},
        {"learning_rate": "0", "seed": "2147483647"},
    ],
)
def test_extreme_settings_run(params):
    page = open_page(NAME, **params)
    assert not page.exception and len(scripts(page)) == 2
    compile(scripts(page)[0], "script", "exec")
