"""Verifiable rewards without a browser, and the chosen task on every page."""

import json
import re
from html import unescape

import pytest

from grpo_core import FieldError, Message, TrainConfig, train
from grpo_core.ready_tasks import READY_TASKS
from grpo_core.tasks import from_rows, rule_part
from grpo_core.verifiers import WORKED_EXAMPLES
from tests.hostile import BAD_TARGETS, FOR_RULES, TEXTS
from tests.pages.reading import PAGES, open_page
from ui import links, tasks
from ui.i18n import escape, say, translator
from ui.labels import labels
from ui.rule_tables import written


def task_of(texts):
    return from_rows([{"prompt": text, "rule": "exact_match", "target": text} for text in texts], texts)


HOSTILE = [task_of(TEXTS[start : start + 12]) for start in range(0, len(TEXTS), 12)]
LONG = task_of([f"{i}" + "".join(chr(0x4E00 + (i * 397 + k * 31) % 9000) for k in range(250)) for i in range(12)])


def tables(page) -> str:
    return unescape(re.sub(r"<[^>]+>", "\n", "\n".join(element.proto.body for element in page.get("html"))))


def alerts(page) -> list[str]:
    return [element.value for kind in ("error", "warning") for element in page.get(kind)]


@pytest.mark.parametrize("name", READY_TASKS)
def test_a_ready_task_shows_its_rewards_and_reasons(name):
    page = open_page("verifiable_rewards", task=name)
    task = READY_TASKS[name]
    assert not page.exception and len(alerts(page)) == (name == "leaky")
    text = tables(page)
    for answer, verdict in zip(task.answers, task.verdicts[0], strict=True):
        assert answer in text and str(verdict.reason) in text
    heatmap = json.loads(page.get("plotly_chart")[0].proto.spec)["data"][0]
    assert len(heatmap["text"]) == len(task.prompts) and len(heatmap["text"][0]) == len(task.answers)


@pytest.mark.parametrize("name", ["graded", "leaky", "tool_call"])
def test_the_task_is_every_page_s_task(name):
    history = train(READY_TASKS[name].bandit(), TrainConfig())
    for at in PAGES:
        page = open_page(at, task=name, prompt="2")
        assert not page.exception
        assert page.session_state["settings"]["prompt"] == (2 if "prompt" in links.PAGE_KEYS[at] else 1)
        assert any(button.key == "chapter_task" for button in page.button)
        for component in page.get("bidi_component"):
            data = json.loads(component.proto.json)
            shown = [value for row in data["probabilities"][-1] for value in row]
            assert shown == pytest.approx(history.probabilities[0, -2].flatten().tolist(), abs=1e-3)


def test_one_click_goes_back_to_the_chapter():
    page = open_page("one_group", task="leaky", prompt="2", rewards="0, 1")
    page.button(key="chapter_task").click().run()
    settings = page.session_state["settings"]
    assert (settings["task"], settings["prompt"], settings["rewards"]) == ("chapter", 1, "")
    assert not [button for button in page.button if button.key == "chapter_task"] and not page.exception


@pytest.mark.parametrize("at", PAGES)
@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_hostile_tasks_show_on_every_page(at, number):
    page = open_page(at, task=HOSTILE[number].packed(), prompt=str(len(HOSTILE[number].prompts)))
    assert not page.exception and not alerts(page)


@pytest.mark.parametrize("step", range(1, 7))
def test_no_text_becomes_latex(step):
    for task in HOSTILE:
        for prompt in range(1, len(task.prompts) + 1, 4):
            page = open_page("one_update", task=task.packed(), prompt=str(prompt), step=str(step))
            for formula in page.get("latex"):
                assert not re.search(r"(?<!\\)\\(href|def|html|includegraphics|url)", formula.value)
                inside = formula.value.strip("$\n ").replace(r"\textbackslash{}", "").replace(r"\$", "")
                assert "$" not in inside and "\n" not in inside


@pytest.mark.parametrize(
    "value", ["", "nothing", "1-", "1-abc", "own", "<script>alert(1)</script>", "1-" + "A" * 5000, "CHAPTER"]
)
def test_a_bad_task_in_a_link_falls_back_with_a_notice(value):
    page = open_page("training_run", task=value)
    assert not page.exception and len(page.warning) == 1 and "task" in page.warning[0].value
    assert page.session_state["settings"]["task"] == "chapter"


def test_the_prompt_is_one_of_the_task_s():
    page = open_page("one_group", task="graded", prompt="3")
    assert len(page.warning) == 1 and "from 1 to 2" in page.warning[0].value
    page = open_page("one_group", task=LONG.packed(), prompt="12")
    assert not page.exception and page.selectbox(key="setting_prompt").value == 12


def test_a_task_too_large_for_the_link_stays_in_the_session():
    assert len(LONG.packed()) > tasks.MAX_LINK
    page = open_page("verifiable_rewards")
    page.file_uploader[0].set_value(("task.json", LONG.to_json().encode(), "application/json")).run()
    assert not page.exception and not alerts(page)
    assert dict(page.query_params) in ({"task": "own"}, {"task": ["own"]})
    page.switch_page(PAGES["training_run"]).run()
    data = json.loads(page.get("bidi_component")[0].proto.json)
    assert data["prompts"] == labels(LONG.prompts, 60) and not page.exception


def test_links_stay_short():
    for ready in READY_TASKS.values():
        assert len(ready.packed()) < 400
    assert all(len(task.packed()) <= tasks.MAX_LINK for task in HOSTILE)


@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_file_becomes_the_task_and_a_bad_one_keeps_the_last(form):
    task = from_rows([{"prompt": "1+1?", "rule": "number_equal", "target": "2"}], ["2", "3"])
    page = open_page("verifiable_rewards", prompt="3")
    content = (task.to_json() if form == "json" else task.to_csv()).encode()
    page.file_uploader[0].set_value((f"task.{form}", content, "text/plain")).run()
    assert page.session_state["settings"]["task"] == task.packed() and page.session_state["settings"]["prompt"] == 1
    assert page.selectbox(key="setting_task").value == "own"
    page.file_uploader[0].set_value(("task.csv", b"prompt,rule,answer\nq,eval,1\n", "text/csv")).run()
    assert not page.exception and "row 2: rule must be one of" in page.error[0].value.replace("\\", "")
    assert page.session_state["settings"]["task"] == task.packed()
    page.selectbox(key="setting_task").set_value("chapter").run()
    page.selectbox(key="setting_task").set_value("own").run()
    assert page.session_state["settings"]["task"] == task.packed()


def test_every_worked_example_is_on_the_page_with_its_verdict():
    text = tables(open_page("verifiable_rewards"))
    for rule, examples in WORKED_EXAMPLES.items():
        for target, answer, passes in examples:
            verdict = rule_part(rule, written(target)).made().check(answer)
            assert verdict.passed == passes
            assert f"\n{answer}\n" in text and str(verdict.reason) in text


def try_rule(page, rule, target, answer):
    page.session_state["try_rule"] = rule
    page.run()
    page.text_area(key=f"try_target_{rule}").set_value(target)
    page.text_area(key=f"try_answer_{rule}").set_value(answer)
    page.run()
    assert not page.exception
    return page


def test_fifty_hostile_inputs_end_in_a_message():
    page = open_page("verifiable_rewards")
    for rule, target, answer in FOR_RULES:
        try_rule(page, rule, written(target), answer)
        assert any("reward 0" in element.value for element in page.info)
    for rule, target in BAD_TARGETS:
        assert len(try_rule(page, rule, written(target), "x").error) == 1
    for text in TEXTS:
        try_rule(page, "exact_match", text, text)
        assert len(page.success) == 1
    assert len(try_rule(page, "tool_call", TEXTS[0], TEXTS[0]).error) == 1


def test_the_leak_is_visible():
    page = open_page("verifiable_rewards", task="leaky")
    reward, right = ([float(part) for part in metric.value.split(" → ")] for metric in page.metric)
    assert reward[1] > reward[0] + 0.4 and right[1] < right[0] - 0.1
    chart = json.loads(page.get("plotly_chart")[1].proto.spec)
    assert chart["layout"]["title"]["text"] == "The reward rises, the right answers vanish"


def test_a_bonus_for_everyone_changes_nothing():
    for name in ("chapter", "graded"):
        page = open_page("verifiable_rewards", task=name)
        page.radio(key="verifiable_rewards_prediction").set_value(1).run()
        assert any("Right" in element.value for element in page.success) and not page.exception


def test_a_prompt_that_teaches_nothing_is_named():
    task = from_rows([{"prompt": "q", "rule": "exact_match", "target": "c"}], ["a", "b"])
    page = open_page("verifiable_rewards", task=task.packed())
    assert not page.exception and any("every group is silent" in element.value for element in page.info)


def test_the_reward_formula_is_the_rule_s():
    def formulas(**params):
        return " ".join(element.value for element in open_page("one_update", step="2", **params).get("latex"))

    assert r"r_i = 0.1 \cdot \text{json\_valid}" in formulas(task="graded")
    assert r"0.9 \cdot \text{number\_equal}(a_i,\ \text{4})" in formulas(task="graded")
    assert r"r_i = \text{number\_equal}(a_i,\ \text{72})" in formulas(task="maths")
    assert r"1 \text{ if } a_i = \text{4}" in formulas()


def test_home_does_not_say_right_or_wrong_of_a_graded_reward():
    says = [
        json.loads(open_page("home", task=name).get("bidi_component")[0].proto.json) for name in ("chapter", "graded")
    ]
    assert [data["texts"]["rewards_says"] for data in says] == [
        "The rule checks each answer: 1 if right, else 0.", "The rules score each answer.",
    ]  # fmt: skip


def test_messages_inside_messages_are_translated():
    with pytest.raises(FieldError) as caught:
        from_rows([{"prompt": "q", "rule": "number_equal", "target": "x"}], ["a", "b"])
    text = say(translator("zh"), caught.value.message)
    assert "第 1 行" in text and "必须是数" in text and "must" not in text
    verdict = READY_TASKS["graded"].verdicts[0][2]
    assert "读到 4，等于 4" in say(translator("zh"), verdict.reason)


def test_escaped_text_has_no_icon_emoji_or_address():
    shown = escape(":material/home: :smile: http://x.test www.x.test a@x.test 1: 2").replace("\\", "")
    assert not re.search(r":material|:smile|http://|www\.|a@x", shown) and shown.endswith("1: 2")
    assert say(lambda text: text, Message("{value}", {"value": "<b>&lt;"})) == r"\<b\>\&lt;"


def test_labels_are_short_and_differ():
    assert labels(["a" * 99 + "1", "a" * 99 + "2", "b\nc"], 10) == ["1 · aaaaaaaaa…", "2 · aaaaaaaaa…", "b c"]
