"""The command: train on the chapter's task, print the run, and save it if asked.

python -m grpo_core.train_grpo_bandit --epochs 40 --group-size 4 --output-dir runs/demo
"""

import argparse
import sys
from functools import partial

from tqdm import tqdm

from grpo_core.config import DEFAULTS, SETTINGS, TrainConfig, parse_value
from grpo_core.messages import FieldError
from grpo_core.report import report_lines
from grpo_core.runs import holds_run, save_run
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
    if folder is not None and holds_run(folder) and not overwrite:
        parser.error(f"{folder} already holds a run; --overwrite replaces it")
    bar = partial(tqdm, desc="train", unit="epoch", delay=1, leave=False, disable=not sys.stderr.isatty())
    history = train(chapter_task(), TrainConfig(**options), progress=bar)
    for line in report_lines(history):
        print(line)
    if folder is not None:
        try:
            save_run(history, folder, overwrite)
        except OSError as error:
            parser.error(f"cannot write to {folder}: {error.strerror}")


def _option(name: str, text: str):
    try:
        return parse_value(name, text)
    except FieldError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


if __name__ == "__main__":
    main()
