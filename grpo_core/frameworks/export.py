"""The reverse of `from_trl` and `from_verl`: the settings nearest to an algorithm, and in words what they cannot say."""

import math
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from itertools import product

from grpo_core.frameworks import trl, verl
from grpo_core.frameworks.algorithm import Algorithm
from grpo_core.frameworks.settings import Exported
from grpo_core.frameworks.surrogates import Cispo, Clip, GeoMean, KlCov, LogProb, Quadratic, Sapo, TrustRegion, Vespo
from grpo_core.messages import N_, FieldError, Message

SENTENCES = {
    "estimator": N_("Advantages come from {ours}; in {framework} from {theirs}."),
    "estimator.baseline": N_("A reward is compared with: {ours}; in {framework}: {theirs}."),
    "estimator.scale": N_("The difference is divided by: {ours}; in {framework}: {theirs}."),
    "estimator.ddof": N_("The std has ddof {ours}; in {framework} {theirs}."),
    "estimator.epsilon": N_("Epsilon beside the std is {ours}; in {framework} {theirs}."),
    "estimator.lone": N_("A group of one has as its advantage: {ours}; in {framework}: {theirs}."),
    "estimator.whitening": N_("Advantages are whitened over: {ours}; in {framework}: {theirs}."),
    "estimator.decoupled": N_("Reward functions are compared one by one: {ours}; in {framework}: {theirs}."),
    "estimator.weights": N_("Weights of the reward functions: {ours}; in {framework}: {theirs}."),
    "estimator.limits": N_("Advantages are clipped to {ours}; in {framework} to {theirs}."),
    "estimator.kl_in": N_("The KL is taken from: {ours}; in {framework} from: {theirs}."),
    "estimator.kl_coef": N_("Coefficient of the KL in the reward: {ours}; in {framework}: {theirs}."),
    "ratio.level": N_("The ratio is that of {ours}; in {framework} of {theirs}."),
    "ratio.limits": N_("The log ratio is clamped to {ours}; in {framework} to {theirs}."),
    "surrogate": N_("The surrogate is {ours}; the nearest in {framework} is {theirs}."),
    "Clip.low": N_("The clip's lower width is {ours}; in {framework} {theirs}."),
    "Clip.high": N_("The clip's upper width is {ours}; in {framework} {theirs}."),
    "Clip.ceiling": N_("The ratio is capped before the clip at {ours}; in {framework} at {theirs}."),
    "Clip.dual": N_("Where the advantage is negative the ratio counts up to {ours}; in {framework} up to {theirs}."),
    "Cispo.low": N_("The weight is at least {ours}; in {framework} {theirs}."),
    "token_kl.estimate": N_("The KL in the loss is {ours}; in {framework} {theirs}."),
    "token_kl.log_limits": N_("The KL's log ratio is clamped to {ours}; in {framework} to {theirs}."),
    "token_kl.limits": N_("The KL is clamped to {ours}; in {framework} to {theirs}."),
    "token_kl.gradient": N_("The KL's gradient is {ours}; in {framework} {theirs}."),
    "token_kl.corrected": N_("The KL is multiplied by the ratio: {ours}; in {framework}: {theirs}."),
    "kl_coef": N_("Coefficient of the KL in the loss: {ours}; in {framework}: {theirs}."),
    "aggregation.kind": N_("The loss is aggregated by {ours}; in {framework} by {theirs}."),
    "aggregation.tokens": N_("The number of tokens divided by is {ours}; in {framework} {theirs}."),
    "aggregation.sequences": N_("The number of sequences divided by is {ours}; in {framework} {theirs}."),
    "aggregation.count_empty": N_("A fully masked sequence counts in the mean: {ours}; in {framework}: {theirs}."),
    "aggregation.length": N_("Sums are divided by the length {ours}; in {framework} {theirs}."),
    "aggregation.factor": N_("The loss is multiplied by {ours}; in {framework} by {theirs}."),
    "kl_aggregation": N_("The KL in the loss is aggregated by {ours}; in {framework} by {theirs}."),
    "drop_above": N_("Sequences are left out above a drift of {ours}; in {framework} of {theirs}."),
    "rollout_weights": N_("Rollout weights: {ours}; in {framework}: {theirs}."),
}
"""One sentence for each part of a slot."""
WORDS = {
    True: N_("true"), False: N_("false"), None: N_("none"), "none": N_("none"), "exact": N_("exact"),
    "rewards": N_("rewards alone"), "a value model": N_("a value model"), "zero": N_("zero"), "reward": N_("the reward"),
    "return": N_("the return"), "group mean": N_("the mean of its group"), "batch mean": N_("the mean of the whole batch"),
    "leave-one-out": N_("the mean of the others in its group"),
    "length-weighted mean": N_("the mean of its group, longer answers counting more"),
    "second best": N_("the second best of its group"), "best of k": N_("the best of k answers"),
    "group std": N_("the std of its group"), "batch std": N_("the std of the whole batch"),
    "share of non-zero rewards": N_("the share of rewards that are not 0"),
    "completions": N_("all answers"), "tokens": N_("all tokens (ddof 1)"), "tokens, ddof 0": N_("all tokens (ddof 0)"),
    "token mean": N_("all tokens, centred only"), "token": N_("the token"), "sequence": N_("the answer"),
    "sequence forward": N_("the answer, with each token's own gradient"), "own": N_("its own"), "k2": N_("that of k2"),
    "width": N_("of the longest answer allowed"), "LogProb": N_("log π × A, without a ratio"),
    "Clip": N_("the clipped ratio × A"),
}  # fmt: skip
"""What the parts' values are called; all others are numbers and names."""
WITHOUT_RATIO = LogProb | Quadratic | GeoMean


def parts(algorithm: Algorithm) -> dict:
    """What an algorithm computes, by the names in SENTENCES; a part that has no effect is left out."""
    values = {name: getattr(algorithm, name) for name in ("kl_coef", "drop_above", "rollout_weights")}
    aggregation, surrogate = algorithm.aggregation, algorithm.surrogate
    values |= flat("aggregation", aggregation)
    if aggregation.kind.startswith("token"):
        del values["aggregation.count_empty"]
    if isinstance(surrogate, Clip) and surrogate.dual is not None and surrogate.dual >= 1 + surrogate.high:
        surrogate = replace(surrogate, dual=None, ceiling=surrogate.dual)  # the same loss
    values["surrogate"] = "none" if surrogate is None else type(surrogate).__name__
    if surrogate is not None:
        values |= flat(type(surrogate).__name__, surrogate)
    if algorithm.kl_coef != 0:
        values |= flat("token_kl", algorithm.token_kl)
        values["kl_aggregation"] = (algorithm.kl_aggregation or aggregation).kind
    if not isinstance(surrogate, WITHOUT_RATIO | None) or (algorithm.kl_coef != 0 and algorithm.token_kl.corrected):
        values |= flat("ratio", algorithm.ratio)
    estimator = algorithm.estimator
    values["estimator"] = "a value model" if estimator is None else "rewards"
    if estimator is not None:
        values |= flat("estimator", estimator)
        if estimator.scale in ("none", "share of non-zero rewards") and estimator.whitening != "completions":
            del values["estimator.ddof"], values["estimator.epsilon"]
    return values


def flat(name: str, slot) -> dict:
    return {f"{name}.{field.name}": getattr(slot, field.name) for field in fields(slot)}


def differences(ours: Algorithm, theirs: Algorithm) -> tuple[Message, ...]:
    """In words, each part in which two algorithms differ."""
    mine, other = parts(ours), parts(theirs)
    return tuple(
        Message(
            sentence, {"ours": word(name, mine[name]), "theirs": word(name, other[name]), "framework": theirs.framework}
        )
        for name, sentence in SENTENCES.items()
        if name in mine and name in other and not same(mine[name], other[name])
    )


def word(name: str, value):
    """A part's value as it is said: a name of the code as a Message."""
    said = isinstance(value, bool | str | None) and (value != "k2" or name.endswith("gradient")) and WORDS.get(value)
    return Message(said) if said else value


def same(ours, theirs) -> bool:
    """Equal up to the rounding of a setting that was translated there and back."""
    if isinstance(ours, float) and isinstance(theirs, float | int):
        return ours == theirs or math.isclose(ours, theirs, rel_tol=1e-12)
    return ours == theirs


def nearest(algorithm: Algorithm, build: Callable, settings: dict, *choices: Iterable[dict]) -> Exported:
    """Settings completed by the choice, of each list in turn, that leaves the fewest differences."""
    settings = {name: value for name, value in settings.items() if value is not None}
    for options in choices:
        settings = min((settings | option for option in options), key=lambda tried: count(algorithm, build, tried))
    return Exported(settings, differences(algorithm, build(settings)))


def count(algorithm: Algorithm, build: Callable, settings: dict) -> float:
    """How many parts differ, those included that the other does not have at all.

    A variant of the same counts half, and so does a group of one, which is rare.
    """
    try:
        mine, other = parts(algorithm), parts(build(settings))
    except FieldError:
        return math.inf
    different = [name for name, value in mine.items() if name not in other or not same(value, other[name])]
    return sum(
        0.5 if name == "estimator.lone" or kind(mine[name]) == kind(other.get(name)) else 1 for name in different
    )


def kind(value):
    """What a value is a variant of: "tokens, ddof 0" of "tokens"."""
    return value.partition(",")[0] if isinstance(value, str) else object()


def to_trl(algorithm: Algorithm) -> Exported:
    """GRPOConfig's settings nearest to an algorithm, and what TRL 1.16.0 cannot express of it."""
    surrogate, aggregation, estimator = algorithm.surrogate, algorithm.aggregation, algorithm.estimator
    types = ("dapo", "grpo", "dr_grpo", "luspo")
    exact = algorithm.token_kl.estimate == "exact"  # whose gradient k3 has only when multiplied by the ratio
    settings = {
        "beta": algorithm.kl_coef,
        "importance_sampling_level": "token" if algorithm.ratio.level == "token" else "sequence",
        "off_policy_mask_threshold": algorithm.drop_above,
        "num_items_in_batch": aggregation.tokens,
        "gradient_accumulation_steps": max(round(1 / aggregation.factor), 1),
        "steps_per_generation": max(round(aggregation.factor), 1),
    }
    if not isinstance(aggregation.length, str | None):
        settings["max_completion_length"] = aggregation.length
    if isinstance(surrogate, Clip):
        ceiling = surrogate.dual if surrogate.ceiling is None else surrogate.ceiling
        settings |= {"epsilon": surrogate.low, "epsilon_high": surrogate.high, "delta": ceiling}
    elif isinstance(surrogate, Cispo):
        types, settings["epsilon_high"] = ("cispo",), surrogate.high
    elif isinstance(surrogate, Sapo):
        types = ("sapo",)
        settings |= {"sapo_temperature_pos": surrogate.positive, "sapo_temperature_neg": surrogate.negative}
    elif isinstance(surrogate, Vespo):
        types = ("vespo",)
        settings |= {"vespo_k_pos": surrogate.k_positive, "vespo_lambda_pos": surrogate.lam_positive}
        settings |= {"vespo_k_neg": surrogate.k_negative, "vespo_lambda_neg": surrogate.lam_negative}
    if estimator is not None:
        settings["reward_weights"] = None if estimator.weights is None else list(estimator.weights)
    return nearest(
        algorithm, trl.from_trl, settings,
        [{"loss_type": name} for name in types],
        [{"use_bias_correction_kl": corrected} for corrected in ((True,) if exact else (True, False))],
        [{"scale_rewards": scale, "multi_objective_aggregation": "sum_then_normalize"} for scale in ("group", "batch", "none")]
        + [{"multi_objective_aggregation": "normalize_then_sum"}],
    )  # fmt: skip


MODES = {
    Clip: ("vanilla", "gspo"), Cispo: ("cispo",), Sapo: ("sapo",), GeoMean: ("geo_mean",), LogProb: ("gpg",),
    Quadratic: ("dro",), TrustRegion: ("dppo_tv", "dppo_kl"), KlCov: ("kl_cov",),
}  # fmt: skip
NO_DUAL_CLIP = 1e6
KL_TYPES = {
    "k1": ("k1", "k1+"), "k2": ("k2", "k2+"), "k3": ("low_var_kl", "low_var_kl+"), "abs": ("abs", "abs+"), "exact": ("low_var_kl+",),
}  # fmt: skip
"""kl_loss_type of each estimate; the exact KL's gradient is k2's, and k1's would be 0 on average."""


def to_verl(algorithm: Algorithm) -> Exported:
    """verl's settings nearest to an algorithm, and what verl 0.9.1 cannot express of it."""
    aggregation, estimator = algorithm.aggregation, algorithm.estimator
    batch = {
        "dp_size": max(round(aggregation.factor), 1),
        "batch_num_tokens": aggregation.tokens,
        "global_batch_size": aggregation.sequences,
        "loss_scale_factor": None if aggregation.length == "width" else aggregation.length,
    }
    leashed = algorithm.kl_coef != 0
    settings = clip_settings(algorithm.surrogate) | {
        "global_batch_info": {name: value for name, value in batch.items() if value != verl.BATCH[name]} or None,
        "rollout_is_weights": algorithm.rollout_weights,
        "use_kl_loss": leashed,
        "kl_loss_coef": algorithm.kl_coef if leashed else None,
    }
    estimators = [{}]
    if estimator is not None:
        estimators = [
            {"adv_estimator": name, "norm_adv_by_std_in_grpo": norm}
            for name, norm in product(verl.ESTIMATORS, (True, False))
        ]
        settings["epsilon"] = estimator.epsilon
        settings["gdpo_reward_weights"] = None if estimator.weights is None else list(estimator.weights)
        if estimator.kl_in == "reward":
            settings |= {"use_kl_in_reward": True, "kl_ctrl": {"kl_coef": estimator.kl_coef}}
    return nearest(
        algorithm, verl.from_verl, settings,
        [{"loss_agg_mode": name} for name in verl.AGGREGATIONS],
        [{"loss_mode": mode} for mode in MODES.get(type(algorithm.surrogate), ("vanilla",))],
        [{"kl_loss_type": kind} for kind in KL_TYPES[algorithm.token_kl.estimate]] if leashed else [{}],
        estimators,
    )  # fmt: skip


def clip_settings(surrogate) -> dict:
    """verl's settings of a surrogate."""
    if isinstance(surrogate, Clip):
        dual = surrogate.dual or surrogate.ceiling or NO_DUAL_CLIP
        return {
            "clip_ratio_low": surrogate.low, "clip_ratio_high": surrogate.high,
            "clip_ratio_c": dual if dual > 1 else NO_DUAL_CLIP,
        }  # fmt: skip
    if isinstance(surrogate, Cispo):
        return {"clip_ratio_low": 1 - surrogate.low, "clip_ratio_high": surrogate.high - 1}
    if isinstance(surrogate, Sapo):
        return {"tau_pos": surrogate.positive, "tau_neg": surrogate.negative}
    if isinstance(surrogate, GeoMean):
        return {"clip_ratio_low": surrogate.low, "clip_ratio_high": surrogate.high}
    if isinstance(surrogate, TrustRegion):
        return {"clip_ratio_low": surrogate.low, "clip_ratio_high": surrogate.high, "clip_ratio_c": surrogate.cap}
    if isinstance(surrogate, Quadratic):
        return {"policy_loss": {"dro_beta": surrogate.beta}}
    if isinstance(surrogate, KlCov):
        return {"policy_loss": {"kl_cov_ratio": surrogate.share, "ppo_kl_coef": surrogate.coef}}
    return {}
