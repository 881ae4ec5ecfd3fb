"""The command line, its saved runs, and the four findings."""

import fractions
import io
import math
import re
import statistics
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import torch

from grpo_core import BanditTask, FieldError, TrainConfig, chapter_task, findings, load_run, one_update, save_run, train
from grpo_core.optimizers import corrected_moments
from grpo_core.runs import FILES, run_files, run_zip
from grpo_core.train_grpo_bandit import main

EPOCH = re.compile(
    r"epoch=\d{3} mean_reward=\d\.\d{3} greedy_reward=\d\.\d{3} "
    r"adv_mean=-?\d\.\d{3} adv_std=\d\.\d{3} mean_kl=\d\.\d{4}"
)


def test_smoke_run_prints_the_exact_format(capsys):
    main(["--epochs", "3", "--group-size", "4"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "prompts=3 actions=3 group_size=4"
    assert all(EPOCH.fullmatch(line) for line in lines[1:4])
    assert lines[1].startswith("epoch=001") and lines[1].endswith("mean_kl=0.0000")
    assert lines[4:6] == ["", "policy"]
    assert all(re.fullmatch(r"prompt='.+' action='.+' target='.+'", line) for line in lines[6:9])
    assert lines[9] == ""
    assert [line.split(":")[0] for line in lines[10:]] == ["rewards", "advantages", "target probability", "KL"]
    assert "-0.000" not in "\n".join(lines)


def test_numbers_printed_are_those_of_the_run(capsys):
    """Every number of a line, worked out here from the samples and probabilities themselves."""
    main(["--epochs", "5", "--seed", "3"])
    printed = capsys.readouterr().out.splitlines()[1:6]
    history = train(chapter_task(), TrainConfig(epochs=5, seed=3))
    for epoch, line in enumerate(printed):
        numbers = [float(text) for text in re.findall(r"=(-?[\d.]+)", line)]
        advantages, policy = history.advantages[0, epoch].flatten(), history.probabilities[0, epoch]
        greedy = [policy[p].argmax().item() == p for p in range(3)]
        kl = sum(q * math.log(3 * q) for q in policy.flatten().tolist()) / 3
        spread = statistics.pstdev(advantages.tolist())
        by_hand = [epoch + 1, history.rewards[0, epoch].mean(), sum(greedy) / 3, advantages.mean(), spread, kl]
        assert numbers == pytest.approx([float(value) for value in by_hand], abs=0.00051)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--group-size", "0"], "group_size must be from 1 to 64, not 0"),
        (["--epochs", "ten"], "epochs must be a whole number, not 'ten'"),
        (["--learning-rate", "nan"], "learning_rate must be a number, not nan"),
        (["--optimizer", "lion"], "optimizer must be one of adam, sgd, not 'lion'"),
        (["--group", "4"], "unrecognized arguments"),
    ],
)
def test_bad_option_is_one_line_and_exit_code_2(capsys, options, says):
    with pytest.raises(SystemExit) as stopped:
        main(options)
    captured = capsys.readouterr()
    assert stopped.value.code == 2
    assert captured.out == ""
    assert captured.err.count("\n") == 1 and says in captured.err


def test_help_names_every_option_with_its_default(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    text = " ".join(capsys.readouterr().out.split())
    for option, default in [("--epochs", "40"), ("--kl-coef", "0.02"), ("--epsilon", "1e-06"), ("--optimizer", "adam")]:
        assert option in text and f"(default: {default})" in text


@pytest.mark.parametrize(
    ("folder", "says"),
    [
        ("", "a folder needs a name"),
        ("x" * 300, "File name too long"),
        ("taken", "Not a directory"),
        ("taken/below", "Not a directory"),
        ("nul\0", "null"),
    ],
)
def test_a_folder_that_cannot_be_written_is_said_before_the_run(tmp_path, monkeypatch, capsys, folder, says):
    (tmp_path / "taken").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("grpo_core.train_grpo_bandit.train", None)
    with pytest.raises(SystemExit) as stopped:
        main(["--epochs", "2", f"--output-dir={folder}"])
    captured = capsys.readouterr()
    assert stopped.value.code == 2 and captured.err.count("\n") == 1 and says in captured.err
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_a_run_is_written_whole_or_not_at_all(tmp_path, capsys):
    main(["--epochs", "2", "--output-dir", str(tmp_path)])
    (tmp_path / "policy.pt").unlink()
    (tmp_path / "policy.pt").mkdir()
    before = (tmp_path / "config.json").read_bytes()
    with pytest.raises(SystemExit) as stopped:
        main(["--epochs", "3", "--output-dir", str(tmp_path), "--overwrite"])
    assert stopped.value.code == 2 and "policy.pt is not a file" in capsys.readouterr().err
    assert (tmp_path / "config.json").read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == set(FILES)


def test_overwrite_needs_a_folder(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--overwrite"])
    assert stopped.value.code == 2 and "needs an --output-dir" in capsys.readouterr().err


def test_a_reader_that_stops_reading_is_no_error(tmp_path):
    command = [sys.executable, "-m", "grpo_core.train_grpo_bandit", "--epochs", "2000", "--output-dir", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline().startswith(b"prompts=3")
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0 and load_run(tmp_path).config.epochs == 2000


def test_saved_run_loads_with_equal_tables(tmp_path, capsys):
    folder = tmp_path / "runs" / "demo"
    main(["--epochs", "4", "--output-dir", str(folder)])
    printed = capsys.readouterr().out
    assert {path.name for path in folder.iterdir()} == set(FILES)
    assert (folder / "train.log").read_text() == printed
    loaded, run = load_run(folder), train(chapter_task(), TrainConfig(epochs=4))
    assert loaded.metrics_frame().equals(run.metrics_frame())
    assert loaded.samples_frame().equals(run.samples_frame())
    assert loaded.config == run.config
    assert torch.equal(loaded.final.logits, run.final.logits)


def test_a_run_is_not_overwritten_unless_told_to(tmp_path, capsys):
    main(["--epochs", "2", "--output-dir", str(tmp_path)])
    with pytest.raises(SystemExit) as stopped:
        main(["--epochs", "3", "--output-dir", str(tmp_path)])
    assert stopped.value.code == 2 and "already holds a run" in capsys.readouterr().err
    assert load_run(tmp_path).config.epochs == 2
    main(["--epochs", "3", "--output-dir", str(tmp_path), "--overwrite"])
    assert load_run(tmp_path).config.epochs == 3
    with pytest.raises(FileExistsError, match="already holds a run"):
        save_run(train(chapter_task(), TrainConfig(epochs=2)), tmp_path)


def test_zip_equals_the_folder(tmp_path):
    history = train(chapter_task(), TrainConfig(epochs=3))
    save_run(history, tmp_path)
    with zipfile.ZipFile(io.BytesIO(run_zip(history))) as archive:
        assert set(archive.namelist()) == set(FILES) == set(run_files(history))
        for name in FILES:
            assert archive.read(name) == (tmp_path / name).read_bytes()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{", "["),
        ('"format": 1', '"format": 2'),
        ('"epochs": 2', '"epochs": 0'),
        ('"epochs": 2', '"epochs": 3'),
        ('"group_size": 4', '"group_size": 5'),
        ('"seeds": [\n    0\n  ]', '"seeds": []'),
        ('"seeds": [\n    0\n  ]', '"seeds": [0, 1]'),
    ],
)
def test_a_configuration_that_does_not_fit_is_a_precise_error(tmp_path, before, after):
    save_run(train(chapter_task(), TrainConfig(epochs=2)), tmp_path)
    config = tmp_path / "config.json"
    text = config.read_text()
    assert before in text
    config.write_text(text.replace(before, after, 1))
    with pytest.raises(ValueError, match="is not a saved run"):
        load_run(tmp_path)


@pytest.mark.parametrize(
    "damage",
    [
        {"loss": "text"},
        {"loss": torch.zeros(1, 3).double()},
        {"loss": torch.zeros(1, 2)},
        {"silent": torch.zeros(1, 2, 3)},
        {"rewards": torch.zeros(2, 2, 3, 4).double()},
        {"entropy": torch.zeros(1, 3).double()},
        {"loss": fractions.Fraction(1)},
    ],
)
def test_a_policy_file_that_does_not_fit_is_a_precise_error(tmp_path, damage):
    save_run(train(chapter_task(), TrainConfig(epochs=2)), tmp_path)
    stored = torch.load(tmp_path / "policy.pt", weights_only=True)
    stored["history"] |= damage
    torch.save(stored, tmp_path / "policy.pt")
    with pytest.raises(ValueError, match="is not a saved run"):
        load_run(tmp_path)


class Payload:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


def test_a_policy_file_runs_no_code(tmp_path):
    save_run(train(chapter_task(), TrainConfig(epochs=2)), tmp_path)
    torch.save({"history": Payload(tmp_path / "ran")}, tmp_path / "policy.pt")
    with pytest.raises(ValueError, match="is not a saved run"):
        load_run(tmp_path)
    assert not (tmp_path / "ran").exists()


def test_a_missing_file_is_named(tmp_path):
    save_run(train(chapter_task(), TrainConfig(epochs=2)), tmp_path)
    (tmp_path / "policy.pt").unlink()
    with pytest.raises(ValueError, match=r"is not a saved run: policy\.pt is missing"):
        load_run(tmp_path)


def test_a_bar_counts_the_epochs(monkeypatch, capsys):
    """tqdm draws after a second, on a terminal: here it is told to draw at once."""
    counted = []
    monkeypatch.setattr(
        "grpo_core.train_grpo_bandit.tqdm", lambda epochs, **options: counted.append((len(epochs), options)) or epochs
    )
    main(["--epochs", "7"])
    assert counted[0][0] == 7 and counted[0][1]["delay"] == 1 and counted[0][1]["disable"] is True


def test_runs_without_streamlit():
    code = (
        "import sys; sys.modules['streamlit'] = sys.modules['plotly'] = None\n"
        "from grpo_core.train_grpo_bandit import main; main(['--epochs', '2'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "epoch=002" in done.stdout


def test_findings_of_a_good_run():
    history = train(chapter_task(), TrainConfig())
    rewards, advantages, target, kl = findings(history)
    assert all(finding.sensible for finding in (rewards, advantages, target, kl))
    assert rewards.start == history.mean_reward[0, 0] and rewards.end == history.mean_reward[0, -1]
    assert target.end == pytest.approx(history.target_probability[0, -1].item())
    assert kl.end == pytest.approx(history.mean_kl[0, -1].item()) and kl.start == 0


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (dict(group_size=1), ["-did not move: a group of one", "-to learn from: a group of one", "-a group of one", "-did not move"]),
        (dict(learning_rate=0.0, seed=4), ["-only chance, the policy did not move: the learning rate is 0", "-nothing came of it", "-the learning rate is 0", "-did not move"]),
        (dict(epochs=2), ["-held back by chance", "+by chance: 82% are expected", "+not there yet", "+grew"]),
        (dict(epochs=1, kl_coef=0.5), ["-one epoch shows no change", "+still teaching", "+not there yet", "+grew"]),
        (dict(kl_coef=2.0, epochs=100), ["-held back by chance", "+still teaching", "-goes no further: kl_coef is large", "+grew"]),
        (dict(kl_coef=2.0, epochs=2), ["-held back by chance", "+by chance", "+not there yet", "+grew"]),
        (dict(optimizer="sgd", learning_rate=0.01), ["-held back by chance", "+still teaching", "-only a little: too few or too small", "+grew"]),
        (dict(kl_coef=0.5), ["+rose as it should", "+fading as the policy grows certain", "+rose as it should", "+grew"]),
    ],
)  # fmt: skip
def test_what_findings_say(config, said):
    found = findings(train(chapter_task(), TrainConfig(**config)))
    for finding, expected in zip(found, said, strict=True):
        assert expected[1:] in str(finding) and finding.sensible == (expected[0] == "+"), str(finding)


def test_findings_of_a_policy_that_settles_on_the_second_best():
    task = BanditTask(["p"], ["a", "b", "c"], [[1, 0.9, 0]], [[0.05, 0.55, 0.4]])
    history = train(task, TrainConfig(kl_coef=0.0, seed=1))
    assert history.target_probability[0, -1] < 0.05 and history.mean_reward[0, -1] == 0.9
    rewards, advantages, target, kl = findings(history)
    assert rewards.sensible and "rose as it should" in str(rewards)
    for finding in (advantages, target, kl):
        assert "the best answer is sampled too rarely" in str(finding) and not finding.sensible
    assert "certain of wrong answers" in str(advantages)


def test_no_finding_prints_a_negative_zero():
    task = BanditTask(["p"], ["a", "b"], [[-1e-5, -2e-5]])
    for finding in findings(train(task, TrainConfig(epochs=3))):
        assert "-0.000" not in str(finding)


def test_one_update_is_the_run_s_own_epoch():
    task, config = chapter_task(), TrainConfig(epochs=6)
    history = train(task, config)
    for after in (0, 3, 5):
        update = one_update(task, config, after=after)
        torch.testing.assert_close(update.before, history.probabilities[0, after])
        torch.testing.assert_close(update.after, history.probabilities[0, after + 1])
        assert torch.equal(update.group.actions, history.actions[0, after])
        torch.testing.assert_close(update.loss.total, history.loss[0, after])
        assert update.gradient.total.norm().item() == pytest.approx(history.grad_norm[0, after].item())


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_moments_of_the_update_give_its_step(optimizer):
    update = one_update(chapter_task(), TrainConfig(optimizer=optimizer), after=4)
    momentum, square = corrected_moments(update.state)
    if optimizer == "adam":
        torch.testing.assert_close(update.logit_change, -0.1 * momentum[0] / (square[0].sqrt() + 1e-8))
    else:
        torch.testing.assert_close(update.logit_change, -0.1 * update.gradient.total)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"after": -1}, "after"),
        ({"after": 10_001}, "after"),
        ({"draw": -1}, "draw"),
        ({"prompt": -1}, "prompt"),
        ({"prompt": 3}, "prompt"),
        ({"rewards": []}, "rewards"),
        ({"rewards": [0] * 65}, "group_size"),
    ],
)
def test_one_update_that_cannot_be_names_the_field(arguments, field):
    with pytest.raises(FieldError) as raised:
        one_update(chapter_task(), TrainConfig(), **arguments)
    assert raised.value.field == field


def test_typed_rewards_do_not_change_the_run_before_them():
    task, config = chapter_task(), TrainConfig(epochs=6)
    update = one_update(task, config, after=3, rewards=[0, 1])
    torch.testing.assert_close(update.before, train(task, config).probabilities[0, 3])
    assert update.group.actions.shape == (3, 2)


def test_one_update_with_rewards_of_one_s_own():
    task = chapter_task()
    update = one_update(task, TrainConfig(optimizer="sgd", kl_coef=0.0), prompt=1, rewards=[0, 1, 1, 0])
    assert update.group.advantages[1].tolist() == pytest.approx([-1, 1, 1, -1], abs=1e-5)
    again = one_update(task, TrainConfig(), draw=1)
    assert not torch.equal(again.group.actions, one_update(task, TrainConfig()).group.actions)
    assert torch.equal(again.before, update.before)
