"""TRL 1.16.0: GRPOConfig's names -> Algorithm, and the metrics that GRPOTrainer logs."""

from collections.abc import Mapping

import torch

from grpo_core.frameworks.advantages import Estimator
from grpo_core.frameworks.aggregation import Aggregation
from grpo_core.frameworks.algorithm import Algorithm, Scored, sample_std
from grpo_core.frameworks.kl import TokenKl
from grpo_core.frameworks.settings import choose, with_defaults
from grpo_core.frameworks.surrogates import Cispo, Clip, Ratio, Sapo, Vespo

NAME = "TRL 1.16.0"
DEFAULTS = {
    "loss_type": "dapo", "epsilon": 0.2, "epsilon_high": None, "delta": None, "beta": 0.0,
    "importance_sampling_level": "token", "use_bias_correction_kl": True, "off_policy_mask_threshold": None,
    "sapo_temperature_pos": 1.0, "sapo_temperature_neg": 1.05,
    "vespo_k_pos": 2.0, "vespo_lambda_pos": 3.0, "vespo_k_neg": 3.0, "vespo_lambda_neg": 2.0,
    "scale_rewards": "group", "multi_objective_aggregation": "sum_then_normalize", "reward_weights": None,
    "num_generations": None, "max_completion_length": 512, "gradient_accumulation_steps": 1,
    "steps_per_generation": None, "num_items_in_batch": None, "mode": "train",
}  # fmt: skip
"""What is covered. Three are not GRPOConfig's: num_items_in_batch (tokens of the generation batch; None: this batch is
all of it), mode ("train" or "eval"), and num_generations None: any group size."""
NEUTRAL = {
    "top_entropy_quantile": (1.0,), "entropy_coef": (0.0,), "use_adaptive_entropy": (False,), "use_vllm": (False,),
    "router_aux_loss_coef": (None, 0.0), "mask_truncated_completions": (False,),
}  # fmt: skip
SCALES = {"group": "group std", True: "group std", "batch": "batch std", "none": "none", False: "none"}
LOSS_TYPES = ("grpo", "bnpo", "dr_grpo", "dapo", "luspo", "cispo", "sapo", "vespo")


def from_trl(settings: Mapping) -> Algorithm:
    """GRPOConfig's settings as an Algorithm; a missing one has TRL 1.16.0's default.

    As in TRL, a setting that the loss_type does not read (delta with cispo) changes nothing.
    """
    config = with_defaults(
        settings, DEFAULTS, NEUTRAL, NAME, lists=("reward_weights",),
        numbers=("epsilon_high", "delta", "off_policy_mask_threshold"),
        counts=("num_generations", "steps_per_generation", "num_items_in_batch"),
    )  # fmt: skip
    training = choose("mode", config["mode"], {"train": True, "eval": False})
    loss_type = choose("loss_type", config["loss_type"], {name: name for name in LOSS_TYPES})
    high = config["epsilon"] if config["epsilon_high"] is None else config["epsilon_high"]
    if loss_type == "cispo":
        surrogate = Cispo(0.0, high)
    elif loss_type == "sapo":
        # TRL's torch.where makes them float32 whatever the log-probs are.
        surrogate = Sapo(*(torch.tensor(config[f"sapo_temperature_{sign}"]).item() for sign in ("pos", "neg")))
    elif loss_type == "vespo":
        surrogate = Vespo(*(config[f"vespo_{name}"] for name in ("k_pos", "lambda_pos", "k_neg", "lambda_neg")))
    else:
        surrogate = Clip(config["epsilon"], high, ceiling=config["delta"])
    return Algorithm(
        framework=NAME,
        estimator=estimator(config, training),
        ratio=Ratio(
            choose(
                "importance_sampling_level",
                config["importance_sampling_level"],
                {"token": "token", "sequence": "sequence"},
            )
        ),
        surrogate=surrogate,
        token_kl=TokenKl("k3", corrected=config["use_bias_correction_kl"]),
        kl_coef=config["beta"],
        aggregation=aggregation(config, loss_type, training),
        drop_above=config["off_policy_mask_threshold"],
        loss_metrics=loss_metrics,
        group_metrics=group_metrics,
    )


def estimator(config: dict, training: bool) -> Estimator:
    decoupled = choose(
        "multi_objective_aggregation", config["multi_objective_aggregation"],
        {"sum_then_normalize": False, "normalize_then_sum": True},
    )  # fmt: skip
    scale = choose("scale_rewards", config["scale_rewards"], SCALES)
    return Estimator(
        "group mean", "group std" if decoupled else scale, ddof=1, epsilon=1e-4, decoupled=decoupled,
        whitening="completions" if decoupled else None,
        weights=None if config["reward_weights"] is None else tuple(config["reward_weights"]),
        smallest=2 if training else 1, group_size=config["num_generations"] if training else None,
    )  # fmt: skip


def aggregation(config: dict, loss_type: str, training: bool) -> Aggregation:
    """In training each loss is one of several that are accumulated; dapo's divides by the tokens of all of them."""
    steps = config["gradient_accumulation_steps"] if training else 1
    if loss_type in ("dapo", "cispo", "vespo"):
        generation = config["steps_per_generation"] if training else 1
        tokens = config["num_items_in_batch"]
        return Aggregation(
            "token-mean",
            None if tokens is None else max(tokens, 1),
            count_empty=True,
            factor=(generation or steps) / steps,
        )
    kind = {"grpo": "seq-mean-token-mean", "sapo": "seq-mean-token-mean", "bnpo": "token-mean"}.get(
        loss_type, "seq-mean-token-sum"
    )
    length = config["max_completion_length"] if loss_type == "dr_grpo" else None
    return Aggregation(kind, count_empty=True, length=length, factor=1 / steps)


def loss_metrics(scored: Scored) -> dict:
    """kl and the clip's metrics; not `entropy`, which takes the whole distribution."""
    mask, marks = scored.tokens.mask, scored.marks
    metrics = {} if scored.kl is None else {"kl": token_mean(scored.kl, mask)}
    if isinstance(scored.algorithm.surrogate, Cispo):
        metrics["cispo_clip_ratio"] = token_mean(marks["high"], mask)
    elif isinstance(scored.algorithm.surrogate, Vespo):
        metrics["vespo/phi_seq_mean"] = token_mean(marks["phi"], mask)
    elif isinstance(scored.algorithm.surrogate, Clip):
        low, high = marks["low"], marks["high"]
        metrics |= {
            "clip_ratio/low_mean": token_mean(low, mask),
            "clip_ratio/high_mean": token_mean(high, mask),
            "clip_ratio/region_mean": token_mean(low | high, mask),
            "clip_ratio/low_min": -largest(-sequence_means(low, mask)),
            "clip_ratio/high_max": largest(sequence_means(high, mask)),
        }
    return metrics


def token_mean(values: torch.Tensor, mask: torch.Tensor) -> float:
    # TRL takes one column for one value per sequence, so completions of one token lose their mask.
    if values.shape[1] == 1:
        return values.to(mask).mean().item()
    return ((values * mask).sum() / mask.sum().clamp(min=1.0)).item()


def sequence_means(values: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """[B]; NaN for a fully masked sequence."""
    return values[:, 0].to(mask) if values.shape[1] == 1 else (values * mask).sum(-1) / mask.sum(-1)


def largest(values: torch.Tensor) -> float:
    """The maximum without NaN; NaN if nothing else is there."""
    known = values[~values.isnan()]
    return known.max().item() if len(known) else float("nan")


def group_metrics(algorithm: Algorithm, rewards: torch.Tensor) -> dict:
    """reward, reward_std over the whole batch, and frac_reward_zero_std by the std that scaled the advantages."""
    estimator = algorithm.estimator
    total = estimator.total(rewards)
    scaled_by = estimator.decoupled_sum(rewards, torch.ones_like(total)) if estimator.decoupled else total
    if estimator.decoupled or estimator.scale == "batch std":
        scaled_by = scaled_by.flatten()
    std = sample_std(scaled_by) if scaled_by.shape[-1] > 1 else torch.zeros(())
    return {
        "reward": total.nanmean().item(),
        "reward_std": sample_std(total.flatten()).item(),
        "frac_reward_zero_std": (std <= 1e-8).double().mean().item(),
    }
