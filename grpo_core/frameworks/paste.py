"""A pasted TRL, verl or OpenRLHF configuration: read as data, and nothing in it silently ignored.

JSON, YAML, or the `name=value` and `--name value` of a command line, nested or dotted. Each name is one of
four: read (it decides the algorithm), elsewhere (the sidebar has it here), unrelated (it does not decide the
algorithm), or not covered, which is an `UnsupportedSetting`.
"""

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

import yaml

from grpo_core.frameworks import openrlhf, trl, verl
from grpo_core.frameworks.presets import BUILD, VERSIONS, Preset
from grpo_core.frameworks.settings import UnsupportedSetting
from grpo_core.messages import N_, FieldError

MAX_TEXT, MAX_DEPTH, MAX_NAMES = 20_000, 12, 600
DYNAMIC_DRAWS = 8

TRL_ELSEWHERE = """
num_generations num_iterations learning_rate optim seed max_steps num_train_epochs
"""
# vLLM among them: here the policy that samples is the one that is trained, and their ratio is 1.
TRL_UNRELATED = """
output_dir run_name project model_* trust_remote_code dtype torch_dtype attn_implementation dataset* *_dataset script_*
per_device_* per_gpu_* generation_batch_size num_generations_eval max_prompt_length shuffle_dataset pad_to_multiple_of
lr_scheduler_* warmup_* optim_* weight_decay adam_* max_grad_norm label_smoothing_factor average_tokens_across_devices
bf16* fp16* tf32 activation_checkpointing* gradient_checkpointing* torch_compile* torch_empty_cache_steps
use_liger_kernel liger_kernel_config use_cache auto_find_batch_size logging_* log_* disable_tqdm report_to trackio_*
include_* eval_* evaluation_strategy prediction_loss_only batch_eval_metrics save_* enable_jit_checkpoint push_to_hub
hub_* load_best_model_at_end metric_for_best_model greater_is_better ignore_data_skip
restore_callback_states_from_checkpoint full_determinism data_seed use_cpu no_cuda accelerator_config parallelism_config
dataloader_* remove_unused_columns label_names train_sampling_strategy length_column_name group_by_length ddp_* fsdp*
deepspeed debug skip_memory_metrics do_train do_eval do_predict resume_from_checkpoint overwrite_output_dir local_rank
disable_dropout cast_lm_head_to_fp32 ds3_gather_for_generation temperature top_p top_k min_p generation_kwargs
chat_template_kwargs repetition_penalty cache_implementation use_vllm vllm_* use_transformers_*
transformers_continuous_batching_config max_tool_calling_iterations ref_model_* entropy_coef_* entropy_target
num_completions_to_print neftune_noise_alpha use_peft lora_* load_in_* bnb_* config reward_funcs reward_model_name_or_path num_processes
"""
VERL_ELSEWHERE = """
actor_rollout_ref.rollout.n actor_rollout_ref.actor.ppo_epochs actor_rollout_ref.actor.optim.lr trainer.total_*
"""
VERL_UNRELATED = """
data.* trainer.* critic.* reward_model.* reward.* custom_reward_function.* ray_kwargs.* ray_init.* global_profiler.*
transfer_queue.* hydra.* defaults* _target_ *._target_ actor_rollout_ref.hybrid_engine actor_rollout_ref.model.*
actor_rollout_ref.ref.* actor_rollout_ref.rollout.* actor_rollout_ref.nccl_timeout actor_rollout_ref.actor.optim.*
actor_rollout_ref.actor.fsdp_config.* actor_rollout_ref.actor.megatron.* actor_rollout_ref.actor.checkpoint.*
actor_rollout_ref.actor.profiler.* actor_rollout_ref.actor.ppo_m* actor_rollout_ref.actor.*dynamic_bsz*
actor_rollout_ref.actor.ulysses_* actor_rollout_ref.actor.grad_clip actor_rollout_ref.actor.shuffle
actor_rollout_ref.actor.use_torch_compile actor_rollout_ref.actor.strategy actor_rollout_ref.actor.data_loader_seed
actor_rollout_ref.actor.entropy_* actor_rollout_ref.actor.rollout_n actor_rollout_ref.actor.load_weight
algorithm.filter_groups.metric algorithm.filter_groups.max_num_gen_batches algorithm.kl_ctrl.horizon
algorithm.kl_ctrl.target_kl actor_rollout_ref.actor.policy_loss.clip_cov_*
"""
OPENRLHF_ELSEWHERE = """
actor_learning_rate *.learning_rate actor.optim.lr actor.lr max_epochs train.max_epochs seed train.seed n_samples_per_prompt
*.n_samples_per_prompt num_episodes train.num_episodes
"""
OPENRLHF_UNRELATED = """
pretrain reward_pretrain critic_pretrain ref_pretrain remote_rm_url agent_func_path *_path load_checkpoint ckpt* save_*
max_ckpt_* *prompt_data* prompt_split eval_* input_key label_key input_template apply_chat_template *_max_len max_len max_samples
*_batch_size packing_samples use_dynamic_batch *_max_tokens_per_gpu *_num_nodes *_num_gpus_per_node vllm_* colocate_*
deepspeed_* zero_stage bf16 param_dtype gradient_checkpointing* flash_attn attn_implementation adam_* lora_* ring_*
ds_* enforce_eager logging_* use_wandb wandb_* use_tensorboard *_learning_rate lr_* l2 max_norm temperature top_p
top_k async_* enable_prefix_caching local_rank disable_* normalize_reward kl_horizon kl_target dynamic_filtering_reward_range
fsdp2_* data.* ckpt.* logger.* log.* vllm.* rollout.* train.* eval.* ref.* critic.* deepspeed.* ds.* fsdp.* model.*
actor.model* actor.num_* actor.adam* actor.gradient_checkpointing* actor.max_norm actor.optim.* algo.kl.horizon
algo.kl.target algo.advantage.is_correction_* algo.dynamic_filtering_range ray.*
"""

_ACTOR, _ALGORITHM = "actor_rollout_ref.actor.", "algorithm."
VERL_NAMES = {
    **{
        _ALGORITHM + name: name
        for name in (
            "adv_estimator", "norm_adv_by_std_in_grpo", "gamma", "lam", "use_kl_in_reward", "kl_penalty",
            "gdpo_reward_weights", "kl_ctrl.type", "kl_ctrl.kl_coef",
        )
    },
    **{
        _ACTOR + name: name
        for name in (
            "clip_ratio", "clip_ratio_low", "clip_ratio_high", "clip_ratio_c", "loss_agg_mode", "entropy_coeff",
            "tau_pos", "tau_neg", "use_kl_loss", "kl_loss_coef", "kl_loss_type", "policy_loss.kl_cov_ratio",
            "policy_loss.ppo_kl_coef", "policy_loss.dro_beta",
        )
    },
    _ACTOR + "policy_loss.loss_mode": "loss_mode",
    _ACTOR + "loss_scale_factor": "global_batch_info.loss_scale_factor",
    _ALGORITHM + "filter_groups.enable": "dynamic_sampling",
}  # fmt: skip
OPENRLHF_NAMES = {
    **dict.fromkeys(("algo.advantage.estimator",), "advantage_estimator"),
    **dict.fromkeys(("algo.advantage.no_std_norm", "no_advantage_std_norm"), "no_std_norm"),
    **dict.fromkeys(("algo.advantage.gamma",), "gamma"),
    **dict.fromkeys(("algo.advantage.lambd",), "lambd"),
    **dict.fromkeys(("algo.advantage.is_correction_level",), "is_correction_level"),
    **dict.fromkeys(("algo.kl.init_coef", "init_kl_coef"), "kl_coef"),
    **dict.fromkeys(("algo.kl.estimator",), "kl_estimator"),
    **dict.fromkeys(("algo.kl.use_loss",), "use_kl_loss"),
    **dict.fromkeys(("algo.kl.unbiased_gradient",), "unbiased_gradient"),
    **dict.fromkeys(("actor.eps_clip", "eps_clip"), "eps_clip"),
    **dict.fromkeys(("actor.eps_clip_low_high", "eps_clip_low_high"), "eps_clip_low_high"),
    **dict.fromkeys(("actor.dual_clip",), "dual_clip"),
    **dict.fromkeys(("actor.policy_loss_type",), "policy_loss_type"),
    **dict.fromkeys(("actor.entropy_coef", "entropy_loss_coef"), "entropy_coef"),
    **dict.fromkeys(("reward.clip_range",), "reward_clip_range"),
    **dict.fromkeys(("algo.dynamic_filtering_enable", "dynamic_filtering", "dynamic_filtering_enable"), "dynamic_sampling"),
}  # fmt: skip


@dataclass(frozen=True)
class _Reader:
    """What a framework's names mean: our names by its own, and patterns of those that do not decide the algorithm."""

    names: Mapping[str, str]
    covered: tuple[str, ...]
    elsewhere: tuple[str, ...]
    unrelated: tuple[str, ...]

    def kind(self, name: str) -> str:
        if name in self.names or name in self.covered:
            return "read"
        parts = name.split(".")
        paths = [".".join(parts[:end]) for end in range(len(parts), 0, -1)]  # what is unrelated is so with all in it
        for kind in ("elsewhere", "unrelated"):
            if any(fnmatchcase(path, pattern) for path in paths for pattern in getattr(self, kind)):
                return kind
        return "unknown"


GROUPS = ("policy_loss", "global_batch_info", "kl_ctrl")
"""verl's settings that are groups of settings."""
NUMBERS = {
    "epsilon_high", "delta", "off_policy_mask_threshold", "num_generations", "steps_per_generation", "num_items_in_batch",
    "kl_cov_ratio", "ppo_kl_coef", "dro_beta", "horizon", "target_kl", *verl.BATCH, "dual_clip",
    "n_samples_per_prompt", "batch_num_tokens", "global_batch_size", "eps_clip",
}  # fmt: skip
"""Settings that can be None and otherwise must be a number; the frameworks' readers check those with a default number."""
LISTS = {"reward_weights": None, "gdpo_reward_weights": None, "eps_clip_low_high": 2, "reward_clip_range": 2}
"""Settings that are lists of numbers, and of how many."""
LARGEST = 1e6
OPENING = (
    yaml.FlowMappingStartToken,
    yaml.FlowSequenceStartToken,
    yaml.BlockMappingStartToken,
    yaml.BlockSequenceStartToken,
)
CLOSING = (yaml.FlowMappingEndToken, yaml.FlowSequenceEndToken, yaml.BlockEndToken)

READERS = {
    "trl": _Reader({}, (*trl.DEFAULTS, *(set(trl.NEUTRAL) - {"use_vllm"}), "sync_ref_model"), tuple(TRL_ELSEWHERE.split()), tuple(TRL_UNRELATED.split())),
    "verl": _Reader(
        VERL_NAMES,
        (*(set(verl.DEFAULTS) - {"rollout_is_weights", *GROUPS}), *verl.NEUTRAL, *(f"policy_loss.{name}" for name in verl.POLICY_LOSS),
         *(f"global_batch_info.{name}" for name in verl.BATCH), *(f"kl_ctrl.{name}" for name in verl.KL_CTRL), "dynamic_sampling"),
        tuple(VERL_ELSEWHERE.split()), tuple(VERL_UNRELATED.split()),
    ),
    "openrlhf": _Reader(
        OPENRLHF_NAMES, (*openrlhf.DEFAULTS, *openrlhf.NEUTRAL, "eps_clip", "eps_clip_low_high", "dynamic_sampling"),
        tuple(OPENRLHF_ELSEWHERE.split()), tuple(OPENRLHF_UNRELATED.split()),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Pasted:
    """A configuration as a preset, and the names that were read, that the sidebar has, and that do not matter here."""

    build: str
    settings: dict
    read: tuple[str, ...]
    elsewhere: tuple[str, ...] = ()
    unrelated: tuple[str, ...] = ()

    def preset(self) -> Preset:
        """FieldError for a value that is not allowed or not covered."""
        settings = dict(self.settings)
        dynamic = settings.pop("dynamic_sampling", False)
        algorithm = BUILD[self.build](settings)
        if algorithm.estimator is None:
            name = "adv_estimator" if self.build == "verl" else "advantage_estimator"
            raise UnsupportedSetting(
                name, N_("{field} is gae where it is left out, which needs a value model: it is not covered")
            )
        return Preset(
            N_("your configuration"), VERSIONS[self.build], algorithm, self.build, settings,
            max_draws=DYNAMIC_DRAWS if dynamic else 1,
            note=N_("A silent group is drawn again, up to 8 times in all (dynamic sampling).") if dynamic else "",
        )  # fmt: skip

    def packed(self) -> str:
        """What decides the algorithm, as one line of JSON."""
        return json.dumps({"framework": self.build, **self.settings}, separators=(",", ":"))


def unpacked(text: str) -> Pasted:
    """The reverse of `Pasted.packed`; FieldError for anything else."""
    settings = as_mapping(text)
    build = settings.pop("framework", None)
    if not isinstance(build, str) or build not in READERS:
        raise FieldError(
            "framework", N_("{field} must be one of {allowed}, not {value!r}"), value=build, allowed=", ".join(READERS)
        )
    return read_config(settings, build)


def read_config(given: str | Mapping, build: str | None = None) -> Pasted:
    """A configuration's text (or its mapping) as settings of `build`; the framework is found by its names if left out.

    FieldError for what is no configuration, whose framework is not clear, or that holds values that cannot be;
    UnsupportedSetting for a name that is not covered.
    """
    flat = flattened(as_mapping(given) if isinstance(given, str) else given)
    if not flat and build is None:
        raise FieldError("configuration", N_("{field} is empty"))
    build = build or framework_of(flat)
    reader, settings = READERS[build], {}
    sorted_names = {"read": [], "elsewhere": [], "unrelated": []}
    for path, value in flat.items():
        kind = reader.kind(path)
        if kind == "unknown":
            raise UnsupportedSetting(
                path, N_("{field} is not among the covered settings of {framework}"), framework=VERSIONS[build]
            )
        sorted_names[kind].append(path)
        if kind == "read":
            check_kind(path, reader.names.get(path, path).rpartition(".")[2], value)
            place(settings, reader.names.get(path, path), value)
    finish(build, settings)
    result = Pasted(build, settings, *map(tuple, sorted_names.values()))
    result.preset()
    return result


def place(settings: dict, name: str, value) -> None:
    group, _, part = name.partition(".")
    if part and group in GROUPS:
        settings.setdefault(group, {})[part] = value
    else:
        settings[name] = value


def finish(build: str, settings: dict) -> None:
    """Names of a command line that are another form of ours."""
    if build == "trl" and settings.pop("sync_ref_model", False):
        raise UnsupportedSetting(
            "sync_ref_model", N_("{field} is covered only as {neutral!r}, not {value!r}"), neutral=False, value=True
        )
    dynamic = settings.get("dynamic_sampling")
    if dynamic is not None and not isinstance(dynamic, bool):
        raise FieldError("dynamic_sampling", N_("{field} must be true or false, not {value!r}"), value=dynamic)
    if dynamic is False:
        del settings["dynamic_sampling"]
    if build == "openrlhf":
        widths = settings.pop("eps_clip_low_high", None)
        one = settings.pop("eps_clip", None)
        if widths is not None:
            settings["clip_eps_low"], settings["clip_eps_high"] = widths
        elif one is not None:
            settings["clip_eps_low"] = settings["clip_eps_high"] = one
        settings.setdefault("reward_clip_range", [-10.0, 10.0])  # the command line's own default


def check_kind(path: str, name: str, value) -> None:
    """FieldError for a value that no reader could take: the readers check the rest."""
    if name in LISTS:
        wanted = LISTS[name]
        good = isinstance(value, list) and all(map(is_number, value)) and wanted in (None, len(value))
        if value is not None and not good:
            raise FieldError(path, N_("{field} must be a list of numbers, not {value!r}"), value=value)
    elif isinstance(value, int | float) and not isinstance(value, bool) and not is_number(value):
        raise FieldError(
            path, N_("{field} must be a number from {minimum:,.0f} to {maximum:,.0f}, not {value!r}"),
            minimum=-LARGEST, maximum=LARGEST, value=value,
        )  # fmt: skip
    elif ((name in NUMBERS and value is not None) or name in ("kl_coef", "dp_size")) and not is_number(value):
        raise FieldError(path, N_("{field} must be a number, not {value!r}"), value=value)


def is_number(value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -LARGEST <= value <= LARGEST


def framework_of(flat: Mapping) -> str:
    """The framework to which most of the names belong; FieldError where none or several do."""
    counts = {build: sum(reader.kind(name) == "read" for name in flat) for build, reader in READERS.items()}
    if not any(counts.values()):
        counts = {build: sum(reader.kind(name) != "unknown" for name in flat) for build, reader in READERS.items()}
    best = [build for build, count in counts.items() if count == max(counts.values())]
    if not any(counts.values()):
        raise FieldError("configuration", N_("{field}: no name of TRL, verl or OpenRLHF is in it"))
    if len(best) > 1:
        raise FieldError("configuration", N_("{field}: its names do not tell the framework; choose it above"))
    return best[0]


def as_mapping(text: str) -> dict:
    """JSON, YAML, or a command line, as names and values; FieldError if it is too large or none of these."""
    if len(text) > MAX_TEXT:
        raise FieldError(
            "configuration",
            N_("{field} may have {maximum} characters at most, not {value}"),
            maximum=MAX_TEXT,
            value=len(text),
        )
    try:
        loaded = json.loads(text, object_pairs_hook=without_repeats)
    except RecursionError:
        raise too_deep() from None
    except json.JSONDecodeError:
        loaded = from_yaml(text)
    if isinstance(loaded, str):
        loaded = command_line(text)
    if not isinstance(loaded, dict):
        raise FieldError("configuration", N_("{field} must be names with values, as JSON, YAML or name=value"))
    return loaded


def from_yaml(text: str):
    """What YAML holds, or the text itself where it is none; no anchors, aliases, tags and repeated names."""
    try:
        check_tokens(text)
        waiting = [yaml.compose(text, yaml.SafeLoader)]
        while waiting:
            node = waiting.pop()
            if isinstance(node, yaml.MappingNode):
                without_repeats([(key.value, None) for key, _ in node.value if isinstance(key, yaml.ScalarNode)])
                waiting += [value for _, value in node.value]
        return yaml.safe_load(text)
    except RecursionError:
        raise too_deep() from None
    except FieldError:
        raise
    except (yaml.YAMLError, ValueError):
        return text


def check_tokens(text: str) -> None:
    """Refuse anchors, aliases, tags and depth before anything is built of them; scanning deep texts is slow too."""
    depth = 0
    for token in yaml.scan(text):
        if isinstance(token, yaml.AliasToken | yaml.AnchorToken | yaml.TagToken):
            raise FieldError("configuration", N_("{field}: YAML anchors, aliases and tags are not read"))
        depth += isinstance(token, OPENING) - isinstance(token, CLOSING)
        if depth > MAX_DEPTH:
            raise too_deep()


def without_repeats(pairs: list[tuple]) -> dict:
    settings = {}
    for name, value in pairs:
        if name in settings:
            raise FieldError(str(name), N_("{field} is given twice"))
        settings[name] = value
    return settings


def command_line(text: str) -> dict | None:
    """`name=value` and `--name value`; None where there is neither."""
    try:
        words = shlex.split(text.replace("\\\n", " "), comments=True)
    except ValueError:
        return None
    settings, flag = {}, None
    for word in words:
        if match := re.fullmatch(r"[-+]*([A-Za-z_][\w.]*)=(.*)", word, re.DOTALL):
            settings[match[1]] = value_of(match[2])
            flag = None
        elif match := re.fullmatch(r"--([A-Za-z_][\w.]*)", word):
            flag = match[1]
            settings[flag] = True
        elif flag is not None:
            known = settings[flag]
            settings[flag] = (
                value_of(word) if known is True else [*(known if isinstance(known, list) else [known]), value_of(word)]
            )
    return settings or None


def value_of(word: str):
    """A command line's value: what YAML reads in it, or the word itself."""
    try:
        check_tokens(word)
        return yaml.safe_load(word)
    except (yaml.YAMLError, RecursionError):
        return word
    except ValueError as error:
        if isinstance(error, FieldError):
            raise
        return word


def flattened(settings: Mapping, prefix: str = "", depth: int = 0) -> dict:
    """Nested settings by their dotted names; numbers that YAML reads as text (1e-4) as numbers."""
    if depth > MAX_DEPTH:
        raise too_deep()
    flat = {}
    for key, value in settings.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and value:
            flat |= flattened(value, name + ".", depth + 1)
        elif isinstance(value, str) and re.fullmatch(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+", value):
            flat[name] = float(value)
        else:
            flat[name] = value
        if len(flat) > MAX_NAMES:
            raise FieldError("configuration", N_("{field} may have {maximum} names at most"), maximum=MAX_NAMES)
    return flat


def too_deep() -> FieldError:
    return FieldError("configuration", N_("{field} is nested too deeply"))
