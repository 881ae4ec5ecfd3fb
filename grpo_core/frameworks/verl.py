"""verl 0.9.1: the names of its algorithm and actor configuration -> Algorithm, and the metrics of its policy losses."""

import math
from collections.abc import Mapping

import torch

from grpo_core.frameworks.advantages import Estimator
from grpo_core.frameworks.aggregation import Aggregation, over_workers
from grpo_core.frameworks.algorithm import Algorithm, Scored, no_metrics
from grpo_core.frameworks.kl import TokenKl
from grpo_core.frameworks.settings import UnsupportedSetting, choose, with_defaults
from grpo_core.frameworks.surrogates import Cispo, Clip, GeoMean, KlCov, LogProb, Quadratic, Ratio, Sapo, TrustRegion
from grpo_core.messages import N_, FieldError

NAME = "verl 0.9.1"
DEFAULTS = {
    "adv_estimator": None, "norm_adv_by_std_in_grpo": True, "epsilon": 1e-6, "gdpo_reward_weights": None,
    "use_kl_in_reward": False, "kl_penalty": "kl", "kl_ctrl": {},
    "loss_mode": "vanilla", "loss_agg_mode": "token-mean", "global_batch_info": {}, "policy_loss": {},
    "clip_ratio": 0.2, "clip_ratio_low": 0.2, "clip_ratio_high": 0.2, "clip_ratio_c": 3.0,
    "tau_pos": 1.0, "tau_neg": 1.05, "rollout_is_weights": None,
    "use_kl_loss": False, "kl_loss_coef": 0.001, "kl_loss_type": "low_var_kl",
}  # fmt: skip
"""What is covered. adv_estimator None: verl's own default is gae, which needs a value model. loss_mode None, which verl
does not have: the KL term alone, without its coefficient."""
NEUTRAL = {"gamma": (1.0, None), "lam": (1.0, None), "entropy_coeff": (0,)}
POLICY_LOSS = {"kl_cov_ratio": 0.0002, "ppo_kl_coef": 0.1, "dro_beta": None}
KL_CTRL = {"type": "fixed", "kl_coef": 0.001, "horizon": 10000, "target_kl": 0.1}
BATCH = {"dp_size": 1, "batch_num_tokens": None, "global_batch_size": None, "loss_scale_factor": None}

ESTIMATORS = {
    "grpo": {"lone": "reward"},
    "grpo_vectorized": {"lone": "reward"},
    "grpo_passk": {"baseline": "second best"},
    "gdpo": {"lone": "reward", "decoupled": True, "whitening": "tokens"},
    "rloo": {"baseline": "leave-one-out", "scale": "none", "lone": "reward"},
    "rloo_vectorized": {"baseline": "leave-one-out", "scale": "none"},
    "opo": {"baseline": "length-weighted mean", "scale": "none", "lone": "reward"},
    "gpg": {"scale": "share of non-zero rewards", "lone": "reward"},
    "reinforce_plus_plus": {"baseline": "none", "scale": "none", "whitening": "tokens"},
    "reinforce_plus_plus_baseline": {"scale": "none", "lone": "reward", "whitening": "tokens"},
}
"""Each estimator's slots, where they are not group mean and group std."""
KINDS = {"kl": "k1", "k1": "k1", "abs": "abs", "mse": "k2", "k2": "k2", "low_var_kl": "k3", "k3": "k3"}
AGGREGATIONS = {
    **{name: name for name in ("token-mean", "token-sum", "seq-mean-token-sum", "seq-mean-token-mean")},
    "seq-mean-token-sum-norm": "seq-mean-token-sum",
}
LOSS_MODES = ("vanilla", "gspo", "cispo", "sapo", "geo_mean", "gpg", "dro", "dppo_tv", "dppo_kl", "kl_cov", None)


def from_verl(settings: Mapping) -> Algorithm:
    """verl's settings, by the last part of their names, as an Algorithm; a missing one has verl 0.9.1's default.

    As in verl, a setting that the loss_mode does not read (clip_ratio_c with gspo) changes nothing.
    rollout_is_weights is the batch's [B, T] tensor of that name.
    """
    config = with_defaults(
        settings,
        DEFAULTS,
        NEUTRAL,
        NAME,
        optional=("clip_ratio_low", "clip_ratio_high"),
        lists=("gdpo_reward_weights",),
    )
    mode = choose("loss_mode", config["loss_mode"], {name: name for name in LOSS_MODES})
    batch = nested("global_batch_info", config["global_batch_info"], BATCH)
    agg_mode = config["loss_agg_mode"]
    length = (batch["loss_scale_factor"] or "width") if agg_mode == "seq-mean-token-sum-norm" else None
    workers = batch["dp_size"], batch["batch_num_tokens"], batch["global_batch_size"]
    aggregation = over_workers(choose("loss_agg_mode", agg_mode, AGGREGATIONS), *workers, length=length)
    kl_aggregation = aggregation
    if mode == "sapo":
        aggregation = over_workers("seq-mean-token-mean", *workers)
    elif mode == "geo_mean":
        aggregation = Aggregation("seq-mean-token-mean", count_empty=True)
    ratio, surrogate = loss_slots(config, mode)
    weights = config["rollout_is_weights"]
    if weights is not None:
        weights = tuple(map(tuple, torch.as_tensor(weights, dtype=torch.float64).tolist()))
    return Algorithm(
        framework=NAME,
        estimator=None if config["adv_estimator"] is None else estimator(config),
        ratio=ratio,
        surrogate=surrogate,
        token_kl=token_kl(config),
        kl_coef=1.0 if mode is None else config["kl_loss_coef"] if config["use_kl_loss"] else 0.0,
        aggregation=aggregation,
        kl_aggregation=None if kl_aggregation == aggregation else kl_aggregation,
        rollout_weights=weights,
        loss_metrics=no_metrics if mode is None else loss_metrics,
    )


def nested(name: str, given: Mapping, defaults: Mapping) -> dict:
    """A setting that is a group of settings."""
    for key in given:
        if key not in defaults:
            raise UnsupportedSetting(
                f"{name}.{key}", N_("{field} is not among the covered settings of {framework}"), framework=NAME
            )
    return {**defaults, **given}


def estimator(config: dict) -> Estimator:
    name = config["adv_estimator"]
    slots = choose("adv_estimator", name, ESTIMATORS)
    if "scale" not in slots and not config["norm_adv_by_std_in_grpo"]:
        slots = {**slots, "scale": "none"}
    weights = config["gdpo_reward_weights"]
    if name == "gdpo" and weights is not None:
        slots = {**slots, "weights": tuple(weights)}
    if config["use_kl_in_reward"]:
        if slots.get("decoupled") or slots.get("baseline") == "none":
            raise UnsupportedSetting(
                "use_kl_in_reward", N_("{field} is covered only as {neutral!r}, not {value!r}"), neutral=False, value=True
            )  # fmt: skip
        control = nested("kl_ctrl", config["kl_ctrl"], KL_CTRL)
        choose("kl_ctrl.type", control["type"], {"fixed": None})
        slots = {**slots, "kl_in": "reward", "kl_coef": control["kl_coef"]}
    return Estimator(ddof=1, epsilon=config["epsilon"], **slots)


def token_kl(config: dict) -> TokenKl:
    """One KL: kl_loss_type's, or kl_penalty's when the KL is in the reward only."""
    setting = "kl_penalty" if config["use_kl_in_reward"] and not config["use_kl_loss"] else "kl_loss_type"
    kind = config[setting]
    if config["use_kl_in_reward"] and config["use_kl_loss"] and config["kl_penalty"] != kind:
        raise UnsupportedSetting(
            "kl_penalty",
            N_("{field} is covered for {allowed}, not {value!r}"),
            value=config["kl_penalty"],
            allowed=kind,
        )
    estimate = choose(setting, kind, {**KINDS, **{f"{name}+": base for name, base in KINDS.items()}})
    clamps = {"log_limits": (-20.0, 20.0), "limits": (-10.0, 10.0)} if estimate == "k3" else {}
    return TokenKl(estimate, gradient="k2" if kind.endswith("+") else "own", **clamps)


def loss_slots(config: dict, mode: str | None):
    """The ratio and the surrogate of a loss_mode."""
    low, high = (
        config["clip_ratio"] if config[name] is None else config[name] for name in ("clip_ratio_low", "clip_ratio_high")
    )
    special = nested("policy_loss", config["policy_loss"], POLICY_LOSS)
    clamped, free, dual = Ratio("token", (-20.0, 20.0)), Ratio(), config["clip_ratio_c"]
    if mode == "vanilla":
        if not dual > 1:
            raise FieldError(
                "clip_ratio_c", N_("{field} must be above {minimum}, not {value!r}"), minimum=1, value=dual
            )
        return clamped, Clip(low, high, dual=dual)
    if mode == "gspo":
        return Ratio("sequence forward", (-math.inf, 10.0)), Clip(low, high)
    if mode == "cispo":
        return clamped, Cispo(1 - low, 1 + high)
    if mode == "sapo":
        return clamped, Sapo(config["tau_pos"], config["tau_neg"])
    if mode in ("dppo_tv", "dppo_kl"):
        return clamped, TrustRegion(mode[-2:], low, high, cap=dual)
    if mode == "geo_mean":
        return free, GeoMean(low, high)
    if mode == "kl_cov":
        share, coef = special["kl_cov_ratio"], special["ppo_kl_coef"]
        return free, KlCov(0.0002 if share is None else share, 1.0 if coef is None else coef)
    if mode == "dro":
        beta = special["dro_beta"]
        if beta is None or beta <= 0:
            raise FieldError(
                "policy_loss.dro_beta", N_("{field} must be above {minimum}, not {value!r}"), minimum=0, value=beta
            )
        return free, Quadratic(beta)
    return free, LogProb() if mode == "gpg" else None


def loss_metrics(scored: Scored) -> dict:
    """actor/..., as the loss_mode logs them: gpg none, dro and kl_cov the KL to the old policy only."""
    algorithm, tokens = scored.algorithm, scored.tokens
    drift = -tokens.log_ratio
    if algorithm.ratio.level == "token":
        drift = drift.clamp(*algorithm.ratio.limits)
    metrics = {}
    if isinstance(algorithm.surrogate, KlCov):
        drift = drift.abs()
    if not isinstance(algorithm.surrogate, LogProb):
        metrics["actor/ppo_kl"] = token_mean(drift, tokens.mask)
    if not isinstance(algorithm.surrogate, LogProb | KlCov | Quadratic):
        nothing = torch.zeros_like(tokens.mask)
        metrics["actor/pg_clipfrac"] = token_mean(scored.marks.get("clipped", nothing), tokens.mask)
        metrics["actor/pg_clipfrac_lower"] = token_mean(scored.marks.get("lower", nothing), tokens.mask)
    if scored.kl is not None:
        kl_loss = (algorithm.kl_aggregation or algorithm.aggregation)(scored.kl, tokens.mask)
        metrics |= {"actor/kl_loss": kl_loss.item(), "actor/kl_coef": algorithm.kl_coef}
    return metrics


def token_mean(values: torch.Tensor, mask: torch.Tensor) -> float:
    return ((values * mask).sum() / (mask.sum() + 1e-8)).item()
