"""Why is my loss 0? The questions that people ask about GRPO, each answered by a scene that the core computes."""

import re
from collections.abc import Callable

from grpo_core.puzzles.loss_scenes import ratio_loss
from grpo_core.puzzles.puzzle import Chart, Control, Puzzle, Scene, Series, Table, Thread, written
from grpo_core.puzzles.questions import EVERY

PUZZLES: dict[str, Puzzle] = {puzzle.key: puzzle for puzzle in EVERY}


def search(text: str, translate: Callable[[str], str] = str) -> tuple[str, ...]:
    """Keys of the puzzles that hold every word of `text`, in English or translated; all of them for no words.

    Searched are the question, the answer, the settings that change it, and the threads with their numbers.
    """
    words = text.casefold().split()
    return tuple(key for key, puzzle in PUZZLES.items() if all(word in _searched(puzzle, translate) for word in words))


def _searched(puzzle: Puzzle, translate: Callable[[str], str]) -> str:
    texts = (puzzle.question, *puzzle.answer)
    read = (re.sub(r"{[a-z_]+(:[^}]*)?}", "", text) for text in (*texts, *map(translate, texts)))
    settings = (part for framework, names in puzzle.fix.items() for part in (framework, *names))
    threads = (f"{thread.name} {thread.title}" for thread in puzzle.threads)
    return "\n".join([*read, *settings, *threads, puzzle.key]).casefold()


__all__ = [
    "PUZZLES",
    "Chart",
    "Control",
    "Puzzle",
    "Scene",
    "Series",
    "Table",
    "Thread",
    "ratio_loss",
    "search",
    "written",
]
