"""The command: train on the chapter's task, print the run, and save it if asked.

python -m grpo_core.train_grpo_bandit --epochs 40 --group-size 4 --output-dir runs/demo
"""

import argparse
import os
import sys
from contextlib import contextmanager
from functools import partial

from tqdm import tqdm

from grpo_core.config import DEFAULTS, SETTINGS, TrainConfig, parse_value
from grpo_core.messages import FieldError
from grpo_core.report import report_lines
from grpo_core.runs import open_folder, save_run
from grpo_core.task import chapter_task
from grpo_core.training import train


class OneLineParser(argparse.ArgumentParser):
    """A bad option is one line and exit code 2, without the usage block."""

    def error(self, message):
        self.exit(2, f"{self.prog}: error: {message}\n")


def build_parser() -> argparse.ArgumentParser:
    parser = OneLineParser(
        prog="train_grpo_bandit",
        description="Train a categorical policy by GRPO on three verifiable prompts.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        allow_abbrev=False,
    )
    for name, setting in SETTINGS.items():
        allowed = (
            f"one of {', '.join(map(str, setting.choices))}"
            if setting.choices
            else f"from {setting.minimum:,} to {setting.maximum:,}"
        )
        parser.add_argument(
            "--" + name.replace("_", "-"),
            type=partial(_option, name),
            default=DEFAULTS[name],
            metavar=name.upper(),
            help=f"{setting.help} Allowed: {allowed}",
        )
    parser.add_argument("--output-dir", help="Folder for configuration, metrics, samples, log and policy.")
    parser.add_argument("--overwrite", action="store_true", help="Replace a run that is already in --output-dir.")
    return parser


def main(arguments=None) -> None:
    parser = build_parser()
    options = vars(parser.parse_args(arguments))
    folder, overwrite = options.pop("output_dir"), options.pop("overwrite")
    if overwrite and folder is None:
        parser.error("--overwrite needs an --output-dir")
    bar = partial(tqdm, desc="train", unit="epoch", delay=1, leave=False, disable=not sys.stderr.isatty())
    with _writing_to(folder, parser):
        if folder is not None:
            open_folder(folder, overwrite)  # what cannot be written is said before the run
    history = train(chapter_task(), TrainConfig(**options), progress=bar)
    with _writing_to(folder, parser):
        if folder is not None:
            save_run(history, folder, overwrite)
    try:
        print(*report_lines(history), sep="\n", flush=True)
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _writing_to(folder, parser):
    try:
        yield
    except FileExistsError as error:
        parser.error(f"{error}; --overwrite replaces it")
    except (OSError, ValueError) as error:
        parser.error(f"cannot write to {folder!r}: {getattr(error, 'strerror', None) or error}")


def _option(name: str, text: str):
    try:
        return parse_value(name, text)
    except FieldError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


if __name__ == "__main__":
    main()
