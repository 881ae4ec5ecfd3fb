"""The algorithm as a shell script for verl 0.9.1's main_ppo, on GSM8K, on one node or several."""

import math
import shlex
from dataclasses import replace

from grpo_core.frameworks import Exported, from_verl, to_verl
from grpo_core.frameworks.paste import GROUPS, VERL_NAMES
from grpo_core.frameworks.verl import NAME
from grpo_core.messages import N_, Message
from grpo_core.scale_up.setup import (
    GSM8K_PROMPTS,
    LEARNING_RATE,
    PROMPT_LENGTH,
    Setup,
    comments,
    exportable,
    with_differences,
)

DOTTED = {name: path for path, name in VERL_NAMES.items()}
"""A setting's whole name by ours."""
NOT_SET = ("epsilon", "rollout_is_weights", "gdpo_reward_weights", "global_batch_info")
"""No setting of a run: fixed in verl's code, of one batch, for several reward functions, or the trainer's own."""
PREPARE = "https://raw.githubusercontent.com/verl-project/verl/v0.9.0/examples/data_preprocess/gsm8k.py"
"""Not in the package; the same in 0.9.0 and after 0.9.1."""
SCRIPT = """\
#!/usr/bin/env bash
# GRPO on GSM8K with {framework}: {preset}.
# Install: pip install "verl[{extra},fsdp]=={version}" (Python 3.12 or older)
{nodes}{differences}set -euo pipefail

# GSM8K with verl's own rule: reward 1 if the answer after #### is the target, else 0.
curl -fsSLO {prepare}
python3 gsm8k.py

python3 -m verl.trainer.main_ppo \\
{overrides}
"""


def verl_overrides(setup: Setup) -> Exported:
    """main_ppo's overrides by their whole names, and what verl cannot express of the preset."""
    algorithm = exportable(setup.preset.algorithm)
    if algorithm.estimator.decoupled:  # verl's gdpo wants several reward functions by name; of one it changes nothing
        algorithm = replace(algorithm, estimator=replace(algorithm.estimator, decoupled=False))
    settings = to_verl(algorithm).settings
    batch = settings.get("global_batch_info", {})
    settings = {name: value for name, value in settings.items() if name not in NOT_SET}
    if batch.get("loss_scale_factor"):
        settings["global_batch_info"] = {"loss_scale_factor": math.ceil(batch["loss_scale_factor"])}
    exported = with_differences(setup, from_verl, settings)
    overrides = {}
    for name, value in settings.items():
        parts = {f"{name}.{part}": each for part, each in value.items()} if name in GROUPS else {name: value}
        overrides |= {DOTTED[part]: each for part, each in parts.items()}
    differences = exported.differences
    if setup.preset.max_draws > 1:
        overrides[DOTTED["dynamic_sampling"]] = True
        sentence = N_(
            "A silent group is drawn again up to {draws} times; {framework} draws other prompts in its place, without a limit."
        )
        differences += (Message(sentence, {"draws": setup.preset.max_draws, "framework": NAME}),)
    return Exported(overrides | _run(setup), differences)


def _run(setup: Setup) -> dict:
    """What is not the algorithm: data, model, batch, sampler, GPUs."""
    actor, rollout, config = "actor_rollout_ref.actor.", "actor_rollout_ref.rollout.", setup.config
    return {
        "data.train_files": "$HOME/data/gsm8k/train.parquet",
        "data.val_files": "$HOME/data/gsm8k/test.parquet",
        "data.train_batch_size": setup.prompts,
        "data.max_prompt_length": PROMPT_LENGTH,
        "data.max_response_length": setup.completion_length,
        "data.seed": config.seed,
        "actor_rollout_ref.model.path": setup.model,
        actor + "optim.lr": LEARNING_RATE,
        actor + "optim.weight_decay": 0.0,
        actor + "ppo_mini_batch_size": setup.prompts,
        actor + "ppo_micro_batch_size_per_gpu": setup.micro_batch,
        actor + "ppo_epochs": setup.updates,
        rollout + "name": "vllm" if setup.vllm else "sglang",
        rollout + "n": config.group_size,
        rollout + "tensor_model_parallel_size": 1,
        rollout + "gpu_memory_utilization": 0.5,
        rollout + "log_prob_micro_batch_size_per_gpu": setup.micro_batch,
        rollout + "seed": config.seed,
        "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu": setup.micro_batch,
        "trainer.n_gpus_per_node": setup.gpus,
        "trainer.nnodes": setup.nodes,
        "trainer.total_epochs": math.ceil(config.epochs / (GSM8K_PROMPTS // setup.prompts)),
        "trainer.total_training_steps": config.epochs,
        "trainer.save_freq": config.epochs,
        "trainer.test_freq": 10,
        "trainer.logger": "console",
    }


def verl_command(setup: Setup) -> str:
    """A whole shell script: Ray on several nodes, data, training."""
    exported = verl_overrides(setup)
    said = comments(("verl cannot express:", *(f"- {message}" for message in exported.differences)))
    overrides = " \\\n".join(f"    {name}={_quoted(value)}" for name, value in exported.settings.items())
    return SCRIPT.format(
        framework=NAME, preset=f"{setup.preset.name}, {setup.preset.source}", version=NAME.split()[-1],
        extra="vllm" if setup.vllm else "sglang", nodes=_nodes(setup), differences=f"{said}\n" if exported.differences else "",
        prepare=PREPARE, overrides=overrides,
    )  # fmt: skip


def _quoted(value) -> str:
    text = str(value)
    return f'"{text}"' if text.startswith("$HOME/") else shlex.quote(text)


def _nodes(setup: Setup) -> str:
    """What to do on each node before this script runs on the first."""
    if setup.nodes == 1:
        return ""
    return (
        f"# First node:  ray start --head --port=6379 --num-gpus={setup.gpus}\n"
        f"# The others:  ray start --address=FIRST_NODE:6379 --num-gpus={setup.gpus}\n"
        f"# Then this script, on the first node only, once `ray status` shows {setup.world} GPUs.\n"
        "# The data and the model must be at the same place on every node.\n"
    )
