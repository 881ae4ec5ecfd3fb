"""The pages without a browser: they run, show the core's numbers, and survive bad input."""

import json
import re

import pytest

from grpo_core import TrainConfig, chapter_task, findings, group_advantages, one_update, train
from tests.pages.reading import PAGES, open_page, shown
from ui import links
from ui.share import share_link


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_page_runs_in_both_languages(name, lang):
    page = open_page(name, lang=lang)
    assert not page.exception and not page.warning
    chinese = re.search(r"[\u4e00-\u9fff]", page.title[0].value)
    assert bool(chinese) == (lang == "zh")


@pytest.mark.parametrize("name", PAGES)
def test_link_restores_the_settings(name):
    page = open_page(name, group_size="8", learning_rate="0.05", optimizer="sgd", prompt="3")
    assert page.slider(key="setting_group_size").value == 8
    assert page.slider(key="setting_learning_rate").value == 0.05
    assert page.session_state["settings"]["optimizer"] == "sgd"
    assert page.session_state["settings"]["prompt"] == (3 if "prompt" in links.PAGE_KEYS[name] else 1)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("group_size", "0"), ("group_size", "4.5"), ("epochs", "501"), ("epochs", "abc"), ("kl_coef", "nan"),
        ("learning_rate", "-1"), ("seed", "1e9"), ("ddof", "2"), ("optimizer", "<script>alert(1)</script>"),
        ("lang", "fr"), ("prompt", "0"), ("prompt", "9" * 400), ("epsilon", "inf"), ("epochs", "9" * 400), ("seed", "9" * 5000),
    ],
)  # fmt: skip
def test_bad_link_value_falls_back_with_a_notice(key, value):
    page = open_page("training_run", **{key: value})
    assert not page.exception
    assert len(page.warning) == 1 and key.replace("_", "\\_") in page.warning[0].value
    assert page.session_state["settings"][key] == links.ALL_DEFAULTS[key]


def test_a_moved_slider_is_written_to_the_url_and_only_it():
    page = open_page("training_run")
    page.slider(key="setting_group_size").set_value(16).run()
    assert dict(page.query_params) == {"group_size": ["16"]} or dict(page.query_params) == {"group_size": "16"}
    assert not page.exception


def test_reset_and_new_seed():
    page = open_page("home", group_size="8", kl_coef="0.5")
    buttons = {button.label: button for button in page.button}
    buttons["New seed"].click().run()
    assert page.session_state["settings"]["group_size"] == 8
    buttons = {button.label: button for button in page.button}
    buttons["Reset"].click().run()
    assert all(page.session_state["settings"][name] == value for name, value in links.DEFAULTS.items())


def test_home_shows_the_core_s_numbers():
    page = open_page("home", prompt="2", seed="5")
    data = json.loads(page.get("bidi_component")[0].proto.json)
    assert data["prompt"] == 1
    for frame in (0, 7, 39):
        update = one_update(chapter_task(), TrainConfig(seed=5), after=frame)
        assert data["samples"][frame] == update.group.actions.tolist()
        assert data["after"][frame][1] == pytest.approx(update.after[1].tolist(), abs=6e-4)
        sampled = [data["advantages"][frame][1][action] for action in data["samples"][frame][1]]
        assert sampled == pytest.approx(update.group.advantages[1].tolist(), abs=6e-4)
    assert data["links"]["moved"] == "one_update?seed=5&prompt=2"


def test_training_run_shows_the_core_s_findings_and_figures():
    page = open_page("training_run", epochs="10", seed="2")
    history = train(chapter_task(), TrainConfig(epochs=10, seed=2))
    text = shown(page).replace("\\", "")
    for finding in findings(history):
        assert str(finding) in text
    assert not page.get("plotly_chart")
    page = open_page("training_run", epochs="10", seed="2", curve="all")
    charts = [json.loads(chart.proto.spec) for chart in page.get("plotly_chart")]
    assert len(charts) == 5
    heatmap = next(trace for chart in charts for trace in chart["data"] if trace["type"] == "heatmap")
    assert heatmap["y"][0].endswith("★")
    assert next(chart for chart in charts if heatmap in chart["data"])["layout"]["yaxis"]["type"] == "category"
    assert all(chart.proto.alt for chart in page.get("plotly_chart"))


@pytest.mark.parametrize("typed", ["0.000001, 0.000002", "0.0001, 0.0002, 0.0003", "100000.4, 100000.6", "1e30, -1e30"])
def test_formulas_come_out_for_small_and_large_rewards(typed):
    """The numbers in A = (r - mean) / (std + epsilon) give the advantage that is shown."""
    for name, step in (("one_group", "1"), ("one_update", "3")):
        page = open_page(name, rewards=typed, step=step, epsilon="0")
        formula = next(
            element.value for element in page.get("latex") if r"\frac{" in element.value and "A_i" not in element.value
        )
        reward, mean, std, advantage = re.fullmatch(
            r"\$\$\s*A_\{\d+\} = \\frac\{(.+?) - (-?[^-]+?(?:\^\{-?\d+\})?)\}\{(.+) \+ 0\} = (\S+)\s*\$\$", formula
        ).groups()
        worked_out = (from_tex(reward) - from_tex(mean)) / from_tex(std)
        assert worked_out == pytest.approx(from_tex(advantage), abs=0.02), formula


def from_tex(text: str) -> float:
    return float(re.sub(r"^10\^\{(-?\d+)\}$", r"1e\1", re.sub(r" \\cdot 10\^\{(-?\d+)\}", r"e\1", text)))


def test_typed_rewards_are_not_said_to_be_the_rule_s():
    ruled = [element.value for element in open_page("one_update", step="2").get("latex")]
    typed = [element.value for element in open_page("one_update", step="2", rewards="0, 1").get("latex")]
    assert any("if" in formula for formula in ruled) and not any("if" in formula for formula in typed)
    assert any("typed by hand" in formula for formula in typed)


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_the_last_step_comes_out(optimizer):
    _, formula, result, _ = (line.value for line in open_page("one_update", step="6", optimizer=optimizer).get("latex"))
    change = one_update(chapter_task(), TrainConfig(optimizer=optimizer)).logit_change[0, 0].item()
    assert abs(change) > 0.005
    assert from_tex(result.strip("$\n ").rpartition(" ")[2]) == pytest.approx(change, abs=6e-5)
    if optimizer == "sgd":
        worked_out = -0.1 * float(re.search(r"\((.+)\)", formula).group(1))
    else:
        momentum, square = re.search(r"frac\{(.+)\}\{\\sqrt\{(.+)\} \+", formula).groups()
        worked_out = -0.1 * from_tex(momentum) / (from_tex(square) ** 0.5 + 1e-8)
    assert worked_out == pytest.approx(change, rel=1e-2)


def test_prediction_is_answered_from_the_state():
    page = open_page("training_run")
    page.radio(key="training_run_prediction").set_value(0).run()
    assert not page.exception and len(page.success) == 1
    page.radio(key="training_run_prediction").set_value(2).run()
    assert not page.success and len(page.info) == 1


@pytest.mark.parametrize("name", PAGES)
def test_extremes_run(name):
    for params in (
        {"group_size": "1", "epochs": "1"},
        {"group_size": "64", "epochs": "500", "learning_rate": "1", "kl_coef": "2"},
    ):
        page = open_page(name, **params)
        assert not page.exception


def test_share_link_replaces_localhost():
    params = {"group_size": "8", "lang": "zh"}
    assert share_link("http://localhost:8501/training_run", params, "192.0.2.7") == (
        "http://192.0.2.7:8501/training_run?group_size=8&lang=zh", False,
    )  # fmt: skip
    assert share_link("http://127.0.0.1:8501/", {}, None) == ("http://127.0.0.1:8501/", True)
    assert share_link("https://grpo.example.org/", params, "192.0.2.7")[0].startswith("https://grpo.example.org/?")


def test_one_group_shows_typed_rewards_and_their_advantages():
    page = open_page("one_group", rewards="0, 0.5, 1, 0.5, 3", ddof="1", epsilon="0.0001")
    expected = group_advantages([0, 0.5, 1, 0.5, 3], 1, 1e-4)
    table = page.dataframe[0].value
    assert [float(text.replace("−", "-")) for text in table["advantage"]] == pytest.approx(expected.tolist(), abs=6e-4)
    assert table["reward"].astype(float).tolist() == [0, 0.5, 1, 0.5, 3]
    assert f"{expected[4].item():+.3f}" in page.latex[1].value


def test_one_group_says_when_it_is_silent():
    page = open_page("one_group", rewards="1 1 1")
    assert len(page.info) == 1 and "A_i = 0" in page.latex[1].value


@pytest.mark.parametrize("typed", ["0, one", "1e400", "nan", "=1+1", "1," * 65, "<b>1</b>", "-inf", "1e-300"])
def test_bad_rewards_keep_the_last_good_group(typed):
    page = open_page("one_group", rewards="0, 1")
    page.text_input(key="setting_rewards").set_value(typed).run()
    assert not page.exception and len(page.error) == 1
    assert page.text_input(key="setting_rewards").value == typed
    assert page.dataframe[0].value["reward"].astype(float).tolist() == [0, 1]
    page.text_input(key="setting_rewards").set_value("1, 0, 0").run()
    assert not page.error and page.dataframe[0].value["reward"].astype(float).tolist() == [1, 0, 0]


def test_sampling_again_changes_only_the_sample():
    page = open_page("one_group", group_size="8", seed="3")
    before = page.dataframe[0].value
    next(button for button in page.button if button.label == "Sample again").click().run()
    assert page.session_state["settings"]["draw"] == 1 and page.session_state["settings"]["seed"] == 3
    assert page.dataframe[0].value["sample"].tolist() != before["sample"].tolist()
    update = one_update(chapter_task(), TrainConfig(group_size=8, seed=3), draw=1)
    assert page.dataframe[0].value["reward"].astype(float).tolist() == update.group.rewards[0].tolist()


def test_one_update_steps_forward_and_back_and_shows_the_core_s_numbers():
    page = open_page("one_update", seed="1", kl_coef="0.1", optimizer="sgd", prompt="2")
    update = one_update(chapter_task(), TrainConfig(seed=1, kl_coef=0.1, optimizer="sgd"), prompt=1)
    for step in range(1, 7):
        assert page.session_state["settings"]["step"] == step
        formulas = " ".join(formula.value for formula in page.latex)
        if step == 5:
            assert f"{update.gradient.total[1, 1].item():+.4f}" in formulas
        if step == 6:
            assert f"{update.before[1, 1].item():.3f} \\rightarrow {update.after[1, 1].item():.3f}" in formulas
        else:
            next(button for button in page.button if button.label == "Next").click().run()
    next(button for button in page.button if button.label == "Back").click().run()
    assert page.session_state["settings"]["step"] == 5 and not page.exception
    assert page.metric[0].value.replace("−", "-") == f"{update.loss.total.item():+.4f}".replace(
        "+0.0000", "0.0000"
    ).replace("-0.0000", "0.0000")


@pytest.mark.parametrize("name", ["home", "one_group", "one_update"])
def test_predictions_have_exactly_one_right_answer(name):
    right = 0
    for option in range(3):
        page = open_page(name)
        page.radio(key=f"{name}_prediction").set_value(option).run()
        assert not page.exception
        right += len(page.success)
    assert right == 1


def test_doubled_rewards_matter_only_against_a_large_epsilon():
    for epsilon, grows in (("1e-06", False), ("1", True)):
        page = open_page("one_group", rewards="0,1,1,0", epsilon=epsilon)
        page.radio(key="one_group_prediction").set_value(0).run()
        assert bool(page.success) == grows and not page.exception


@pytest.mark.parametrize("kl_coef", ["0", "0.02", "0.9", "2"])
def test_the_kl_question_asks_about_another_coefficient(kl_coef):
    page = open_page("training_run", kl_coef=kl_coef)
    asked = [
        float(number)
        for number in re.findall(r"[0-9.]+(?= to | *\. )", page.radio(key="training_run_prediction").label)
    ]
    assert len(asked) == 2 and asked[0] == float(kl_coef) != asked[1] <= 2
    page.radio(key="training_run_prediction").set_value(1).run()
    assert not page.exception and not page.success


@pytest.mark.parametrize("step", range(1, 7))
@pytest.mark.parametrize("settings", [{}, {"group_size": "1"}, {"seed": "4", "kl_coef": "0"}])
def test_no_formula_shows_a_negative_zero(step, settings):
    page = open_page("one_update", step=str(step), **settings)
    assert not any(re.search(r"-0\.0+(?![0-9])", formula.value) for formula in page.latex)


def test_the_loss_formula_has_the_core_s_numbers():
    page = open_page("one_update", step="4", seed="2", rewards="1,0,0.5")
    update = one_update(chapter_task(), TrainConfig(seed=2), rewards=[1, 0, 0.5])
    log_policy = update.before.log().gather(-1, update.group.actions)
    sums = (log_policy * update.group.advantages).sum(-1).tolist()
    formulas = " ".join(formula.value for formula in page.latex)
    assert sum(sums) == pytest.approx(-9 * update.loss.policy.item())
    assert all(f"{abs(value):.3f}" in formulas for value in sums) and "{9}" in formulas


def test_no_step_means_the_same_step():
    page = open_page("one_update", learning_rate="0")
    page.radio(key="one_update_prediction").set_value(0).run()
    assert len(page.success) == 1


def test_too_many_rewards_in_a_link_are_refused_not_cut():
    page = open_page("one_group", rewards=",".join(["0.123456789012345678901234567890123456"] * 70))
    assert not page.exception and len(page.warning) == 1 and "70" in page.warning[0].value


def test_a_prediction_outlives_another_language():
    page = open_page("one_group")
    page.radio(key="one_group_prediction").set_value(1).run()
    page.segmented_control(key="setting_lang").set_value("zh").run()
    assert page.radio(key="one_group_prediction").value == 1


def test_a_number_field_that_is_emptied_keeps_its_value():
    page = open_page("one_group", seed="7", epsilon="0.001")
    for key, value in (("setting_seed", 7), ("setting_epsilon", 0.001)):
        page.number_input(key=key).set_value(None).run()
        assert page.number_input(key=key).value == value and page.session_state["settings"][key[8:]] == value
