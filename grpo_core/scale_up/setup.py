"""What a real run needs to know beside its algorithm: the model, the GPUs, and the batch that fits them."""

import math
import re
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from grpo_core.config import TrainConfig
from grpo_core.frameworks import Algorithm, Exported, Preset
from grpo_core.frameworks.export import SENTENCES, differences
from grpo_core.messages import N_, FieldError, Message

MODEL = "Qwen/Qwen2.5-0.5B-Instruct"
MAX_MODEL = 96
GPUS = NODES = (1, 2, 4, 8)
"""On each node; nodes."""
GSM8K_PROMPTS = 7473
"""Of its training split."""
LEARNING_RATE = 1e-6
"""TRL's and verl's own default; the bandit's moves logits, and would destroy a language model."""
MIN_PROMPTS, WORKERS = 32, 8
"""Prompts of one step at least; verl hands them to eight workers."""
MICRO_BATCH = 8
"""Completions that one GPU takes at once at most."""
COMPLETION_LENGTH, PROMPT_LENGTH = 512, 512
"""In tokens, at most."""
SAMPLER_MEMORY = 0.3
"""Share of each GPU that is the sampler's: TRL's default."""
HELD = {"policy": 4, "gradients": 4, "optimizer": 8}
REFERENCE, SAMPLER = 4, 2
"""Bytes for each parameter: both frameworks hold float32, Adam two of them, and sample in bfloat16."""
_PART = r"[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?"


@dataclass(frozen=True)
class Setup:
    """A run of `preset` with the bandit's settings: `updates` per rollout, `gpus` on each of `nodes`.

    vllm  TRL samples with vLLM instead of transformers; verl with vLLM instead of SGLang
    """

    config: TrainConfig
    preset: Preset
    updates: int = 1
    model: str = MODEL
    gpus: int = 4
    nodes: int = 1
    vllm: bool = True

    def __post_init__(self):
        check_model(self.model)
        for name, allowed in (("gpus", GPUS), ("nodes", NODES)):
            if getattr(self, name) not in allowed:
                raise FieldError(
                    name, N_("{field} must be one of {allowed}, not {value!r}"),
                    value=getattr(self, name), allowed=", ".join(map(str, allowed)),
                )  # fmt: skip

    @property
    def world(self) -> int:
        """GPUs in all."""
        return self.gpus * self.nodes

    @property
    def prompts(self) -> int:
        """Prompts of one optimizer step: the same number on each GPU and for each of verl's workers."""
        unit = math.lcm(self.world, WORKERS)
        return unit * -(-MIN_PROMPTS // unit)

    @property
    def completions(self) -> int:
        return self.prompts * self.config.group_size

    @property
    def micro_batch(self) -> int:
        """Completions that one GPU takes at once: a divisor of its share."""
        share = self.completions // self.world
        return max(size for size in range(1, MICRO_BATCH + 1) if share % size == 0)

    @property
    def accumulation(self) -> int:
        """Micro-batches of one optimizer step."""
        return self.completions // self.world // self.micro_batch

    @property
    def completion_length(self) -> int:
        """TRL's only length is also what dr_grpo divides by."""
        length = self.preset.algorithm.aggregation.length
        return COMPLETION_LENGTH if isinstance(length, str | None) else math.ceil(length)

    @property
    def epochs_of_gsm8k(self) -> float:
        """How often the run sees its data: one epoch of the bandit is one rollout."""
        return self.config.epochs * self.prompts / GSM8K_PROMPTS

    @property
    def reference(self) -> bool:
        """Whether a reference policy is held: only a KL needs one."""
        algorithm = self.preset.algorithm
        return algorithm.kl_coef != 0 or (algorithm.estimator is not None and algorithm.estimator.kl_in is not None)

    def held(self, sharded: bool) -> dict[str, float]:
        """Bytes for each parameter on each GPU, before any activation, by what they are.

        sharded  what is trained is spread over the GPUs (verl's FSDP), not held whole on each (TRL's default)
        """
        share = self.world if sharded else 1
        trained = HELD | ({"reference": REFERENCE} if self.reference else {})
        sampler = {"sampler": SAMPLER} if sharded or self.vllm else {}
        return {name: size / share for name, size in trained.items()} | sampler

    @property
    def memory(self) -> dict[str, dict[str, float]]:
        """GB on each GPU by framework and part; of a model whose name does not say its size, of each billion parameters."""
        size = (parameters(self.model) or 1e9) / 1e9
        return {
            framework: {part: each * size for part, each in self.held(sharded).items()}
            for framework, sharded in (("TRL", False), ("verl", True))
        }


def check_model(name: str) -> str:
    """A model's name on Hugging Face; FieldError for anything else."""
    if len(name) > MAX_MODEL or not re.fullmatch(f"{_PART}/{_PART}", name) or re.search(r"--|\.\.|\.git$", name):
        raise FieldError(
            "model",
            N_("{field} must be a name on Hugging Face, owner/name, of letters, digits, -, _ and ., {maximum} characters at most, not {value!r}"),
            maximum=MAX_MODEL, value=name[: 2 * MAX_MODEL],
        )  # fmt: skip
    return name


def parameters(model: str) -> float | None:
    """How many parameters a model has by its name (0.5B, 360M); None where the name does not say."""
    found = re.search(r"(?<![A-Za-z0-9.])(\d{1,4}(?:\.\d{1,3})?)([BbMm])(?![A-Za-z0-9])", model.partition("/")[2])
    return float(found[1]) * {"b": 1e9, "m": 1e6}[found[2].lower()] if found else None


def exportable(algorithm: Algorithm) -> Algorithm:
    """The algorithm as one reward function needs it; how micro-batches are counted is the trainer's own business."""
    aggregation = replace(algorithm.aggregation, tokens=None, sequences=None, factor=1.0)
    estimator = algorithm.estimator and replace(algorithm.estimator, weights=None, smallest=1, group_size=None)
    return replace(algorithm, aggregation=aggregation, estimator=estimator)


def with_differences(setup: Setup, build: Callable, settings: dict) -> Exported:
    """The settings, and what they cannot say of the preset's algorithm, for groups of this size."""
    wanted = exportable(setup.preset.algorithm)
    weights = setup.preset.algorithm.estimator and setup.preset.algorithm.estimator.weights
    if weights:
        wanted = replace(wanted, estimator=replace(wanted.estimator, weights=weights))
    lone = SENTENCES["estimator.lone"]
    found = differences(wanted, build(settings))
    return Exported(settings, tuple(each for each in found if each.template != lone or setup.config.group_size == 1))


def comments(lines: Iterable[str | Message], width: int = 110) -> str:
    """Lines of text as a script's comments: nothing in them can end the comment."""
    return "\n".join(
        "\n".join(textwrap.wrap(str(line), width, initial_indent="# ", subsequent_indent="#   ")) for line in lines
    )
