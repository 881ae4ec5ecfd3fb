"""The command line, its saved runs, and the four findings."""

import re
import subprocess
import sys

import pytest
import torch

from grpo_core import TrainConfig, chapter_task, findings, load_run, one_update, save_run, train
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


def test_numbers_printed_are_the_history(capsys):
    main(["--epochs", "5", "--seed", "3"])
    line = capsys.readouterr().out.splitlines()[5]
    row = train(chapter_task(), TrainConfig(epochs=5, seed=3)).metrics_frame().iloc[4]
    assert f"mean_reward={row.mean_reward:.3f}" in line and f"mean_kl={row.mean_kl:.4f}" in line


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
    import io
    import zipfile

    history = train(chapter_task(), TrainConfig(epochs=3))
    save_run(history, tmp_path)
    with zipfile.ZipFile(io.BytesIO(run_zip(history))) as archive:
        assert set(archive.namelist()) == set(FILES) == set(run_files(history))
        for name in FILES:
            assert archive.read(name) == (tmp_path / name).read_bytes()


@pytest.mark.parametrize("damage", ["missing", "not json", "wrong field"])
def test_a_broken_run_is_a_precise_error(tmp_path, damage):
    save_run(train(chapter_task(), TrainConfig(epochs=2)), tmp_path)
    config = tmp_path / "config.json"
    if damage == "missing":
        config.unlink()
    else:
        config.write_text("{" if damage == "not json" else config.read_text().replace('"epochs": 2', '"epochs": 0'))
    with pytest.raises(ValueError, match="is not a saved run"):
        load_run(tmp_path)


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
    ("config", "why"),
    [
        (TrainConfig(group_size=1), "a group of one has no peers"),
        (TrainConfig(learning_rate=0.0), "the learning rate is 0"),
        (TrainConfig(kl_coef=2.0, epochs=2, seed=0), "kl_coef is large"),
    ],
)
def test_findings_say_why_not(config, why):
    said = [finding for finding in findings(train(chapter_task(), config)) if not finding.sensible]
    assert said and any(why in str(finding) for finding in said)


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


def test_one_update_with_rewards_of_one_s_own():
    task = chapter_task()
    update = one_update(task, TrainConfig(optimizer="sgd", kl_coef=0.0), prompt=1, rewards=[0, 1, 1, 0])
    assert update.group.advantages[1].tolist() == pytest.approx([-1, 1, 1, -1], abs=1e-5)
    again = one_update(task, TrainConfig(), draw=1)
    assert not torch.equal(again.group.actions, one_update(task, TrainConfig()).group.actions)
    assert torch.equal(again.before, update.before)
