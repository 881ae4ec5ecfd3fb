"""The task and the settings check themselves and say precisely what is wrong."""

import dataclasses
import math

import pytest
import torch

from grpo_core import BanditTask, FieldError, TrainConfig, chapter_task
from grpo_core.config import SETTINGS, check_value, parse_value


def test_the_chapter_s_table():
    task = chapter_task()
    assert task.prompts == ("2+2?", "capital of france?", "first letter of abc?")
    assert task.targets == ("4", "paris", "a")
    assert torch.equal(task.rewards, torch.eye(3, dtype=torch.float64))
    assert torch.equal(task.reference_policy, torch.full((3, 3), 1 / 3, dtype=torch.float64))


def test_several_right_answers():
    assert BanditTask(["p"], ["a", "b", "c"], [[1, 0, 1]]).targets == ("a / c",)


GOOD = {"prompts": ["p", "q"], "actions": ["a", "b"], "rewards": [[1, 0], [0, 1]]}


@pytest.mark.parametrize(
    ("change", "field", "says"),
    [
        ({"prompts": []}, "prompts", "must not be empty"),
        ({"prompts": ["p", "p"]}, "prompts", "'p' is there twice"),
        ({"actions": ["a", " "]}, "actions", "' '"),
        ({"actions": "ab"}, "actions", "list of texts"),
        ({"prompts": None}, "prompts", "list of texts, not None"),
        ({"actions": ["a", 3]}, "actions", "3"),
        ({"rewards": [[1, 0]]}, "rewards", r"\(1, 2\)"),
        ({"rewards": [[1, math.nan], [0, 1]]}, "rewards", "nan"),
        ({"rewards": [[1, math.inf], [0, 1]]}, "rewards", "inf"),
        ({"rewards": "x"}, "rewards", "table of numbers"),
        ({"rewards": [[10**400, 0], [0, 1]]}, "rewards", "table of numbers"),
        ({"rewards": [[1e200, 0], [0, 1]]}, "rewards", "1e\\+200"),
        ({"reference_policy": [[1, 0], [0.5, 0.5]]}, "reference_policy", "above 0"),
        ({"reference_policy": [[0.5, 0.6], [0.5, 0.5]]}, "reference_policy", "off by 0.1"),
    ],
)
def test_a_bad_task_is_a_precise_error(change, field, says):
    with pytest.raises(FieldError, match=says) as raised:
        BanditTask(**(GOOD | change))
    assert raised.value.field == field and field in str(raised.value)


def test_defaults():
    assert dataclasses.asdict(TrainConfig()) == {
        "epochs": 40, "group_size": 4, "learning_rate": 0.1, "kl_coef": 0.02, "seed": 0, "epsilon": 1e-6,
        "ddof": 0, "optimizer": "adam",
    }  # fmt: skip
    with pytest.raises(dataclasses.FrozenInstanceError):
        TrainConfig().epochs = 3


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("epochs", 0), ("epochs", 10_001), ("epochs", 2.5), ("epochs", True), ("epochs", "4"), ("group_size", 0),
        ("group_size", 65), ("learning_rate", -0.1), ("learning_rate", math.nan), ("learning_rate", None),
        ("kl_coef", math.inf), ("kl_coef", 2.1), ("seed", -1), ("seed", 2**31), ("epsilon", -1e-9), ("ddof", 2),
        ("ddof", True), ("optimizer", "lion"), ("epochs", 10**400), ("learning_rate", 10**400), ("kl_coef", -math.inf),
    ],
)  # fmt: skip
def test_values_out_of_range_are_refused(field, value):
    with pytest.raises(FieldError) as raised:
        TrainConfig(**{field: value})
    assert raised.value.field == field and repr(value) in str(raised.value)


def test_the_ends_of_the_ranges_are_allowed():
    for name, setting in SETTINGS.items():
        for value in setting.choices or (setting.minimum, setting.maximum):
            assert getattr(TrainConfig(**{name: value}), name) == value


def test_texts_are_parsed_and_the_app_allows_less():
    assert parse_value("learning_rate", "0.05") == 0.05 and parse_value("ddof", "1") == 1
    assert check_value("epochs", 5000) == 5000
    with pytest.raises(FieldError, match="from 1 to 500, not 5000"):
        check_value("epochs", 5000, in_app=True)
