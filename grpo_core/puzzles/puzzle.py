"""What a puzzle is: a question that people ask, its answer, and a scene that computes every number in it.

A scene is data: numbers for the answer, and charts, a table and formulas to be drawn by whoever shows it. Its texts are
templates for the catalogues, filled with the scene's numbers. Not about: drawing.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from grpo_core.config import DEFAULTS, TrainConfig

_ADDRESSES = {
    "trl": "https://github.com/huggingface/trl",
    "verl": "https://github.com/verl-project/verl",
    "open-r1": "https://github.com/huggingface/open-r1",
}
ROUNDING = 1e-12


def number(value) -> float:
    """A plain number; what is rounding only is 0."""
    value = float(value)
    return 0.0 if abs(value) < ROUNDING else value


def numbers(values) -> tuple[float, ...]:
    """A vector as plain numbers."""
    return tuple(map(number, values))


def written(value: float, spec: str) -> str:
    """A number as a text with a true minus."""
    return format(value, spec).replace("-", "−")


@dataclass(frozen=True)
class Series:
    """Values over the chart's x; `role` says what they are and so their colour; hover: one text each."""

    name: str
    values: tuple[float, ...]
    role: str = "first"
    hover: tuple[str, ...] = ()


@dataclass(frozen=True)
class Chart:
    """Lines over numbers x, or bars over names x. `up` is the axis of the values, logarithmic if `log`."""

    title: str
    across: str
    up: str
    x: tuple
    series: tuple[Series, ...]
    alt: str
    kind: str = "lines"
    log: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of texts and numbers; a number is shown with `digits` decimals."""

    columns: tuple[str, ...]
    rows: tuple[tuple, ...]
    alt: str
    digits: int = 3


@dataclass(frozen=True)
class Scene:
    """numbers: what the texts are filled with; formulas: LaTeX; config: of the run in it, if one was trained."""

    numbers: dict[str, float | str]
    charts: tuple[Chart, ...] = ()
    table: Table | None = None
    formulas: tuple[str, ...] = ()
    config: TrainConfig | None = None


@dataclass(frozen=True)
class Control:
    """The one thing to turn in a scene: a field of TrainConfig, or something of the scene's own.

    values  what it can be: numbers, or texts of code; names: what these are called, where that is not enough
    start   the position shown first
    """

    name: str
    label: str
    values: tuple
    names: tuple[str, ...] = ()
    start: int = 0


@dataclass(frozen=True)
class Thread:
    """Where people asked: `trl #2703`. kind is GitHub's, issues or pull."""

    project: str
    number: int
    title: str = ""
    kind: str = "issues"

    @property
    def name(self) -> str:
        return f"{self.project} #{self.number}"

    @property
    def url(self) -> str:
        return f"{_ADDRESSES[self.project]}/{self.kind}/{self.number}"


@dataclass(frozen=True)
class Puzzle:
    """answer: two lines, templates of the scene's numbers; fix: framework -> its settings that change it;
    page: which page explains more; settings: what a link to that page holds, preloaded into the scene's run."""

    key: str
    question: str
    answer: tuple[str, str]
    scene: Callable[[TrainConfig, object], Scene]
    page: str
    fix: dict[str, tuple[str, ...]]
    threads: tuple[Thread, ...] = ()
    settings: dict = field(default_factory=dict)
    control: Control | None = None

    def at(self, option: int = 0) -> Scene:
        """The scene with its control at that position."""
        fields = {name: value for name, value in self.link_settings(option).items() if name in DEFAULTS}
        return self.scene(TrainConfig(**fields), self.control.values[option] if self.control else None)

    def link_settings(self, option: int = 0) -> dict:
        """`settings`, with what the control turned if it is a field of TrainConfig."""
        turned = self.control is not None and self.control.name in DEFAULTS
        return self.settings | ({self.control.name: self.control.values[option]} if turned else {})

    @property
    def start(self) -> int:
        return self.control.start if self.control else 0

    @property
    def options(self) -> int:
        return len(self.control.values) if self.control else 1
