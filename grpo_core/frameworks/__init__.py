"""The GRPO family as TRL, verl and OpenRLHF compute it: their settings -> advantages, loss, gradient, KL, metrics."""

from grpo_core.frameworks.advantages import Estimator
from grpo_core.frameworks.aggregation import Aggregation
from grpo_core.frameworks.algorithm import Algorithm, Loss
from grpo_core.frameworks.export import to_trl, to_verl
from grpo_core.frameworks.kl import TokenKl
from grpo_core.frameworks.openrlhf import from_openrlhf
from grpo_core.frameworks.presets import PRESETS, Preset
from grpo_core.frameworks.settings import Exported, UnsupportedSetting
from grpo_core.frameworks.surrogates import Ratio
from grpo_core.frameworks.trl import from_trl
from grpo_core.frameworks.verl import from_verl

CHAPTER = Algorithm()
"""The chapter's loss; its KL, which is exact, counts with a kl_coef above 0."""

__all__ = [
    "CHAPTER",
    "PRESETS",
    "Aggregation",
    "Algorithm",
    "Estimator",
    "Exported",
    "Loss",
    "Preset",
    "Ratio",
    "TokenKl",
    "UnsupportedSetting",
    "from_openrlhf",
    "from_trl",
    "from_verl",
    "to_trl",
    "to_verl",
]
