"""A visitor's own task in a real browser: what is typed stays text on every page, and the table trains."""

import csv
import io
import re
from urllib.parse import parse_qs, urlsplit

import pytest

from grpo_core.puzzles import PUZZLES
from grpo_core.ready_tasks import READY_TASKS
from grpo_core.tasks import from_csv, from_rows, unpacked
from tests.hostile import BAD_TARGETS, FOR_RULES, TEXTS
from ui.rule_tables import written

from .conftest import assert_nothing_sideways, settle
from .test_browser import PAGES


def task_of(texts):
    return from_rows([{"prompt": text, "rule": "exact_match", "target": text} for text in texts], texts)


HOSTILE = [task_of(TEXTS[start : start + 12]) for start in range(0, len(TEXTS), 12)]
MARKUP = (
    "() => [...document.querySelectorAll('[data-testid=stMain] :is(script, iframe, img, b, em, del, mark)')]"
    ".filter(node => /pwned|bold|no|text/.test(node.outerHTML) && !node.closest('.player, .katex, .verdicts')).map(node => node.outerHTML)"
)


def param(page, name: str) -> str | None:
    return parse_qs(urlsplit(page.url).query).get(name, [None])[0]


def open_task(open_at, path: str, task: str, **more):
    """A page with a task, once its last part is drawn."""
    page = open_at(f"{path}?task={task}&curve=all", **more)
    last = {
        "/": ".loop .share",
        "/training_run": ".heatmaplayer image",
        "/silent_groups": ".map .dot",
        "/verifiable_rewards": ".verdicts >> nth=9",
    }.get(path, "[data-testid=stMain] [data-testid=stExpander]")
    page.locator(last).last.wait_for(state="attached", timeout=90_000)  # KL leash trains until it rests
    settle(page)
    return page


def type_over_the_first_prompt(page, text: str) -> None:
    """Into the editable table, cell by cell as a visitor does."""
    table = page.locator("[data-testid=stDataFrame]").first
    table.scroll_into_view_if_needed()
    box = table.bounding_box()
    page.mouse.dblclick(box["x"] + 130, box["y"] + 52)
    cell = page.locator("#portal textarea, #portal input")
    cell.wait_for()  # keys typed before the cell is open are lost
    cell.fill(text)
    cell.press("Enter")


def links_outside(page) -> list[str]:
    return page.evaluate(
        "() => [...document.querySelectorAll('[data-testid=stMain] a, [data-testid=stMain] svg a')]"
        ".map(a => a.href?.baseVal ?? a.href).filter(href => !href.startsWith(location.origin) && !href.startsWith('blob:'))"
    )


# Every page shows some of the hostile tasks, every task some of the pages: the whole product takes minutes.
PLACES = [(path, n) for n in range(len(HOSTILE)) for i, path in enumerate(PAGES) if (i + n) % 3 == 0]


@pytest.mark.parametrize(("path", "number"), PLACES)
def test_hostile_texts_stay_texts(open_at, path, number):
    task = HOSTILE[number]
    page = open_task(open_at, path, f"{task.packed()}&prompt={len(task.prompts)}")
    assert page.evaluate("window.pwned") is None
    assert page.locator("[data-testid=stAlert]", has_text="The default is used instead").count() == 0
    assert set(links_outside(page)) <= {thread.url for puzzle in PUZZLES.values() for thread in puzzle.threads}
    assert page.evaluate(MARKUP) == []
    whole = {"/": ".player", "/training_run": ".player .heatmap", "/verifiable_rewards": ".verdicts >> nth=0"}
    if path in whole:
        text = " ".join(page.locator(whole[path]).inner_text().split())
        for answer in task.answers:
            assert " ".join(answer.split())[:39] in text
    if path == "/training_run":
        rows = page.locator(".js-plotly-plot", has=page.locator(".heatmaplayer image")).locator(".ytick text")
        assert any(task.answers[0][:9] in text for text in rows.all_text_contents())


@pytest.mark.parametrize("path", PAGES)
def test_a_phone_shows_twelve_long_answers_without_scrolling_sideways(open_at, path):
    page = open_task(open_at, path, HOSTILE[0].packed(), width=390)
    assert_nothing_sideways(page)


@pytest.mark.parametrize(("number", "step"), [(0, 1), (0, 4), (0, 5), (3, 5)])
def test_a_phone_shows_the_formulas_of_any_task_whole(open_at, number, step):
    page = open_at(f"/one_update?task={HOSTILE[number].packed()}&group_size=8&step={step}", width=390)
    page.locator(".katex-display").last.wait_for()
    ends = page.locator(".katex-display .katex-html > .base").evaluate_all(
        "bases => bases.map(b => b.getBoundingClientRect().right)"
    )
    assert ends and max(ends) <= page.locator("[data-testid=stMainBlockContainer]").bounding_box()["width"] - 16


def test_what_is_unfinished_in_the_table_outlives_another_language(open_at):
    page = open_task(open_at, "/verifiable_rewards", "chapter")
    type_over_the_first_prompt(page, "")
    page.locator("[data-testid=stAlert]", has_text="The last good task stays").wait_for()
    page.get_by_text("中文", exact=True).click()
    page.get_by_role("heading", name="可验证奖励").wait_for()
    settle(page)
    assert page.locator("[data-testid=stAlert]", has_text="上一个").count() == 1


def test_a_task_typed_into_the_table_is_trained_everywhere_and_goes_back(open_at):
    page = open_task(open_at, "/verifiable_rewards", "chapter")
    type_over_the_first_prompt(page, "=3+1?")
    page.wait_for_function("location.search.includes('task=1-')")
    settle(page)
    assert unpacked(param(page, "task")).prompts == ("=3+1?", "capital of france?", "first letter of abc?")
    with page.expect_download() as download:
        page.get_by_role("button", name="Task (CSV)").click()
    text = download.value.path().read_text(encoding="utf-8")
    assert from_csv(text) == unpacked(param(page, "task"))
    assert not any(cell.startswith("=") for line in csv.reader(io.StringIO(text)) for cell in line)
    page.locator("[data-testid=stDataFrame]").first.hover()
    assert page.locator('button[aria-label^="Download as CSV"]:visible').count() == 0
    page.locator("[data-testid=stSidebar] a", has_text="Training run").click()
    page.wait_for_selector(".groups td")
    settle(page)
    assert page.locator(".heatmap th button").first.inner_text() == "=3+1?"
    page.get_by_role("button", name="Back to the chapter's task").click()
    page.wait_for_function("location.search === ''")
    settle(page)
    assert page.locator(".heatmap th button").first.inner_text() == "2+2?"
    page.go_back()
    page.wait_for_function("location.search.includes('task=1-')")
    settle(page)
    assert page.locator(".heatmap th button").first.inner_text() == "=3+1?"


def test_a_table_that_is_no_task_keeps_the_last_good_one(open_at):
    page = open_task(open_at, "/verifiable_rewards", "maths")
    type_over_the_first_prompt(page, "half of one?")
    page.locator("[data-testid=stAlert]", has_text="is there twice").wait_for()
    assert param(page, "task") == "maths"


def test_a_large_task_is_uploaded_and_share_says_that_the_link_has_it_not(open_at, tmp_path):
    texts = [f"{i}" + "".join(chr(0x4E00 + (i * 397 + k * 31) % 9000) for k in range(250)) for i in range(12)]
    (tmp_path / "task.json").write_text(task_of(texts).to_json(), encoding="utf-8")
    page = open_at("/verifiable_rewards", width=390)
    page.locator("[data-testid=stFileUploader] input").set_input_files(tmp_path / "task.json")
    page.wait_for_function("location.search === '?task=own'")
    settle(page)
    assert_nothing_sideways(page)
    page.set_viewport_size({"width": 1280, "height": 900})
    settle(page)
    page.locator("[data-testid=stPopover] button").first.click()
    body = page.locator("[data-testid=stPopoverBody]")
    body.locator("img").wait_for()
    assert "too large for a link" in body.inner_text()


@pytest.mark.parametrize("name", ["leaky", "several_right"])
def test_a_ready_task_opens_from_its_link(open_at, name):
    page = open_task(open_at, "/verifiable_rewards", f"{name}&lang=zh", scheme="dark")
    assert page.locator(".verdicts").first.locator("tbody tr").count() == len(READY_TASKS[name].answers)
    assert page.locator("[data-testid=stException]").count() == 0


def test_hostile_rules_and_answers_end_in_a_message(open_at):
    page = open_at("/verifiable_rewards")
    page.locator(".verdicts").nth(9).wait_for(state="attached")
    bad = [(rule, target, "x", r"must|may have|may use") for rule, target in BAD_TARGETS]
    for rule, target, answer, says in [*((*case, "reward 0") for case in FOR_RULES), *bad]:
        page.get_by_text(rule, exact=True).first.click()
        page.locator(f".st-key-try_answer_{rule} textarea").wait_for()
        for name, text in (("answer", "0"), ("target", written(target)), ("answer", answer[:2000])):
            field = page.locator(f".st-key-try_{name}_{rule} textarea")  # it takes no more
            if text:
                field.fill(text)
                field.press("Control+Enter")
        settle(page)
        page.locator("[data-testid=stAlert]", has_text=re.compile(says)).first.wait_for()
        assert page.locator("[data-testid=stException]").count() == 0 and page.evaluate("window.pwned") is None
