"""The algorithm as a Python script for TRL 1.16.0's GRPOTrainer, on GSM8K."""

import json

from grpo_core.frameworks import Exported, from_trl, to_trl
from grpo_core.frameworks.trl import NAME
from grpo_core.messages import N_, FieldError, Message
from grpo_core.scale_up.setup import (
    LEARNING_RATE,
    SAMPLER_MEMORY,
    Setup,
    comments,
    exportable,
    with_differences,
)

BATCH = ("gradient_accumulation_steps", "steps_per_generation", "num_items_in_batch")
"""What `to_trl` says of one micro-batch; here the size of the run decides them."""
FILE = "grpo_gsm8k.py"
SCRIPT = '''\
"""GRPO on GSM8K with {framework}: {preset}.

Install  pip install "trl{extra}==1.16.0"
Launch   {launch}
{several}"""

{differences}import re

from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer

MODEL = {model}


def settings():
    return GRPOConfig(
{settings}
    )


SYSTEM = "Reason step by step. End with the answer as a number on a line of its own, like this: #### 72"
NUMBER = re.compile(r"(?<![\\w.])-?(?:\\d{{1,3}}(?:,\\d{{3}})+|\\d+)(?:\\.\\d+)?")


def answer_of(text):
    """The number after the last ####, or else the last number of the text; None if there is none."""
    _, marked, after = text.rpartition("####")
    numbers = NUMBER.findall(after)[:1] if marked else []
    numbers = numbers or NUMBER.findall(text)
    return float(numbers[-1].replace(",", "")) if numbers else None


def correct(completions, target, **kwargs):
    """The rule: 1 if a completion's number is the target, else 0."""
    texts = [text if isinstance(text, str) else text[-1]["content"] or "" for text in completions]
    return [float(answer_of(text) == number) for text, number in zip(texts, target)]


def as_prompt(row):
    messages = [{{"role": "system", "content": SYSTEM}}, {{"role": "user", "content": row["question"]}}]
    return {{"prompt": messages, "target": answer_of(row["answer"])}}


def main():
    dataset = load_dataset("openai/gsm8k", "main", split="train")
    dataset = dataset.map(as_prompt, remove_columns=dataset.column_names)
    trainer = GRPOTrainer(model=MODEL, reward_funcs=correct, args=settings(), train_dataset=dataset)
    trainer.train()
    trainer.save_model()


if __name__ == "__main__":
    main()
'''


def trl_settings(setup: Setup) -> Exported:
    """GRPOConfig's arguments, and what TRL cannot express of the preset; FieldError for a group of one."""
    if setup.config.group_size < 2:
        raise FieldError(
            "group_size", N_("{field} must be at least {minimum}: {framework} refuses a group of one"), minimum=2, framework=NAME
        )  # fmt: skip
    settings = to_trl(exportable(setup.preset.algorithm)).settings
    settings = {name: value for name, value in settings.items() if name not in BATCH}
    if settings["beta"] == 0:
        del settings["use_bias_correction_kl"]
    settings["max_completion_length"] = setup.completion_length
    exported = with_differences(setup, from_trl, settings)
    run = {
        "num_generations": setup.config.group_size,
        "num_iterations": setup.updates,
        "per_device_train_batch_size": setup.micro_batch,
        "gradient_accumulation_steps": setup.accumulation,
        "max_steps": setup.config.epochs * setup.updates,
        "learning_rate": LEARNING_RATE,
        "lr_scheduler_type": "constant",
        "weight_decay": 0.0,
        "seed": setup.config.seed,
        "output_dir": "grpo_gsm8k",
        "logging_steps": 1,
        "log_completions": True,
    }
    if setup.vllm:
        run |= {"use_vllm": True, "vllm_mode": "colocate", "vllm_gpu_memory_utilization": SAMPLER_MEMORY}
    differences = exported.differences
    if setup.preset.max_draws > 1:
        sentence = N_("Silent groups are drawn again; {framework} keeps them, with advantages of 0.")
        differences += (Message(sentence, {"framework": NAME}),)
    return Exported(settings | run, differences)


def trl_script(setup: Setup) -> str:
    """A whole script: data, reward function, configuration, training; English, as code is."""
    exported = trl_settings(setup)
    said = comments(("TRL cannot express:", *(f"- {message}" for message in exported.differences)))
    notes = _notes(setup)
    lines = [
        f"        {name}={_literal(value)}," + (f"  # {notes[name]}" if name in notes else "")
        for name, value in exported.settings.items()
    ]
    return SCRIPT.format(
        framework=NAME, preset=f"{setup.preset.name}, {setup.preset.source}", extra="[vllm]" if setup.vllm else "",
        launch=_launch(setup), several=_several(setup), differences=f"{said}\n" if exported.differences else "",
        model=_literal(setup.model), settings="\n".join(lines),
    )  # fmt: skip


def _literal(value) -> str:
    return json.dumps(value) if isinstance(value, str) else repr(value)


def _launch(setup: Setup) -> str:
    parallel = f"--multi_gpu --num_processes {setup.world} " if setup.world > 1 else "--num_processes 1 "
    machines = ""
    if setup.nodes > 1:
        machines = (
            f"--num_machines {setup.nodes} --machine_rank 0 --main_process_ip FIRST_NODE --main_process_port 29500 "
        )
    return f"accelerate launch {parallel}{machines}{FILE}"


def _several(setup: Setup) -> str:
    lines = []
    if setup.nodes > 1:
        lines.append(
            f"         on every node, with its --machine_rank from 0 to {setup.nodes - 1} and FIRST_NODE's address"
        )
    if setup.world > 1:
        lines.append(
            "         --multi_gpu holds the whole model on each GPU; TRL's zero3.yaml as --config_file shards it"
        )
    return "".join(f"{line}\n" for line in lines)


def _notes(setup: Setup) -> dict[str, str]:
    """Comments beside settings of the run."""
    config = setup.config
    batch = f"x {setup.world} GPU{'s' * (setup.world > 1)} x {setup.accumulation} = {setup.completions}"
    return {
        "num_generations": "G: completions of one prompt",
        "num_iterations": "updates per rollout",
        "per_device_train_batch_size": "completions on one GPU at once",
        "gradient_accumulation_steps": f"{setup.micro_batch} {batch} = {setup.prompts} prompts x {config.group_size}",
        "max_steps": f"{config.epochs} rollouts, {setup.epochs_of_gsm8k:.2f} times through GSM8K",
        "learning_rate": f"the bandit's {config.learning_rate:g} is for a table of logits",
        "use_vllm": "its log-probs differ a little; TRL weights answers for that",
        "vllm_mode": "on the training GPUs",
        "vllm_gpu_memory_utilization": "share of each GPU",
        "max_completion_length": "tokens",
    }
