"""Tasks made of rules: the same from a table, JSON, CSV and a link, and a clear message for anything else."""

import base64
import csv
import io
import json
import os
import zlib

import pytest

from grpo_core import BanditTask, FieldError, TrainConfig, chapter_task, load_run, save_run, train
from grpo_core.ready_tasks import READY_TASKS
from grpo_core.spreadsheet import protect, unprotect
from grpo_core.tasks import (
    COLUMNS,
    MAX_FILE,
    RuleTask,
    from_csv,
    from_file,
    from_json,
    from_rows,
    rule_part,
    unpacked,
)
from tests.hostile import BAD_TARGETS, FOR_RULES, TEXTS

FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")


def rows(*prompts, rule="exact_match", target="x", **more):
    return [{"prompt": prompt, "rule": rule, "target": target, **more} for prompt in prompts]


def hostile_tasks():
    for start in range(0, len(TEXTS), 12):
        texts = TEXTS[start : start + 12]
        yield from_rows([row for text in texts for row in rows(text, target=text)], texts)


def test_the_chapter_is_the_chapter():
    task = READY_TASKS["chapter"].bandit()
    chapter = chapter_task()
    assert (task.prompts, task.actions) == (chapter.prompts, chapter.actions)
    assert task.rewards.equal(chapter.rewards) and task.reference_policy.equal(chapter.reference_policy)


@pytest.mark.parametrize("name", READY_TASKS)
def test_every_form_of_a_ready_task_is_the_same_task(name):
    task = READY_TASKS[name]
    for same in (
        from_json(task.to_json()), from_csv(task.to_csv()), from_file(task.to_json().encode()),
        from_file(task.to_csv().encode("utf-8-sig")), unpacked(task.packed()), from_rows(task.rows(), task.answers),
    ):  # fmt: skip
        assert same == task and same.bandit().rewards.equal(task.bandit().rewards)


def test_what_each_ready_task_is_there_for():
    rewards = {name: task.bandit().rewards for name, task in READY_TASKS.items()}
    assert all((table.amax(-1) == 1).all() for table in rewards.values())
    assert (rewards["several_right"] == 1).sum(-1).tolist() == [2, 2, 2]
    assert rewards["graded"][0].tolist() == [1, 0.1, 0.9, 0, 0]
    assert (rewards["maths"][:, -1] == 0).all()
    used = {part.rule for task in READY_TASKS.values() for parts in task.rules for part in parts}
    assert used == {"exact_match", "number_equal", "json_valid", "code_passes", "tool_call"}


@pytest.mark.parametrize("seed", range(8))
def test_the_leaky_rule_raises_the_reward_and_loses_the_right_answers(seed):
    task = READY_TASKS["leaky"]
    right = task.is_right
    assert right.sum(-1).tolist() == [1, 1, 1] and not (right & task.bandit().is_target).any()
    history = train(task.bandit(), TrainConfig(seed=seed))
    share = (history.probabilities[0] * right).sum(-1).mean(-1)
    expected = (history.probabilities[0] * history.task.rewards).sum(-1).mean(-1)
    assert share[0] == pytest.approx(0.2) and share[-1] < 0.1 and expected[-1] > expected[0] + 0.4


def test_verdicts_have_the_reasons():
    task = from_rows(rows("48+24?", rule="number_equal", target="72"), ["72", "31"])
    assert [str(verdict.reason) for verdict in task.verdicts[0]] == ["read 72, equal to 72", "read 31, expected 72"]
    graded = READY_TASKS["graded"].verdicts[0][2]
    assert not graded.passed and graded.reward == 0.9 and "json_valid 0.1 * 0 (not JSON" in str(graded.reason)


def test_an_empty_prompt_is_one_more_rule():
    task = from_rows([*rows("q", target="a", weight=0.25), *rows("", target="b", weight="0.5"), *rows("r")], ["a", "b"])
    assert task.bandit().rewards.tolist() == [[0.25, 0.5], [0, 0]]


def test_a_prompt_without_its_own_truth_trusts_its_rules():
    table = [*rows("q", target="a", truth='["b"]'), *rows("r", target="a")]
    assert from_rows(table, ["a", "b"]).is_right.tolist() == [[False, True], [True, False]]


@pytest.mark.parametrize(
    ("table", "answers", "field", "says"),
    [
        (rows(*map(str, range(13))), ["a", "b"], "prompt", "1 to 12 of them, not 13"),
        ([], ["a", "b"], "prompt", "not 0"),
        (rows("q"), ["a"], "answer", "2 to 12 of them, not 1"),
        (rows("q"), list(map(str, range(13))), "answer", "not 13"),
        (rows("q", "q"), ["a", "b"], "prompt", "'q' is there twice"),
        (rows("q"), ["a", " a"], "answer", "'a' is there twice"),
        (rows("q" * 501), ["a", "b"], "prompt", "row 1: prompt must have at most 500 characters, not 501"),
        (rows("q"), ["a", "b" * 10_000_000], "answer", "not 10000000"),
        (rows("q", target="x" * 1001), ["a", "b"], "target", "at most 1000"),
        (rows("q", "r", rule="eval"), ["a", "b"], "rule", "row 1: rule must be one of exact_match, "),
        (rows("q", rule=None), ["a", "b"], "rule", "not ''"),
        (rows("q", target=""), ["a", "b"], "target", "text of 1 to"),
        (rows("q", rule="number_equal", target="seven"), ["a", "b"], "target", "number such as 72"),
        (rows("q", rule="json_valid", target="{"), ["a", "b"], "target", "must be JSON"),
        (rows("q", rule="code_passes", target="{}"), ["a", "b"], "target", "must have parameters, cases"),
        (rows("q", weight="much"), ["a", "b"], "weight", "from -1000 to 1000, not 'much'"),
        (rows("q", weight="9" * 10_000_000), ["a", "b"], "weight", "from -1000"),
        (rows("q", weight=float("inf")), ["a", "b"], "weight", "from -1000"),
        (rows("q", options="[]"), ["a", "b"], "options", "may be"),
        (rows("q", options='{"tolerance": 1}'), ["a", "b"], "options", "may be"),
        (rows("q", truth="a"), ["a", "b"], "truth", "JSON"),
        (rows("q", truth='["c"]'), ["a", "b"], "truth", "among the answers, 'c' is not"),
        (rows("q\ud800"), ["a", "b"], "prompt", "can be written"),
        (rows("q\0"), ["a", "b"], "prompt", "can be written"),
        (rows(""), ["a", "b"], "prompt", "row 1: prompt must not be empty"),
        (rows("q") + 4 * rows(""), ["a", "b"], "rule", "1 to 4 of them, not 5"),
        ([{"prompt": 4, "rule": "exact_match", "target": "x"}], ["a", "b"], "prompt", "must be a text, not 4"),
    ],
)  # fmt: skip
def test_a_table_that_is_no_task_says_why_and_where(table, answers, field, says):
    with pytest.raises(FieldError, match=field) as caught:
        from_rows(table, answers)
    assert caught.value.field == field and says in str(caught.value)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is empty"), (b"[1, 2]", "must have answers, prompts"), (b"\xff\xfe", "UTF-8"), (b"x" * (MAX_FILE + 1), "bytes at most"), (b"{", "must be JSON"),
        (b'{"a":' * 10_000, "must be JSON"), (b'{"answers": [], "prompts": {}}', "must be a list"),
        (b'{"answers": ["a", "b"], "prompts": []}', "not 0"), (b'{"answers": ["a"], "prompts": [1]}', "must have prompt"),
        (b'{"answers": ["a", 1], "prompts": []}', "must be a text"), (b'{"answers": [], "prompts": [], "x": 1}', "nothing else"),
        (b'{"answers": ["a", "b"], "prompts": [{"prompt": "q", "rules": []}]}', "row 1: rule"),
        (b"prompt,rule,answer,colour\n", "not 'colour'"), (b"prompt,rule,rule,answer\n", "not 'rule'"),
        (b"prompt,rule,answer\nq,exact_match,a,b\n", "row 2 has 4 cells"), (b'prompt,rule,answer\n"q', "must be CSV"),
        (b"prompt,rule,target,answer\nq,exact_match,a,a\nr,nothing,b,b\n", "row 3: rule must be one of"),
        (b"prompt,rule,answer\n" + b"q,json_valid,a\n" * 3000, "1 to 12"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_task_says_why(data, says):
    with pytest.raises(FieldError) as caught:
        from_file(data)
    assert says in str(caught.value)


def test_csv_of_another_spreadsheet_is_read():
    text = "Prompt;Rule;Target;Answer\r\n48+24?;number_equal;72;72\r\n;;;31\r\n"
    task = from_csv(text.encode("utf-8-sig"))
    assert task.answers == ("72", "31") and task.bandit().rewards.tolist() == [[1, 0]]


@pytest.mark.parametrize("number", range(4))
def test_hostile_texts_are_the_same_texts_in_every_form(number):
    task = list(hostile_tasks())[number]
    assert task.bandit().is_target.diagonal().all()
    for same in (from_json(task.to_json()), from_csv(task.to_csv()), unpacked(task.packed())):
        assert same == task
    for separator in ",;\t":
        for line in csv.reader(io.StringIO(task.to_csv(), newline=""), delimiter=separator):
            for cell in line:
                # read with another separator, a cell may go on over the end of a line
                assert not cell.lstrip("\r\n").startswith(FORMULA), cell


@pytest.mark.parametrize("text", [*TEXTS, "''=1", "'", "a\n=1", "a\r\n@x;+1", "=", "", "-"])
def test_protected_cells_come_back(text):
    assert unprotect(protect(text)) == text and not protect(text).startswith(FORMULA)


def test_a_run_s_files_begin_no_formula_and_load_again(tmp_path):
    task = BanditTask(["=1+1", "@x", "q"], ["-2", "+a", "'=b"], [[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    history = train(task, TrainConfig(epochs=3, group_size=8))
    loaded = load_run(save_run(history, tmp_path / "run"))
    assert loaded.task.prompts == task.prompts and loaded.samples_frame().equals(history.samples_frame())
    lines = list(csv.DictReader(io.StringIO((tmp_path / "run" / "samples.csv").read_text(encoding="utf-8"))))
    assert {unprotect(line["prompt"]) for line in lines} == set(task.prompts)
    assert {unprotect(line["action"]) for line in lines} == set(task.actions)
    assert not any(line[name].startswith(FORMULA) for line in lines for name in ("prompt", "action"))


@pytest.mark.parametrize(("rule", "target", "answer"), FOR_RULES)
def test_hostile_answers_do_not_pass(rule, target, answer):
    verdict = rule_part(rule, target).made().check(answer)
    assert not verdict.passed and verdict.reward == 0 and str(verdict.reason)


@pytest.mark.parametrize(("rule", "target"), BAD_TARGETS)
def test_hostile_targets_are_refused(rule, target):
    with pytest.raises(FieldError):
        rule_part(rule, target)


def packed(data: bytes) -> str:
    return "1-" + base64.urlsafe_b64encode(data).decode().rstrip("=")


@pytest.mark.parametrize(
    "text",
    [
        "", "1-", "1-!!", "2-abcd", "1-abcd", "chapter2", packed(b"x"), packed(zlib.compress(b"[]")), "9" * 100_000,
        packed(zlib.compress(b"x" * 10_000_000)), packed(zlib.compress(b'{"answers":[],"prompts":[]}')[:-3]),
        packed(zlib.compress(b"\xff")), packed(zlib.compress(b"[" * 20_000)),
    ],
)  # fmt: skip
def test_a_link_that_is_no_task_is_a_field_error(text):
    with pytest.raises(FieldError):
        unpacked(text)


def test_noise_is_a_field_error():
    whole = READY_TASKS["leaky"].packed()
    for i in range(200):
        with pytest.raises(FieldError):
            from_file(os.urandom(i % 40))
        if i < len(whole) - 1:
            with pytest.raises(FieldError):
                unpacked(whole[: i + 1])


def test_rules_that_take_too_long_are_refused(monkeypatch):
    monkeypatch.setattr("grpo_core.tasks.MAX_SECONDS", 0.001)
    cases = [[[i], i] for i in range(80)]
    target = json.dumps({"parameters": ["x"], "cases": cases}, separators=(",", ":"))
    with pytest.raises(FieldError, match=r"more than 0\.001 seconds"):
        from_rows(rows("q", rule="code_passes", target=target), ["x + 0" + " + 0" * i for i in range(12)])


def test_the_largest_task_trains():
    texts = [f"{i:02d}" + "x" * 498 for i in range(12)]
    task = from_rows([row for text in texts for row in rows(text, target=text)], texts)
    assert isinstance(task, RuleTask) and train(task.bandit(), TrainConfig(epochs=5)).probabilities.shape == (
        1,
        6,
        12,
        12,
    )
    assert set(task.rows()[0]) == set(COLUMNS)
    huge = [f"{i:02d}" + "语" * 498 for i in range(12)]
    with pytest.raises(FieldError, match="bytes at most"):
        from_rows([row for text in huge for row in rows(text, target=text)], huge)


def test_a_large_task_comes_back_from_its_own_file():
    cases = [[[i, i], 2 * i] for i in range(60)]
    target = json.dumps({"parameters": ["x", "y"], "cases": cases})
    task = from_rows(
        [{"prompt": f"add {i}", "rule": "code_passes", "target": target} for i in range(12)], ["x+y", "x*y"]
    )
    assert from_json(task.to_json()) == task and from_csv(task.to_csv().encode()) == task
