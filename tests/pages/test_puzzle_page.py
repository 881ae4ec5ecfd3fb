"""The page Why is my loss 0?: every puzzle by link, its numbers against the core's, the search, bad links."""

import re

import pytest

from grpo_core.config import DEFAULTS
from grpo_core.puzzles import PUZZLES, search
from tests.pages.reading import charts, numbers, open_page, shown
from ui import links
from ui.frame import PAGES
from ui.i18n import translator
from ui.numbers import MINUS
from ui.puzzle_figures import fill

NAME = "why_is_my_loss_0"
CHINESE = r"[\u4e00-\u9fff]"
CODE = {"TRL", "verl", "OpenRLHF", "GRPO", "DAPO", "Dr", "KL", "log", "exp", "beta", "kl", "token", "logit", "epsilon",
        "None", "inf", "nan", "mean", "detach", "group", "none", "float"}  # fmt: skip
"""What stays as it is in Chinese: names, symbols, code and the field's own words."""


def link(key: str, **more: str) -> dict[str, str]:
    return {"puzzle": key, **more}


def plain(value: float, spec: str) -> str:
    return format(value, spec).replace("-", MINUS)


def options(page) -> list[str]:
    return page.radio(key="setting_puzzle").options


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("key", PUZZLES)
def test_every_puzzle_opens_by_link(key, lang):
    page, puzzle, _ = open_page(NAME, lang=lang, **link(key)), PUZZLES[key], translator(lang)
    assert not page.exception and not page.warning and not page.info
    scene, text = puzzle.at(puzzle.start), shown(page)
    assert page.subheader[1 if page.subheader[0].value != _(puzzle.question) else 0].value == _(puzzle.question)
    for line in puzzle.answer:
        assert fill(_(line), scene) in text
    assert len(page.get("plotly_chart")) == len(scene.charts) and len(page.table) == bool(scene.table)
    for chart, spec in zip(page.get("plotly_chart"), charts(page), strict=True):
        assert bool(re.search(CHINESE, chart.proto.alt)) == (lang == "zh")
        assert (
            all(spec["layout"][part]["title"]["text"] for part in ("xaxis", "yaxis"))
            and spec["layout"]["title"]["text"]
        )
    for framework, names in puzzle.fix.items():
        assert f"- {framework}: " + ", ".join(f"`{name}`" for name in names) in text
    for thread in puzzle.threads:
        assert f"[{thread.name}]({thread.url})" in text
    assert "{" not in re.sub(r"\{(0, 1|-1, 1)\}", "", text.replace("$", ""))


@pytest.mark.parametrize("key", PUZZLES)
def test_charts_and_tables_hold_the_core_s_numbers(key):
    page, puzzle = open_page(NAME, **link(key)), PUZZLES[key]
    scene = puzzle.at(puzzle.start)
    for spec, chart in zip(charts(page), scene.charts, strict=True):
        drawn = [numbers(trace["y"]) for trace in spec["data"]]
        assert drawn == [pytest.approx(list(series.values)) for series in chart.series]
    if scene.table:
        (table,) = page.table
        for column, cells in zip(table.value, zip(*scene.table.rows, strict=True), strict=True):
            expected = [cell if isinstance(cell, str) else plain(cell, f".{scene.table.digits}f") for cell in cells]
            assert list(table.value[column]) == expected


def test_the_default_is_the_first_with_no_click():
    page = open_page(NAME)
    scene = PUZZLES["loss_rises"].at(1)
    assert "Loss starts at 0, then rises. Is it broken?" in shown(page)
    assert f"0.04 × {scene.numbers['kl']:.4f} = {scene.numbers['last']:.4f}" in shown(page)
    assert len(options(page)) == 17 and page.radio(key="setting_puzzle").value == "loss_rises"


@pytest.mark.parametrize("key", [key for key, puzzle in PUZZLES.items() if puzzle.control])
def test_every_position_of_every_control(key):
    puzzle = PUZZLES[key]
    page = open_page(NAME, **link(key))
    for option in range(puzzle.options):
        page.segmented_control(key="setting_option").set_value(option).run()
        assert not page.exception and not page.warning
        scene = puzzle.at(option)
        assert all(fill(line, scene) in shown(page) for line in puzzle.answer)
        assert page.session_state["settings"]["option"] in (str(option + 1), "" if option == puzzle.start else None)
        opened = open_page(NAME, **link(key, option=str(option + 1)))
        assert not opened.warning and fill(puzzle.answer[0], scene) in shown(opened)


def test_choosing_a_question_is_in_the_link_and_forgets_the_control():
    page = open_page(NAME, **link("kl_explodes", option="4"))
    assert "inf" in shown(page)
    page.radio(key="setting_puzzle").set_value("none_reward").run()
    assert not page.exception and "A right answer has +0.577" in shown(page)
    assert page.query_params["puzzle"] in ("none_reward", ["none_reward"]) and "option" not in page.query_params


@pytest.mark.parametrize(
    ("params", "named"),
    [
        (link("nonsense"), "puzzle"), (link("<script>alert(1)</script>"), "puzzle"), (link(""), "puzzle"),
        (link("k3_as_a_loss", option="2"), "option"), (link("loss_rises", option="4"), "option"),
        (link("loss_rises", option="-1"), "option"), (link("loss_rises", option="9" * 500), "option"),
    ],
)  # fmt: skip
def test_a_bad_link_falls_back_with_a_notice(params, named):
    page = open_page(NAME, **params)
    assert not page.exception and len(page.warning) == 1 and named in page.warning[0].value
    settings = page.session_state["settings"]
    assert settings[named] == links.ALL_DEFAULTS[named] and settings["puzzle"] in PUZZLES
    assert len(page.get("plotly_chart")) >= 1


@pytest.mark.parametrize(
    ("lang", "text", "found"),
    [
        ("en", "2703", "loss_rises"), ("en", "#957", "token_or_sequence_mean"), ("en", "clip_ratio", "never_clipped"),
        ("en", "nan", "kl_not_logged"), ("zh", "nan", "kl_not_logged"), ("zh", "标准差开关", "dr_grpo"),
        ("zh", "still move", "silent_but_moving"), ("zh", "无信号组 推动", "silent_but_moving"),
        ("en", "KL", "loss_rises"),
    ],
)  # fmt: skip
def test_search_leaves_what_fits_and_shows_it(lang, text, found):
    page = open_page(NAME, lang=lang)
    page.text_input(key="puzzle_search").set_value(text).run()
    assert not page.exception and not page.info
    left = search(text, translator(lang))
    assert options(page) == [translator(lang)(PUZZLES[key].question) for key in left] and 0 < len(left) < 17
    assert page.radio(key="setting_puzzle").value == found
    assert translator(lang)(PUZZLES[found].question) in [header.value for header in page.subheader]


@pytest.mark.parametrize(
    "text",
    ["<img src=x onerror=alert(1)>", "**bold** [x](javascript:alert(1))", "$\\frac{1}{0}$ {first}", ":material/home: `x`", "\x00‮"],
)  # fmt: skip
def test_a_hostile_search_stays_text_and_everything_is_offered(text):
    page = open_page(NAME, **link("dr_grpo"))
    page.text_input(key="puzzle_search").set_value(text).run()
    assert not page.exception and len(options(page)) == 17
    (notice,) = page.info
    assert "Nothing found for" in notice.value
    for sign in "<>*[]$`{}":
        assert f"\\{sign}" in notice.value or sign not in text
    assert not re.search(r"(?<!\\)[<*`$\[{]", notice.value)
    assert page.radio(key="setting_puzzle").value == "dr_grpo"
    assert "Half of it" in shown(page)


def test_a_long_search_is_refused_by_the_field():
    assert open_page(NAME).text_input(key="puzzle_search").proto.max_chars == 100


def test_an_emptied_search_offers_everything_again():
    page = open_page(NAME)
    page.text_input(key="puzzle_search").set_value("2703").run()
    assert len(options(page)) == 1
    page.text_input(key="puzzle_search").set_value("").run()
    assert len(options(page)) == 17 and page.radio(key="setting_puzzle").value == "loss_rises"


@pytest.mark.parametrize("key", PUZZLES)
def test_the_link_to_the_page_that_explains_more_holds_the_settings(key):
    puzzle = PUZZLES[key]
    page = open_page(NAME, lang="zh", group_size="8", seed="5", **link(key))
    target = PAGES[puzzle.page][0]
    (more,) = [item.proto for item in page.get("page_link") if "详见" in item.proto.label]
    held = dict(part.split("=", 1) for part in more.query_string.split("&"))
    assert held.pop("lang") == "zh" and more.page.endswith(links_name(target))
    expected = {
        name: links._text(value)
        for name, value in (DEFAULTS | puzzle.link_settings(puzzle.start)).items()
        if value != links.ALL_DEFAULTS[name]
    }
    assert set(held) == set(expected)
    opened = open_page(puzzle.page, **expected)
    assert not opened.exception and not opened.warning
    for name, value in puzzle.link_settings(puzzle.start).items():
        assert opened.session_state["settings"][name] == value


def links_name(path: str) -> str:
    return re.sub(r"^pages/\d+_|\.py$", "", path)


@pytest.mark.parametrize("key", PUZZLES)
def test_chinese_has_no_english_words(key):
    page, puzzle = open_page(NAME, lang="zh", **link(key)), PUZZLES[key]
    texts = [element.value for kind in ("markdown", "caption", "subheader") for element in page.main.get(kind)]
    texts = [text for text in texts if "](http" not in text and "- TRL" not in text and "- verl" not in text]
    texts += [part for spec in charts(page) for part in (spec["layout"]["title"]["text"],)]
    for table in page.table:
        texts += [str(cell) for column in table.value for cell in (column, *table.value[column])]
    for text in texts:
        words = re.sub(r"`[^`]*`|\w+[_.\-]\w[\w.\-]*(=\w+)?|TRL [\d.]+|verl [\d.]+|OpenRLHF [\d.]+", " ", text)
        words = re.findall(r"[A-Za-z]{2,}", words)
        assert [word for word in words if word not in CODE] == [], text
    assert re.search(CHINESE, translator("zh")(puzzle.question))


def test_the_prediction_is_computed_from_the_sidebar():
    page = open_page(NAME, epochs="12", kl_coef="1")
    for option in range(3):
        page.radio(key=f"{NAME}_prediction").set_value(option).run()
        assert not page.exception and bool(page.success) == (option == 1)
    assert "From 0.0000 to 0.0000, at most 0.0000 from 0; the mean reward went from 0.500 to" in page.info[0].value


@pytest.mark.parametrize("task", ["leaky", "graded"])
def test_the_prediction_is_computed_on_the_visitor_s_task(task):
    page = open_page(NAME, task=task, group_size="1")
    page.radio(key=f"{NAME}_prediction").set_value(1).run()
    assert not page.exception and page.success and "0.0000 from 0" in page.success[0].value
