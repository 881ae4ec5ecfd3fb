"""OpenRLHF 0.11.2: the arguments of its PolicyLoss, experience maker and KL -> Algorithm, and their metrics."""

import math
from collections.abc import Mapping

from grpo_core.frameworks.advantages import Estimator
from grpo_core.frameworks.aggregation import over_workers
from grpo_core.frameworks.algorithm import Algorithm, Scored, sample_std
from grpo_core.frameworks.kl import TokenKl
from grpo_core.frameworks.settings import choose, with_defaults
from grpo_core.frameworks.surrogates import Clip, Ratio
from grpo_core.messages import N_, FieldError

NAME = "OpenRLHF 0.11.2"
DEFAULTS = {
    "advantage_estimator": None, "n_samples_per_prompt": None, "no_std_norm": False, "reward_clip_range": None,
    "policy_loss_type": "ppo", "clip_eps_low": 0.2, "clip_eps_high": 0.2, "dual_clip": None, "token_level_loss": True,
    "dp_size": 1, "batch_num_tokens": None, "global_batch_size": None,
    "kl_coef": 0.01, "kl_estimator": "k1", "unbiased_gradient": False, "use_kl_loss": False,
}  # fmt: skip
"""What is covered. advantage_estimator None: OpenRLHF's own default is gae, which needs a value model.
n_samples_per_prompt None: any group size. reward_clip_range is None here; OpenRLHF's command line sets -10 and 10."""
NEUTRAL = {"gamma": (1.0,), "lambd": (1.0,), "entropy_coef": (None, 0.0), "is_correction_level": ("off",)}

ESTIMATORS = {
    "group_norm": {"smallest": 2},
    "dr_grpo": {"scale": "none", "smallest": 2},
    "rloo": {"baseline": "leave-one-out", "scale": "none", "smallest": 2},
    "reinforce_baseline": {"scale": "none", "smallest": 2, "whitening": "tokens, ddof 0"},
    "reinforce": {"baseline": "none", "scale": "none", "whitening": "tokens, ddof 0"},
    "flash_reinforce": {"baseline": "batch mean", "scale": "none"},
}
"""Each estimator's slots, where they are not group mean and group std."""


def from_openrlhf(settings: Mapping) -> Algorithm:
    """OpenRLHF's settings as an Algorithm; a missing one has OpenRLHF 0.11.2's default.

    kl_coef is the KL's in the reward, or with use_kl_loss in the loss.
    """
    config = with_defaults(
        settings, DEFAULTS, NEUTRAL, NAME, lists=("reward_clip_range",), numbers=("dual_clip",),
        counts=("n_samples_per_prompt", "batch_num_tokens", "global_batch_size"),
    )  # fmt: skip
    dual, limits = config["dual_clip"], config["reward_clip_range"]
    if dual is not None and not dual > 1:
        raise FieldError("dual_clip", N_("{field} must be above {minimum}, not {value!r}"), minimum=1, value=dual)
    estimator = None
    if config["advantage_estimator"] is not None:
        slots = dict(choose("advantage_estimator", config["advantage_estimator"], ESTIMATORS))
        if "whitening" in slots and config["no_std_norm"]:
            slots["whitening"] = "token mean"
        if not config["use_kl_loss"] and config["kl_coef"] > 0:
            slots |= {"kl_in": "return", "kl_coef": config["kl_coef"]}
        estimator = Estimator(
            ddof=1, epsilon=1e-9, group_size=config["n_samples_per_prompt"],
            limits=None if limits is None else tuple(limits), **slots,
        )  # fmt: skip
    sequences = choose("policy_loss_type", config["policy_loss_type"], {"ppo": False, "gspo": True})
    per_token = per_worker(config, "token-mean")
    return Algorithm(
        framework=NAME,
        estimator=estimator,
        ratio=Ratio("sequence") if sequences else Ratio("token", (-20.0, 20.0)),
        surrogate=Clip(config["clip_eps_low"], config["clip_eps_high"], dual=dual),
        token_kl=token_kl(config),
        kl_coef=config["kl_coef"] if config["use_kl_loss"] else 0.0,
        aggregation=per_token
        if config["token_level_loss"] and not sequences
        else per_worker(config, "seq-mean-token-mean"),
        kl_aggregation=per_token,
        loss_metrics=loss_metrics,
        group_metrics=group_metrics,
    )


def per_worker(config: dict, kind: str):
    tokens, sequences = config["batch_num_tokens"], config["global_batch_size"]
    total = tokens if kind == "token-mean" else sequences
    # Without a total OpenRLHF takes the mean of this worker's batch alone.
    return over_workers(kind, 1 if total is None else config["dp_size"], tokens, sequences)


def token_kl(config: dict) -> TokenKl:
    kind = choose("kl_estimator", config["kl_estimator"], {name: name for name in ("k1", "k2", "k3")})
    log_limits = (-10.0, math.inf) if kind == "k3" else (-math.inf, math.inf)
    return TokenKl(kind, log_limits, (-10.0, 10.0), gradient="weighted k2" if config["unbiased_gradient"] else "own")


def loss_metrics(scored: Scored) -> dict:
    """clip_ratio and ppo_kl, and kl when it is in the loss."""
    mask, algorithm = scored.tokens.mask, scored.algorithm
    metrics = {
        "clip_ratio": ((scored.marks["clipped"] * mask).sum() / mask.sum()).item(),
        "ppo_kl": ((-scored.tokens.log_ratio * mask).sum() / mask.sum()).item(),
    }
    if scored.kl is not None:
        metrics["kl"] = algorithm.kl_aggregation(scored.kl, mask).item()
    return metrics


def group_metrics(_, rewards) -> dict:
    """group_reward_std, of each completion's group: [N, G]."""
    total = Estimator().total(rewards)
    return {"group_reward_std": sample_std(total)[:, None].expand_as(total)}
