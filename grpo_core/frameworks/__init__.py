"""The GRPO family as TRL, verl and OpenRLHF compute it: their settings -> advantages, loss, gradient, KL, metrics."""

from grpo_core.frameworks.advantages import Estimator
from grpo_core.frameworks.aggregation import Aggregation
from grpo_core.frameworks.algorithm import Algorithm, Loss
from grpo_core.frameworks.kl import TokenKl
from grpo_core.frameworks.openrlhf import from_openrlhf
from grpo_core.frameworks.settings import UnsupportedSetting
from grpo_core.frameworks.surrogates import Ratio
from grpo_core.frameworks.trl import from_trl
from grpo_core.frameworks.verl import from_verl
