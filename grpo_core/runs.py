"""Save a run so that it can be looked at again, and load it."""

import dataclasses
import io
import json
import zipfile
from pathlib import Path

import torch

from grpo_core.config import TrainConfig
from grpo_core.history import TrainingHistory
from grpo_core.optimizers import PolicyState
from grpo_core.report import report_lines
from grpo_core.task import BanditTask

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
        "samples.csv": history.samples_frame().to_csv(index=False, lineterminator="\n").encode(),
        "train.log": ("\n".join(report_lines(history)) + "\n").encode(),
        "policy.pt": policy.getvalue(),
    }


def holds_run(folder) -> bool:
    """Whether any file of a run is there already."""
    return any((Path(folder) / name).exists() for name in FILES)


def save_run(history: TrainingHistory, folder, overwrite: bool = False) -> Path:
    """Write a run into `folder`. A folder that holds a run is refused unless `overwrite`."""
    folder = Path(folder)
    if not overwrite and holds_run(folder):
        raise FileExistsError(f"{folder} already holds a run")
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in run_files(history).items():
        (folder / name).write_bytes(content)
    return folder


def run_zip(history: TrainingHistory) -> bytes:
    """The same files as one zip."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in run_files(history).items():
            archive.writestr(name, content)
    return buffer.getvalue()


def load_run(folder) -> TrainingHistory:
    """The history that `save_run` wrote, with equal tables. Raises ValueError for anything else."""
    folder = Path(folder)
    try:
        saved = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        stored = torch.load(folder / "policy.pt", weights_only=True)
        if saved["format"] != FORMAT:
            raise ValueError(f"format {saved['format']}, this version reads {FORMAT}")
        return TrainingHistory(
            task=BanditTask(**saved["task"]),
            config=TrainConfig(**saved["config"]),
            seeds=tuple(saved["seeds"]),
            final=PolicyState(**stored["final"]),
            **stored["history"],
        )
    except FileNotFoundError as error:
        raise ValueError(f"{folder} is not a saved run: {Path(error.filename).name} is missing") from error
    except Exception as error:
        raise ValueError(f"{folder} is not a saved run: {error}") from error
