"""The player's data and its hand-out: the numbers are the history's, and nothing of a visitor's becomes code."""

import json
import re
from pathlib import Path

import pytest

from grpo_core import BanditTask, TrainConfig, chapter_task, train, train_bands
from ui.player import TEXTS, handout, player_data

PLAYER = Path(__file__).parent.parent / "ui" / "player"


def made(task=None, **settings):
    task, config = task or chapter_task(), TrainConfig(**settings)
    return train(task, config), train_bands(task, config)


@pytest.mark.parametrize(("epochs", "frames"), [(1, 1), (2, 2), (101, 101), (102, 101), (500, 101)])
def test_at_most_101_frames_with_the_first_and_the_last_epoch(epochs, frames):
    history, band = made(epochs=epochs, group_size=2)
    shown = player_data(history, TEXTS, band, 0)["epochs"]
    assert len(shown) == len(set(shown)) == frames and shown[0] == 1 and shown[-1] == epochs


@pytest.mark.parametrize("group_size", [4, 8, 9, 64])
def test_numbers_are_the_history_s(group_size):
    history, band = made(epochs=12, group_size=group_size, seed=5)
    data = player_data(history, TEXTS, band, 1)
    assert (data["samples"] is None) == (group_size > 8)
    for frame, epoch in enumerate(data["epochs"]):
        for prompt in range(3):
            actions = history.actions[0, epoch - 1, prompt]
            for action in range(3):
                taken = actions == action
                assert data["counts"][frame][prompt][action] == taken.sum()
                if taken.any():
                    advantage = history.advantages[0, epoch - 1, prompt][taken][0].item()
                    assert data["advantages"][frame][prompt][action] == pytest.approx(advantage, abs=6e-4)
        assert data["curves"]["kl"][0]["values"][frame] == pytest.approx(history.mean_kl[0, epoch - 1].item(), abs=6e-5)
        assert data["curves"]["reward"][0]["low"][frame] == pytest.approx(
            band.mean_reward[0, epoch - 1].item(), abs=6e-5
        )


def test_the_largest_run_stays_small():
    history, band = made(epochs=500, group_size=64)
    assert len(json.dumps(player_data(history, TEXTS, band, 0))) < 60_000


def test_the_hand_out_is_small_and_a_prompt_cannot_end_its_script():
    hostile = "</script><script>alert(1)</script>"
    task = BanditTask([hostile, "q"], ["a", "b"], [[1, 0], [0, 1]])
    history, band = made(task)
    page = handout(history, TEXTS, band, "Training run", "en")
    assert hostile not in page and page.count("</script>") == 1
    assert len(page.encode()) < 60_000
    assert not re.search(r"(src|href)=|@import|url\(", page)


def test_every_word_the_player_shows_is_in_its_texts():
    script, html = ("".join(path.read_text() for path in PLAYER.glob(kind)) for kind in ("*.js", "*.html"))
    used = set(re.findall(r"texts\.(\w+)", script)) | set(re.findall(r'data-text="(\w+)"', html))
    used |= set(re.findall(r'texts\["(\w+)"\]', (PLAYER / "__init__.py").read_text()))
    used |= set(re.findall(r'data-do="(\w+)"', html)) | set(re.findall(r'data-curve="(\w+)"', html))
    stages = set(re.findall(r'data-stage="(\w+)"', html))
    assert used | stages | {f"{stage}_says" for stage in stages} == set(TEXTS)
