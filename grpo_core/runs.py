"""Save a run so that it can be looked at again, and load it."""

import dataclasses
import errno
import io
import json
import os
import tempfile
import zipfile
from pathlib import Path

import torch

from grpo_core.config import TrainConfig
from grpo_core.history import TrainingHistory
from grpo_core.optimizers import PolicyState
from grpo_core.report import report_lines
from grpo_core.spreadsheet import protect
from grpo_core.task import BanditTask
from grpo_core.training import checked_seeds

FORMAT = 1
FILES = ("config.json", "metrics.csv", "samples.csv", "train.log", "policy.pt")
_TENSORS = tuple(item.name for item in dataclasses.fields(TrainingHistory) if item.type is torch.Tensor)


def run_files(history: TrainingHistory) -> dict[str, bytes]:
    """The five files of a run, by name."""
    task = history.task
    config = {
        "format": FORMAT,
        "config": dataclasses.asdict(history.config),
        "seeds": history.seeds,
        "task": {
            "prompts": task.prompts,
            "actions": task.actions,
            "rewards": task.rewards.tolist(),
            "reference_policy": task.reference_policy.tolist(),
        },
    }
    policy = io.BytesIO()
    tensors = {name: getattr(history, name).contiguous() for name in _TENSORS}
    torch.save({"history": tensors, "final": dataclasses.asdict(history.final)}, policy)
    return {
        "config.json": json.dumps(config, indent=2, ensure_ascii=False).encode(),
        "metrics.csv": history.metrics_frame().to_csv(index=False, lineterminator="\n").encode(),
        "samples.csv": _samples_csv(history).encode(),
        "train.log": ("\n".join(report_lines(history)) + "\n").encode(),
        "policy.pt": policy.getvalue(),
    }


def _samples_csv(history: TrainingHistory) -> str:
    frame = history.samples_frame()
    for column in ("prompt", "action"):
        frame[column] = frame[column].map(protect)
    return frame.to_csv(index=False, lineterminator="\n")


def open_folder(folder, overwrite: bool = False) -> Path:
    """The folder, made if it is missing, ready for a run. Raises before anything in it is changed:

    FileExistsError for a folder that holds a run, unless `overwrite`; another OSError, or a
    ValueError, for a folder that cannot be written to.
    """
    if not str(folder):
        raise ValueError("a folder needs a name")
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    held = [folder / name for name in FILES if (folder / name).exists()]
    if held and not overwrite:
        raise FileExistsError(f"{folder} already holds a run")
    for path in held:
        if not path.is_file():
            raise IsADirectoryError(errno.EISDIR, f"{path.name} is not a file", str(path))
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        return folder


def save_run(history: TrainingHistory, folder, overwrite: bool = False) -> Path:
    """Write a run into `folder`: all of it, or nothing. Raises as `open_folder`."""
    folder = open_folder(folder, overwrite)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".saving-") as parts:
        for name, content in run_files(history).items():
            (Path(parts) / name).write_bytes(content)
        for name in FILES:
            os.replace(Path(parts) / name, folder / name)
    return folder


def run_zip(history: TrainingHistory) -> bytes:
    """The same files as one zip."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in run_files(history).items():
            archive.writestr(name, content)
    return buffer.getvalue()


def load_run(folder) -> TrainingHistory:
    """The history that `save_run` wrote, with equal tables.

    ValueError where a file is missing or unreadable, or where its parts do not fit each other.
    """
    folder = Path(folder)
    try:
        saved = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        stored = torch.load(folder / "policy.pt", weights_only=True)
        if saved["format"] != FORMAT:
            raise ValueError(f"format {saved['format']}, this version reads {FORMAT}")
        return TrainingHistory(
            task=BanditTask(**saved["task"]),
            config=TrainConfig(**saved["config"]),
            seeds=checked_seeds(saved["seeds"]),
            final=PolicyState(**stored["final"]),
            **stored["history"],
        )
    except FileNotFoundError as error:
        raise ValueError(f"{folder} is not a saved run: {Path(error.filename).name} is missing") from error
    except Exception as error:
        raise ValueError(f"{folder} is not a saved run: {error}") from error
