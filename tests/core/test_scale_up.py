"""The exported TRL script and verl command: they compile, say the algorithm they came from, and name what is lost."""

import ast
import json
import shlex
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from grpo_core import FieldError, TrainConfig
from grpo_core.frameworks import PRESETS, from_trl
from grpo_core.frameworks.export import differences
from grpo_core.frameworks.paste import read_config
from grpo_core.frameworks.presets import chapter_of
from grpo_core.scale_up import (
    GPUS,
    NODES,
    Setup,
    check_model,
    parameters,
    trl_script,
    trl_settings,
    verl_command,
    verl_overrides,
)
from grpo_core.scale_up.setup import exportable

VERL_NAMES = set(json.loads((Path(__file__).parents[1] / "conformance" / "verl_names.json").read_text()))
"""What Hydra knows in verl 0.9.1's ppo_trainer; an override of any other name is refused."""
DYNAMIC = "again"
SIZE = {
    "num_generations", "num_iterations", "per_device_train_batch_size", "gradient_accumulation_steps", "max_steps",
    "learning_rate", "lr_scheduler_type", "weight_decay", "seed", "output_dir", "logging_steps", "log_completions",
    "use_vllm", "vllm_mode", "vllm_gpu_memory_utilization",
}  # fmt: skip
"""Arguments that are not the algorithm."""


def setup(key: str, **more) -> Setup:
    config = TrainConfig(
        **{name: more.pop(name) for name in ("group_size", "epochs", "seed", "kl_coef", "ddof") if name in more}
    )
    preset = PRESETS[key]
    if key == "chapter":
        preset = replace(preset, algorithm=chapter_of(config))
    return Setup(config, preset, **more)


def arguments(script: str) -> dict:
    """GRPOConfig's arguments as the script has them."""
    calls = [node for node in ast.walk(ast.parse(script)) if isinstance(node, ast.Call)]
    (call,) = [node for node in calls if getattr(node.func, "id", "") == "GRPOConfig"]
    return {word.arg: ast.literal_eval(word.value) for word in call.keywords}


def overrides(command: str) -> list[str]:
    words = shlex.split(command.replace("\\\n", " "), comments=True)
    return words[words.index("verl.trainer.main_ppo") + 1 :]


def reward():
    """The script's own rule, run without TRL."""
    tree = ast.parse(trl_script(setup("trl")))
    kept = [node for node in tree.body if not isinstance(node, ast.ImportFrom | ast.If)]
    names = {}
    exec(compile(ast.Module(kept, []), "script", "exec"), names)
    return names


@pytest.mark.parametrize("key", PRESETS)
def test_every_script_compiles_and_its_batch_holds_whole_groups(key):
    for gpus, nodes, group_size, vllm in product(GPUS, NODES, (2, 3, 7, 64), (True, False)):
        each = setup(key, gpus=gpus, nodes=nodes, group_size=group_size, vllm=vllm, updates=4)
        script = trl_script(each)
        compile(script, "script", "exec")
        given = arguments(script)
        batch = given["per_device_train_batch_size"] * gpus * nodes * given["gradient_accumulation_steps"]
        assert batch == each.prompts * group_size >= 32 * group_size and given["per_device_train_batch_size"] <= 8
        assert ("use_vllm" in given) == vllm and given["num_iterations"] == 4
        assert max(map(len, script.splitlines())) < 190


def test_the_batch_by_hand():
    each = setup("trl", gpus=4, nodes=1, group_size=4)
    assert (each.prompts, each.completions, each.micro_batch, each.accumulation) == (32, 128, 8, 4)
    each = setup("trl", gpus=8, nodes=8, group_size=3)
    assert (each.prompts, each.completions, each.micro_batch, each.accumulation) == (64, 192, 3, 1)


def test_the_rule_on_answers_by_hand():
    rule = reward()
    texts = ["#### 72", "so it is 1,072.\n#### 72\nI am sure, 5 times", "The answer is 72", "$72.00", "72 or 71", "-72", "#### -72",
             "", "no number", "#### none, but 72", "7 2", "172", "#### 1,234", "3-72", "#### ####"]  # fmt: skip
    right = [1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0]
    completions = [[{"role": "assistant", "content": text}] for text in texts]
    assert rule["correct"](completions, [72.0] * len(texts), trainer_state=None) == right
    assert rule["correct"](texts, target=[72.0] * len(texts)) == right
    assert rule["correct"]([[{"role": "assistant", "content": None}], "#### 1,234"], [72.0, 1234.0]) == [0.0, 1.0]
    assert rule["correct"](["9" * 5000, "#### 1e400"], [72.0, 72.0]) == [0.0, 0.0]
    row = {"question": "How many?", "answer": "48/2 = <<48/2=24>>24\n48+24 = 72\n#### 72"}
    assert rule["as_prompt"](row)["target"] == 72.0 and rule["as_prompt"](row)["prompt"][1]["content"] == "How many?"


@pytest.mark.parametrize("key", PRESETS)
def test_the_script_says_the_algorithm_and_names_the_rest(key):
    each = setup(key, updates=4, kl_coef=0.5, ddof=1)
    given = {name: value for name, value in arguments(trl_script(each)).items() if name not in SIZE}
    again, said = from_trl(given), trl_settings(each).differences
    lost = [
        message
        for message in differences(exportable(each.preset.algorithm), again)
        if "group of one" not in str(message)
    ]
    assert [message for message in said if DYNAMIC not in str(message)] == lost
    for message in said:
        assert str(message).split(";")[0] in " ".join(trl_script(each).replace("\n#   ", " ").splitlines())
    if each.preset.build == "trl":
        assert said == () and "cannot express" not in trl_script(each)
    pasted = read_config(json.dumps(arguments(trl_script(each)) | {"gradient_accumulation_steps": 1}), "trl").preset()
    assert differences(again, replace(pasted.algorithm, framework="")) == ()


@pytest.mark.parametrize("key", PRESETS)
def test_the_command_says_the_algorithm_and_names_the_rest(key):
    each = setup(key, updates=4, kl_coef=0.5, gpus=8, nodes=2)
    words = overrides(verl_command(each))
    assert {word.split("=", 1)[0] for word in words} <= VERL_NAMES and len(words) == len(
        {w.split("=")[0] for w in words}
    )
    pasted = read_config("\n".join(map(shlex.quote, words)), "verl").preset()
    wanted = exportable(each.preset.algorithm)
    lost = [message for message in differences(wanted, pasted.algorithm) if "group of one" not in str(message)]
    said = verl_overrides(each).differences
    assert [message for message in said if DYNAMIC not in str(message)] == lost
    assert pasted.max_draws == each.preset.max_draws
    if each.preset.build == "verl":
        assert lost == []
        assert exportable(pasted.algorithm) == wanted
    assert read_config(verl_command(each), "verl").preset().algorithm == pasted.algorithm


def test_what_is_lost_is_in_the_scripts():
    chapter = setup("chapter")
    assert "# - The std has ddof 0; in TRL 1.16.0 1." in trl_script(chapter)
    assert "# - The std has ddof 0; in verl 0.9.1 1." in verl_command(chapter)
    assert "Epsilon" not in verl_command(chapter)
    assert "# - Epsilon beside the std is 0.0001; in verl 0.9.1 1e-06." in verl_command(setup("trl"))
    assert "Silent groups are drawn again; TRL 1.16.0 keeps them" in trl_script(setup("dapo"))
    assert "draws other prompts in its place" in verl_command(setup("dapo"))
    assert "group of one" not in verl_command(chapter)
    assert "A group of one has as its advantage: zero; in verl 0.9.1: the reward." in verl_command(
        setup("chapter", group_size=1)
    )
    assert "the mean of the others in its group; in TRL 1.16.0: the mean of its group" in trl_script(setup("rloo"))


def test_a_leash_stays_a_leash():
    """The gradient of the exact KL is that of k2, and of k3 times the ratio; that of k1 is 0 on average."""
    each = setup("chapter", kl_coef=0.5)
    assert trl_settings(each).settings["beta"] == 0.5 and trl_settings(each).settings["use_bias_correction_kl"]
    assert verl_overrides(each).settings["actor_rollout_ref.actor.kl_loss_type"] == "low_var_kl+"
    assert verl_overrides(setup("deepseekmath")).settings["actor_rollout_ref.actor.kl_loss_type"] == "low_var_kl"
    plus_plus = verl_overrides(setup("reinforce_pp")).settings
    assert plus_plus["algorithm.adv_estimator"] == "reinforce_plus_plus_baseline"
    assert plus_plus["actor_rollout_ref.actor.kl_loss_type"] == "k2"


def test_the_run_s_settings_are_in_both():
    each = setup("dr_grpo", group_size=6, epochs=300, seed=7, updates=4, gpus=8, nodes=2, vllm=False, model="org/My-7B")
    trl, verl = trl_settings(each).settings, verl_overrides(each).settings
    assert (trl["num_generations"], trl["seed"], trl["max_steps"]) == (6, 7, 1200)
    assert trl["learning_rate"] == verl["actor_rollout_ref.actor.optim.lr"] == 1e-6
    assert trl["max_completion_length"] == verl["actor_rollout_ref.actor.loss_scale_factor"] == 3000
    assert (verl["actor_rollout_ref.rollout.n"], verl["data.seed"], verl["trainer.total_training_steps"]) == (6, 7, 300)
    assert (verl["trainer.n_gpus_per_node"], verl["trainer.nnodes"], verl["actor_rollout_ref.actor.ppo_epochs"]) == (
        8,
        2,
        4,
    )
    assert verl["trainer.total_epochs"] == 2  # 7473 // 32 = 233 steps in each
    assert verl["actor_rollout_ref.rollout.name"] == "sglang" and "[sglang,fsdp]" in verl_command(each)
    assert '"org/My-7B"' in trl_script(each) and "model.path=org/My-7B" in verl_command(each)
    assert "--num_processes 16 --num_machines 2" in trl_script(each) and "ray start --head" in verl_command(each)
    assert "ray start" not in verl_command(setup("trl")) and "--num_machines" not in trl_script(setup("trl"))


@pytest.mark.parametrize(
    "name",
    ["", "gpt2", "a/b/c", "a/b; rm -rf /", 'a/b"', "a/b\n", "a/b'''", "-a/b", "a/-b", "a/b--c", "a/..", "a/b.git", "a/b$(id)", "a /b",
     "../x", "a/" + "b" * 95, "é/b", "a/b`id`", "a/b\\", "https://huggingface.co/a/b", "a/b#c"],
)  # fmt: skip
def test_a_hostile_model_name_is_refused(name):
    with pytest.raises(FieldError) as error:
        check_model(name)
    assert error.value.field == "model"
    with pytest.raises(FieldError):
        setup("trl", model=name)


@pytest.mark.parametrize(
    "name", ["Qwen/Qwen2.5-0.5B-Instruct", "a/b", "meta-llama/Llama-3.2-1B", "o_o/x_1", "a/" + "b" * 94]
)
def test_a_model_s_name_is_taken(name):
    assert check_model(name) == name
    script = trl_script(setup("trl", model=name))
    compile(script, "script", "exec")
    assert f"actor_rollout_ref.model.path={name}" in overrides(verl_command(setup("trl", model=name)))


def test_other_sizes_are_refused():
    for wrong in ({"gpus": 3}, {"nodes": 0}):
        with pytest.raises(FieldError):
            setup("trl", **wrong)
    with pytest.raises(FieldError, match="refuses a group of one"):
        trl_script(setup("trl", group_size=1))


def test_parameters_by_the_name():
    assert parameters("Qwen/Qwen2.5-0.5B-Instruct") == 0.5e9 and parameters("meta-llama/Llama-3.1-70B") == 70e9
    assert parameters("HuggingFaceTB/SmolLM2-360M") == 360e6 and parameters("Qwen/Qwen3-30B-A3B") == 30e9
    assert parameters("openai-community/gpt2") is None and parameters("7B/nothing") is None


def test_memory_by_hand():
    """16 bytes trained, 4 for the reference, 2 for the sampler; verl's are shared by the GPUs."""
    leashed, free = setup("chapter", gpus=4), setup("trl", gpus=4, vllm=False)
    assert leashed.held(sharded=False) == {"policy": 4, "gradients": 4, "optimizer": 8, "reference": 4, "sampler": 2}
    assert leashed.held(sharded=True) == {"policy": 1, "gradients": 1, "optimizer": 2, "reference": 1, "sampler": 2}
    assert free.held(sharded=False) == {"policy": 4, "gradients": 4, "optimizer": 8}
    assert free.held(sharded=True) == {"policy": 1, "gradients": 1, "optimizer": 2, "sampler": 2}
    assert setup("rloo").reference and setup("openrlhf").reference


@pytest.mark.parametrize("text", [
    '{"loss_type": "grpo", "reward_weights": [1.0, 2.0], "gradient_accumulation_steps": 8, "steps_per_generation": 16}',
    "algorithm.adv_estimator=gdpo algorithm.gdpo_reward_weights=[1,2]",
    "algorithm.adv_estimator=opo actor_rollout_ref.actor.policy_loss.loss_mode=dro actor_rollout_ref.actor.policy_loss.dro_beta=0.1",
    '{"loss_type": "vespo", "multi_objective_aggregation": "normalize_then_sum", "off_policy_mask_threshold": 0.5}',
    "algorithm.adv_estimator=grpo actor_rollout_ref.actor.policy_loss.loss_mode=kl_cov",
    "algorithm.adv_estimator=grpo actor_rollout_ref.actor.loss_agg_mode=seq-mean-token-sum-norm",
])  # fmt: skip
def test_a_pasted_configuration_is_exported_too(text):
    each = Setup(TrainConfig(), read_config(text).preset())
    given = arguments(trl_script(each))
    assert "reward_weights" not in given and given["gradient_accumulation_steps"] == 4
    words = overrides(verl_command(each))
    assert {word.split("=", 1)[0] for word in words} <= VERL_NAMES and "algorithm.adv_estimator=gdpo" not in words
    read_config("\n".join(map(shlex.quote, words)), "verl")
    if "weights" in text:
        assert "Weights of the reward functions: (1.0, 2.0)" in trl_script(each) or "(1, 2)" in trl_script(each)


@pytest.mark.parametrize("key", PRESETS)
@pytest.mark.parametrize(("gpus", "vllm"), [(1, True), (4, False)])
def test_trl_takes_its_configuration(key, gpus, vllm, tmp_path):
    trl = pytest.importorskip("trl")
    given = arguments(trl_script(setup(key, gpus=gpus, vllm=vllm, updates=4)))
    config = trl.GRPOConfig(
        **given | {"output_dir": str(tmp_path), "use_cpu": True, "bf16": False, "report_to": "none"}
    )
    for name in set(given) - {"output_dir"}:
        assert getattr(config, name) == given[name], name
    assert config.generation_batch_size % config.num_generations == 0 and config.steps_per_generation > 0
    algorithm = {name: getattr(config, name) for name in given if name not in SIZE}
    assert from_trl(algorithm) == from_trl({name: given[name] for name in algorithm})
