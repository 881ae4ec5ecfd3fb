"""From the bandit to a real model: the same algorithm as a TRL script and as a verl command, on GSM8K."""

from grpo_core.scale_up.setup import GPUS, MODEL, NODES, Setup, check_model, parameters
from grpo_core.scale_up.trl_script import trl_script, trl_settings
from grpo_core.scale_up.verl_script import verl_command, verl_overrides

__all__ = [
    "GPUS",
    "MODEL",
    "NODES",
    "Setup",
    "check_model",
    "parameters",
    "trl_script",
    "trl_settings",
    "verl_command",
    "verl_overrides",
]
