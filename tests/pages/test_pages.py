"""The pages without a browser: they run, show the core's numbers, and survive bad input."""

import json
import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from grpo_core import TrainConfig, chapter_task, findings, one_update, train
from ui import links
from ui.share import share_link

ROOT = Path(__file__).parent.parent.parent
PAGES = {
    "home": "app.py",
    "one_group": "pages/1_one_group.py",
    "one_update": "pages/2_one_update.py",
    "training_run": "pages/3_training_run.py",
}


def open_page(name: str, **params: str) -> AppTest:
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    if name != "home":
        page.switch_page(PAGES[name])
    for key, value in params.items():
        page.query_params[key] = value
    return page.run()


def shown(page: AppTest) -> str:
    texts = [
        element.value for kind in ("markdown", "caption", "title", "subheader", "warning") for element in page.get(kind)
    ]
    html = [element.proto.body for element in page.get("html")]
    return "\n".join([*texts, *html])


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
    assert page.session_state["settings"]["prompt"] == 3


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("group_size", "0"), ("group_size", "4.5"), ("epochs", "501"), ("epochs", "abc"), ("kl_coef", "nan"),
        ("learning_rate", "-1"), ("seed", "1e9"), ("ddof", "2"), ("optimizer", "<script>alert(1)</script>"),
        ("lang", "fr"), ("prompt", "0"), ("prompt", "9" * 400), ("epsilon", "inf"),
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
    update = one_update(chapter_task(), TrainConfig(seed=5))
    text = shown(page)
    for value in update.group.advantages[1].tolist():
        assert f"{value:+.2f}".replace("-", "−") in text or update.group.silent[1]
    for value in update.after[1].tolist():
        assert f"{value:.3f}" in text


def test_training_run_shows_the_core_s_findings_and_figures():
    page = open_page("training_run", epochs="10", seed="2")
    history = train(chapter_task(), TrainConfig(epochs=10, seed=2))
    text = shown(page).replace("\\", "")
    for finding in findings(history):
        assert str(finding) in text
    charts = [json.loads(chart.proto.spec) for chart in page.get("plotly_chart")]
    assert len(charts) == 5
    heatmap = next(trace for chart in charts for trace in chart["data"] if trace["type"] == "heatmap")
    assert heatmap["y"][0].endswith("★")
    assert next(chart for chart in charts if heatmap in chart["data"])["layout"]["yaxis"]["type"] == "category"
    assert all(chart.proto.alt for chart in page.get("plotly_chart"))


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
