"""The frameworks' formulas against numbers that came out of TRL, verl and OpenRLHF themselves.

tests/conformance holds the golden vectors: rewards -> advantages, log-probs -> loss, gradient, KL, metrics.
"""

import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from grpo_core import FieldError, chapter_gradient, chapter_loss, frameworks
from grpo_core.frameworks import CHAPTER, Algorithm, Estimator, UnsupportedSetting
from grpo_core.frameworks.advantages import padded
from grpo_core.frameworks.aggregation import Aggregation
from grpo_core.frameworks.surrogates import Clip, Ratio, Unclipped
from grpo_core.frameworks.trl import DEFAULTS as TRL_DEFAULTS
from grpo_core.frameworks.trl import NEUTRAL as TRL_NEUTRAL
from grpo_core.frameworks.verl import DEFAULTS as VERL_DEFAULTS
from grpo_core.frameworks.verl import NEUTRAL as VERL_NEUTRAL

FOLDER = Path(__file__).parents[1] / "conformance"
ADVANTAGES, LOSSES, KLS = (json.loads((FOLDER / f"{name}.json").read_text()) for name in ("advantages", "losses", "kl"))
DEFAULTS = json.loads((FOLDER / "defaults.json").read_text())
BUILD = {"trl": frameworks.from_trl, "verl": frameworks.from_verl, "openrlhf": frameworks.from_openrlhf}
BOOKKEEPING = {
    "dtype", "note", "run", "n_groups", "group_sizes", "generation_index", "global_step_before", "reward_funcs",
    "std_eps", "on_policy_old_is_none", "rewards_per_func",
}  # fmt: skip

REFUSED = {"trl-loss-112-dapo-entbonus": "entropy_coef"}
"""Needs the entropy of the whole distribution."""
EQUAL = "equal rewards: the framework's float32 mean differs from them, and that difference, over its epsilon where it divides, is the advantage"
CANCELLED = "the spread is a few float32 roundings of the rewards themselves"
NOISE = {
    "trl-adv-group_identical_g6-0": EQUAL,
    "trl-adv-group_identical_g6-2": EQUAL,
    "trl-adv-group_identical_g7-1": EQUAL,
    "trl-adv-group_identical_g7-2": EQUAL,
    "verl-adv-025-grpovec-identical_odd7": EQUAL,
    "openrlhf-adv-003-group_norm-identical7": EQUAL,
    "openrlhf-adv-018-reinforce_baseline-identical7": EQUAL,
    "trl-adv-none_g8_identical-1": EQUAL,
    "verl-adv-011-grpo-identical_odd7-nostd": EQUAL,
    "openrlhf-adv-013-dr_grpo-identical7": EQUAL,
    "verl-adv-013-grpo-tiny-nostd": CANCELLED,
    "trl-adv-group_tiny_spread_g4-1": CANCELLED,
}
METRIC_NOISE = {
    "trl-adv-group_identical_g6-0": {"frac_reward_zero_std": EQUAL},
    "trl-adv-group_identical_g6-2": {"frac_reward_zero_std": EQUAL},
    "trl-adv-group_identical_g7-1": {"frac_reward_zero_std": EQUAL},
    "trl-adv-group_identical_g7-2": {"frac_reward_zero_std": EQUAL},
    "trl-adv-none_g8_identical-1": {"frac_reward_zero_std": EQUAL},
    "trl-adv-group_wide_g8-0": {"reward": "a mean of -0.25 of rewards of up to a thousand, summed in float32"},
}


def framework(case: dict) -> str:
    return case["source"].split("==")[0]


def algorithm(case: dict) -> Algorithm:
    settings = {name: value for name, value in case["setting"].items() if name not in BOOKKEEPING}
    return BUILD[framework(case)](settings)


def covered(cases: list) -> list:
    return [pytest.param(case, id=case["id"]) for case in cases if case["id"] not in REFUSED]


def assert_close(actual, expected, tolerance: float, absolute: float = 0.0):
    actual, expected = (torch.as_tensor(x, dtype=torch.float64).detach() for x in (actual, expected))
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=absolute, equal_nan=True)


def given_rewards(case: dict) -> list:
    """The total reward, and one reward per function where these were logged."""
    each = case.get("rewards_per_func") or case["setting"].get("rewards_per_func")
    decoupled = (
        case["setting"].get("multi_objective_aggregation") == "normalize_then_sum"
        or case["setting"].get("adv_estimator") == "gdpo"
    )
    forms = [] if decoupled else [case["rewards"]]
    if each:
        forms.append(
            [[list(scores) for scores in zip(*group, strict=True)] for group in zip(*each.values(), strict=True)]
        )
    return forms


@pytest.mark.parametrize("case", covered(ADVANTAGES))
def test_advantages(case):
    expected = padded(case["advantages"]).nan_to_num(nan=0.0)
    for rewards in given_rewards(case):
        advantages = algorithm(case).advantages(rewards, case.get("lengths"))
        assert advantages.shape == expected.shape
        # The framework's rewards, mean and std are float32: an advantage near 0 has their absolute error.
        if case["id"] in NOISE:
            with pytest.raises(AssertionError):
                assert_close(advantages, expected, 1e-5, 1e-5 * expected.abs().max().item())
        else:
            assert_close(advantages, expected, 1e-5, 1e-5 * expected.abs().max().item())


@pytest.mark.parametrize("case", [case for case in covered(ADVANTAGES) if framework(case.values[0]) != "verl"])
def test_metrics_of_rewards(case):
    noise = METRIC_NOISE.get(case["id"], {})
    for rewards in given_rewards(case):
        metrics = algorithm(case).reward_metrics(rewards)
        assert case["logged"].keys() <= metrics.keys()
        for name, expected in case["logged"].items():
            expected = math.nan if expected is None else expected
            if name in noise:
                assert metrics[name] != pytest.approx(expected, rel=1e-5)
            else:
                assert_close(metrics[name], expected, 1e-5, 1e-7)


@pytest.mark.parametrize("case", covered(LOSSES))
def test_loss_gradient_and_metrics(case):
    single = case["setting"]["dtype"] == "float32"
    tolerance = 1e-5 if single else 1e-6
    tensors = {
        name: None if case[name] is None else torch.tensor(case[name], dtype=torch.float32 if single else torch.float64)
        for name in ("log_prob", "old_log_prob", "ref_log_prob", "mask", "advantages")
    }
    log_prob = tensors["log_prob"].requires_grad_()
    result = algorithm(case).loss(**tensors)
    assert_close(result.value, case["loss"], tolerance)
    (gradient,) = torch.autograd.grad(result.value, log_prob)
    assert_close(gradient, case["grad"], tolerance, 1e-7 if single else 1e-12)
    assert result.per_token.shape == log_prob.shape and not result.per_token[tensors["mask"] == 0].any()
    assert case["metrics"].keys() <= result.metrics.keys()
    for name, expected in case["metrics"].items():
        assert_close(result.metrics[name], expected, max(tolerance, 1e-6))


@pytest.mark.parametrize("case", covered(KLS))
def test_kl_per_token(case):
    single = "float32" in case["setting"]["dtype"]
    kind = {"verl": "kl_loss_type", "openrlhf": "kl_estimator", "trl": None}[framework(case)]
    settings = {
        kind if name == "kl" else name: value
        for name, value in case["setting"].items()
        if name not in ("clamp", "how", "dtype")
    }
    settings.pop(None, None)
    log_prob, ref, old = (
        None if case[name] is None else torch.tensor(case[name], dtype=torch.float32 if single else torch.float64)
        for name in ("log_prob", "ref_log_prob", "old_log_prob")
    )
    log_prob.requires_grad_()
    value = BUILD[framework(case)](settings).kl(log_prob, ref, old)
    (gradient,) = torch.autograd.grad(value.sum(), log_prob)
    # exp(x) - 1 - x cancels: TRL's float32 KL of two nearly equal log-probs is 0, ours 5e-9.
    assert_close(value, case["value"], 1e-5 if single else 1e-6, 1e-7 if single else 0.0)
    assert_close(gradient, case["grad"], 1e-5 if single else 1e-6, 1e-7 if single else 1e-12)


def test_at_least_95_percent_are_covered_and_the_rest_refused_by_name():
    cases = ADVANTAGES + LOSSES + KLS
    for case in cases:
        if case["id"] in REFUSED:
            with pytest.raises(UnsupportedSetting) as error:
                algorithm(case)
            assert error.value.field == REFUSED[case["id"]] and error.value.field in str(error.value)
    assert REFUSED.keys() | NOISE.keys() | METRIC_NOISE.keys() <= {case["id"] for case in cases}
    for part in (ADVANTAGES, LOSSES, KLS):
        count = Counter(case["id"] in REFUSED for case in part)
        assert count[False] / len(part) >= 0.95


def test_defaults_are_the_frameworks():
    for name, value in DEFAULTS["trl"].items():
        if name != "num_generations":
            frameworks.from_trl({name: value})
            assert name in TRL_NEUTRAL or TRL_DEFAULTS[name] == value
    for path, value in DEFAULTS["verl"].items():
        name = path.split(".")[-1]
        if name not in ("adv_estimator", "kl_ctrl", "policy_loss", "loss_scale_factor"):
            frameworks.from_verl({name: value})
            assert name in VERL_NEUTRAL or VERL_DEFAULTS[name] == value
    control = {name: value for name, value in DEFAULTS["verl"]["algorithm.kl_ctrl"].items() if name != "_target_"}
    settings = {"adv_estimator": "grpo", "use_kl_in_reward": True}
    assert frameworks.from_verl({**settings, "kl_ctrl": control}) == frameworks.from_verl(settings)


@pytest.mark.parametrize(
    "build, settings, field",
    [
        (frameworks.from_trl, {"loss_type": "ppo"}, "loss_type"),
        (frameworks.from_trl, {"learning_rate": 1e-6}, "learning_rate"),
        (frameworks.from_trl, {"top_entropy_quantile": 0.2}, "top_entropy_quantile"),
        (frameworks.from_trl, {"use_vllm": True}, "use_vllm"),
        (frameworks.from_trl, {"scale_rewards": "token"}, "scale_rewards"),
        (frameworks.from_trl, {"importance_sampling_level": "sequence_token"}, "importance_sampling_level"),
        (frameworks.from_verl, {"adv_estimator": "gae"}, "adv_estimator"),
        (frameworks.from_verl, {"adv_estimator": "remax"}, "adv_estimator"),
        (frameworks.from_verl, {"loss_mode": "clip_cov"}, "loss_mode"),
        (frameworks.from_verl, {"loss_agg_mode": "mean"}, "loss_agg_mode"),
        (frameworks.from_verl, {"gamma": 0.9}, "gamma"),
        (frameworks.from_verl, {"entropy_coeff": 0.01}, "entropy_coeff"),
        (frameworks.from_verl, {"kl_loss_type": "full"}, "kl_loss_type"),
        (frameworks.from_verl, {"policy_loss": {"x": 1}}, "policy_loss.x"),
        (frameworks.from_verl, {"adv_estimator": "gdpo", "use_kl_in_reward": True}, "use_kl_in_reward"),
        (frameworks.from_verl, {"use_kl_in_reward": True, "use_kl_loss": True}, "kl_penalty"),
        (frameworks.from_openrlhf, {"advantage_estimator": "gae"}, "advantage_estimator"),
        (frameworks.from_openrlhf, {"is_correction_level": "token"}, "is_correction_level"),
        (frameworks.from_openrlhf, {"kl_estimator": "abs"}, "kl_estimator"),
    ],
)
def test_what_is_not_covered_is_refused_by_name(build, settings, field):
    with pytest.raises(UnsupportedSetting) as error:
        build(settings)
    assert error.value.field == field and field in str(error.value)


@pytest.mark.parametrize(
    "build, settings, field",
    [
        (frameworks.from_trl, {"epsilon": "0.2"}, "epsilon"),
        (frameworks.from_trl, {"beta": math.nan}, "beta"),
        (frameworks.from_trl, {"loss_type": ["dapo"]}, "loss_type"),
        (frameworks.from_trl, {"use_bias_correction_kl": "false"}, "use_bias_correction_kl"),
        (frameworks.from_verl, {"global_batch_info": None}, "global_batch_info"),
        (frameworks.from_trl, {"gradient_accumulation_steps": 0}, "gradient_accumulation_steps"),
        (frameworks.from_verl, {"clip_ratio_c": 1.0}, "clip_ratio_c"),
        (frameworks.from_verl, {"loss_mode": "dro"}, "policy_loss.dro_beta"),
        (frameworks.from_verl, {"global_batch_info": {"dp_size": 2}}, "batch_num_tokens"),
        (frameworks.from_openrlhf, {"dual_clip": 0.5}, "dual_clip"),
    ],
)
def test_wrong_values_are_named(build, settings, field):
    with pytest.raises(FieldError) as error:
        build(settings)
    assert error.value.field == field


def test_neutral_values_are_accepted():
    assert frameworks.from_trl(
        {"entropy_coef": 0, "top_entropy_quantile": 1, "use_vllm": False}
    ) == frameworks.from_trl({})
    assert frameworks.from_verl({"gamma": 1.0, "entropy_coeff": 0.0}) == frameworks.from_verl({})
    assert frameworks.from_openrlhf({"entropy_coef": None, "lambd": 1}) == frameworks.from_openrlhf({})


def test_advantages_that_need_a_value_model_are_refused_when_asked_for():
    for build in (frameworks.from_verl, frameworks.from_openrlhf):
        with pytest.raises(UnsupportedSetting, match="advantage estimator"):
            build({}).advantages([[0, 1]])


def test_group_sizes():
    for build, settings in (
        (frameworks.from_trl, {}),
        (frameworks.from_trl, {"num_generations": 4}),
        (frameworks.from_openrlhf, {"advantage_estimator": "rloo"}),
        (frameworks.from_verl, {"adv_estimator": "grpo_passk"}),
    ):
        with pytest.raises(FieldError, match="rewards"):
            build(settings).advantages([[1.0]])
    assert frameworks.from_verl({"adv_estimator": "grpo"}).advantages([[3.0]]).item() == pytest.approx(3 / (1 + 1e-6))
    assert frameworks.from_trl({"mode": "eval"}).advantages([[3.0]]).item() == 0


@pytest.mark.parametrize("value, count", [(0.3, 7), (3.3, 7), (1e6 + 0.1, 6), (0.0, 4)])
def test_a_silent_group_gets_exactly_0(value, count):
    rewards = torch.full((2, count), value, dtype=torch.float32)
    for build, settings in (
        *((frameworks.from_trl, {"scale_rewards": scale}) for scale in ("group", "batch", "none")),
        *((frameworks.from_verl, {"adv_estimator": name}) for name in ("grpo", "rloo", "opo", "gpg", "grpo_passk")),
        *(
            (frameworks.from_openrlhf, {"advantage_estimator": name})
            for name in ("group_norm", "rloo", "reinforce_baseline")
        ),
    ):
        assert not build(settings).advantages(rewards, torch.full((2, count), 3)).any()


def test_max_rl_divides_by_the_mean():
    estimator = Estimator(scale="group mean", epsilon=0.0)
    assert_close(estimator([[1, 0, 0, 0], [1, 1, 0, 0]]), [[3, -1, -1, -1], [1, 1, -1, -1]], 1e-12)
    assert not Estimator(scale="group mean")([[0, 0, 0]]).any()


def test_kl_in_the_reward_by_hand():
    rewards, kl = [[1.0, 0.0]], torch.tensor([[[0.1, 0.2], [0.1, 0.0]]], dtype=torch.float64)
    verl = frameworks.from_verl({"adv_estimator": "rloo", "use_kl_in_reward": True, "kl_ctrl": {"kl_coef": 0.5}})
    assert_close(verl.advantages(rewards, kl=kl), [[0.9, -0.9]], 1e-12)  # one loses 0.15, the other 0.05
    openrlhf = frameworks.from_openrlhf({"advantage_estimator": "dr_grpo", "kl_coef": 0.5})
    assert_close(openrlhf.advantages(rewards, [[2, 1]], kl), [[[0.35, 0.4], [-0.55, 0.0]]], 1e-12)
    assert_close(openrlhf.advantages(rewards, [[2, 1]]), [[0.5, -0.5]], 1e-12)
    with pytest.raises(FieldError, match="kl"):
        frameworks.from_trl({}).advantages(rewards, kl=kl)


def test_openrlhf_clips_the_advantage_after_comparing():
    clipped = frameworks.from_openrlhf({"advantage_estimator": "dr_grpo", "reward_clip_range": [-1, 1]})
    assert_close(clipped.advantages([[9.0, 0.0, 0.0]]), [[1.0, -1.0, -1.0]], 1e-12)


def batch(tokens: int = 3, sequences: int = 4, seed: int = 0) -> dict:
    random = torch.Generator().manual_seed(seed)
    draw = [torch.rand(sequences, tokens, generator=random, dtype=torch.float64) - 2 for _ in range(3)]
    lengths = torch.arange(sequences) % tokens + 1
    return {
        "log_prob": draw[0].requires_grad_(), "old_log_prob": draw[1], "ref_log_prob": draw[2],
        "mask": (torch.arange(tokens) < lengths[:, None]).long(),
        "advantages": torch.randn(sequences, generator=random, dtype=torch.float64),
    }  # fmt: skip


def gradient(algorithm: Algorithm, inputs: dict) -> torch.Tensor:
    return torch.autograd.grad(algorithm.loss(**inputs).value, inputs["log_prob"])[0]


def test_on_policy_is_the_current_policy_detached():
    inputs = batch()
    for build in BUILD.values():
        algorithm = build({})
        on_policy = {**inputs, "old_log_prob": None}
        detached = {**inputs, "old_log_prob": inputs["log_prob"].detach()}
        assert algorithm.loss(**on_policy).value == algorithm.loss(**detached).value
        assert_close(gradient(algorithm, on_policy), gradient(algorithm, detached), 0)
        assert_close(algorithm.loss(**on_policy).per_token, -inputs["advantages"][:, None] * inputs["mask"], 1e-12)


def test_the_aggregated_loss_per_token_is_the_loss():
    inputs = batch()
    for loss_type in ("grpo", "bnpo", "dr_grpo", "dapo", "luspo", "cispo", "sapo", "vespo"):
        for level in ("token", "sequence"):
            algorithm = frameworks.from_trl({"loss_type": loss_type, "beta": 0.1, "importance_sampling_level": level})
            result = algorithm.loss(**inputs)
            assert_close(algorithm.aggregation(result.per_token, inputs["mask"]), result.value, 1e-12)


def test_a_bandit_has_one_token_so_aggregations_and_levels_agree():
    inputs = batch(tokens=1)
    losses = [
        frameworks.from_trl({"loss_type": loss_type, "importance_sampling_level": level, "max_completion_length": 1})
        for loss_type in ("grpo", "bnpo", "dapo", "dr_grpo", "luspo")
        for level in ("token", "sequence")
    ]
    for algorithm in losses[1:]:
        assert_close(gradient(algorithm, inputs), gradient(losses[0], inputs), 1e-12)


def test_advantages_per_token_are_those_per_sequence():
    inputs = batch()
    each = {**inputs, "advantages": inputs["advantages"][:, None].expand(4, 3)}
    for settings in [
        {"loss_mode": mode} for mode in ("vanilla", "gspo", "cispo", "sapo", "geo_mean", "dppo_tv", "dppo_kl", "kl_cov")
    ]:
        algorithm = frameworks.from_verl(settings)
        assert_close(algorithm.loss(**inputs).value, algorithm.loss(**each).value, 1e-12)


def test_kl_terms_are_added_with_their_coefficient():
    inputs = batch()
    for build, leash in (
        (frameworks.from_verl, {"use_kl_loss": True, "kl_loss_coef": 0.5}),
        (frameworks.from_openrlhf, {"use_kl_loss": True, "kl_coef": 0.5}),
        (frameworks.from_trl, {"beta": 0.5}),
    ):
        free, leashed = build({}), build(leash)
        kl = leashed.kl(inputs["log_prob"], inputs["ref_log_prob"], inputs["old_log_prob"], inputs["mask"])
        term = (kl * inputs["mask"]).sum() / inputs["mask"].sum()
        assert_close(leashed.loss(**inputs).value, free.loss(**inputs).value + 0.5 * term, 1e-12)
        with pytest.raises(FieldError, match="ref_log_prob"):
            leashed.loss(**{**inputs, "ref_log_prob": None})


def test_verl_s_sapo_and_geo_mean_aggregate_their_kl_by_loss_agg_mode():
    inputs = batch()
    for mode in ("sapo", "geo_mean"):
        free, leashed = (
            frameworks.from_verl({"loss_mode": mode, "use_kl_loss": use, "kl_loss_coef": 1.0}) for use in (False, True)
        )
        kl = (leashed.kl(inputs["log_prob"], inputs["ref_log_prob"]) * inputs["mask"]).sum() / inputs["mask"].sum()
        assert_close(leashed.loss(**inputs).value, free.loss(**inputs).value + kl, 1e-12)
        assert leashed.loss(**inputs).metrics["actor/kl_loss"] == pytest.approx(kl.item())


@pytest.mark.parametrize("kind", ["k1", "k2", "k3"])
def test_openrlhf_kl_is_clamped_and_unbiased_on_request(kind):
    log_prob = torch.tensor([-1.0, -12.0, -0.1], dtype=torch.float64, requires_grad=True)
    ref, old = torch.tensor([[-1.5, -0.3, -15.0], [-1.2, -15.0, -0.1]], dtype=torch.float64)
    x = (log_prob - ref).detach()
    expected = {"k1": x, "k2": x**2 / 2, "k3": (-x).exp() - 1 + x}[kind].clamp(-10, 10)
    for unbiased in (False, True):
        value = frameworks.from_openrlhf({"kl_estimator": kind, "unbiased_gradient": unbiased}).kl(log_prob, ref, old)
        assert_close(value, expected, 1e-12)
    (slope,) = torch.autograd.grad(value.sum(), log_prob)
    assert_close(slope, x * (log_prob - old).exp().clamp(max=10), 1e-12)


def test_shapes_are_checked():
    inputs = batch()
    for name, shape in (("old_log_prob", (4, 2)), ("mask", (3,)), ("advantages", (3,)), ("ref_log_prob", (1, 3))):
        with pytest.raises(FieldError, match=name):
            frameworks.from_trl({"beta": 0.1}).loss(**{**inputs, name: torch.zeros(shape)})


def test_the_chapter_s_loss_is_one_combination_of_the_pieces():
    """Group mean, population std, epsilon 1e-6, one token, ratio 1 on-policy, each completion the same weight."""
    random = torch.Generator().manual_seed(3)
    logits = torch.randn(3, 4, generator=random, dtype=torch.float64, requires_grad=True)
    reference = torch.randn(3, 4, generator=random, dtype=torch.float64).softmax(-1)
    actions = torch.randint(4, (3, 5), generator=random)
    rewards = (actions == torch.tensor([[0], [1], [2]])).double()
    advantages = CHAPTER.advantages(rewards)
    exact = chapter_gradient(logits.detach().log_softmax(-1), actions, advantages, reference, 0.0)
    assert exact.policy.abs().max() > 0.01
    log_prob = logits.log_softmax(-1).gather(-1, actions).reshape(-1, 1)
    values = []
    for surrogate in (CHAPTER.surrogate, Unclipped(), Clip()):
        combination = replace(CHAPTER, surrogate=surrogate)
        result = combination.loss(log_prob, None, None, torch.ones_like(log_prob), advantages.flatten())
        (slope,) = torch.autograd.grad(result.value, logits, retain_graph=True)
        assert_close(slope, exact.policy, 1e-12, 1e-15)
        values.append(result.value)
    assert_close(values[0], chapter_loss(logits, actions, advantages, reference, 0.0).policy, 1e-12)
    assert abs(values[1]) < 1e-12  # the ratio is 1 and advantages add up to 0


@pytest.mark.parametrize("name, back", [("trl", frameworks.to_trl), ("verl", frameworks.to_verl)])
def test_there_and_back_says_the_same(name, back):
    for case in ADVANTAGES + LOSSES:
        if framework(case) == name and case["id"] not in REFUSED and case["setting"].get("loss_mode", "") is not None:
            original = algorithm(case)
            exported = back(original)
            assert exported.differences == (), case["id"]
            if original.estimator is not None:
                original = replace(original, estimator=replace(original.estimator, smallest=1, group_size=None))
            again = BUILD[name](exported.settings)
            if case.get("rewards") is not None and original.estimator is not None:
                rewards = given_rewards(case)[-1]
                assert_close(
                    again.advantages(rewards, case.get("lengths")),
                    original.advantages(rewards, case.get("lengths")),
                    1e-12,
                )
            if "log_prob" in case:
                inputs = {key: case[key] for key in ("log_prob", "old_log_prob", "ref_log_prob", "mask", "advantages")}
                assert_close(again.loss(**inputs).value, original.loss(**inputs).value, 1e-12)


def said(exported) -> str:
    return " ".join(map(str, exported.differences))


def test_what_a_framework_cannot_express_is_said_in_words():
    assert "ddof 0; in TRL 1.16.0 1" in said(frameworks.to_trl(CHAPTER))
    assert "1e-06; in TRL 1.16.0 0.0001" in said(frameworks.to_trl(CHAPTER))
    assert frameworks.to_trl(CHAPTER).settings["loss_type"] == "grpo"
    verl = frameworks.to_trl(frameworks.from_verl({"adv_estimator": "grpo", "clip_ratio_high": 0.28}))
    assert verl.settings["delta"] == 3.0 and verl.settings["epsilon_high"] == 0.28  # the dual clip is TRL's delta
    assert "clamped to (-20.0, 20.0)" in said(verl) and "delta" not in said(verl) and "capped" not in said(verl)
    assert "GeoMean" in said(frameworks.to_trl(frameworks.from_verl({"loss_mode": "geo_mean"})))
    trl = frameworks.to_verl(frameworks.from_trl({"beta": 0.04, "loss_type": "grpo"}))
    assert "multiplied by the ratio: true; in verl 0.9.1: false" in said(trl)
    assert trl.settings["loss_agg_mode"] == "seq-mean-token-mean" and trl.settings["kl_loss_coef"] == 0.04
    assert "Vespo" in said(frameworks.to_verl(frameworks.from_trl({"loss_type": "vespo"})))
    openrlhf = frameworks.from_openrlhf({"advantage_estimator": "group_norm"})
    assert "Coefficient of the KL in the reward: 0.01" in said(frameworks.to_trl(openrlhf))


def test_aggregations_by_hand():
    loss, mask = torch.tensor([[1.0, 2.0], [3.0, 9.0], [9.0, 9.0]]), torch.tensor([[1.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    for aggregation, expected in (
        (Aggregation("token-mean"), 2.0),
        (Aggregation("token-sum"), 6.0),
        (Aggregation("seq-mean-token-mean"), 2.25),
        (Aggregation("seq-mean-token-mean", count_empty=True), 1.5),
        (Aggregation("seq-mean-token-sum"), 3.0),
        (Aggregation("seq-mean-token-sum", length=6), 0.5),
        (Aggregation("seq-mean-token-sum", length="width"), 1.5),
        (Aggregation("token-mean", tokens=12, factor=2), 1.0),
        (Aggregation("seq-mean-token-mean", sequences=9, factor=2), 1.0),
    ):
        assert_close(aggregation(loss, mask), expected, 1e-7)


def test_the_ratio_s_levels():
    log_prob = torch.tensor([[0.3, 0.5, 7.0]], dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[1.0, 1.0, 0.0]], dtype=torch.float64)
    assert_close(Ratio("sequence")(log_prob, log_prob, mask), [[math.exp(0.4)]], 1e-12)
    forward = Ratio("sequence forward")(log_prob, log_prob, mask)
    assert_close(forward, [[math.exp(0.4)] * 3], 1e-12)
    assert_close(torch.autograd.grad(forward[0, 0], log_prob)[0], [[math.exp(0.4), 0, 0]], 1e-12)


def test_an_unscored_completion_has_no_part_in_the_baseline():
    opo = frameworks.from_verl({"adv_estimator": "opo"})
    scored = opo.advantages([[1.0, 0.0, 0.0]], [[1, 2, 1]])
    whitened = frameworks.from_verl({"adv_estimator": "reinforce_plus_plus_baseline"})
    expected = whitened.advantages([[1.0, 0.0, 0.0]], [[1, 2, 1]])
    assert_close(whitened.advantages([[1.0, math.nan, 0.0, 0.0]], [[1, 9, 2, 1]])[:, [0, 2, 3]], expected, 1e-12)
    assert_close(opo.advantages([[1.0, math.nan, 0.0, 0.0]], [[1, 9, 2, 1]])[:, [0, 2, 3]], scored, 1e-12)
    assert_close(
        opo.advantages([[1.0, 0.0, 0.0], [1.0, 0.0]], [[1, 2, 1], [1, 1]]),
        [[0.75, -0.25, -0.25], [0.5, -0.5, 0.0]],
        1e-12,
    )


@pytest.mark.parametrize(
    "build, setting", [(frameworks.from_verl, "kl_loss_type"), (frameworks.from_openrlhf, "kl_estimator")]
)
def test_a_clamped_k3_far_from_the_reference_has_gradient_0_not_nan(build, setting):
    log_prob = torch.tensor([-2000.0, -1.0], dtype=torch.float64, requires_grad=True)
    value = build({setting: "k3"}).kl(log_prob, torch.tensor([-1.0, -2000.0], dtype=torch.float64))
    assert_close(value, [10.0, 10.0], 0)
    assert_close(torch.autograd.grad(value.sum(), log_prob)[0], [0.0, 0.0], 0)


def test_vespo_clamps_the_log_ratios_and_their_sum():
    vespo = frameworks.from_trl({"loss_type": "vespo", "vespo_k_pos": 0.5, "vespo_lambda_pos": 1.5})
    for log_ratios, log_weight in (([30.0, -29.0], 0.0), ([-15.0, -9.0], math.log(1e-8)), ([0.5, 0.25], 0.75)):
        log_prob = torch.tensor([log_ratios], dtype=torch.float64) - 40
        result = vespo.loss(log_prob, torch.full_like(log_prob, -40.0), None, torch.ones_like(log_prob), [1.0])
        phi = math.exp(1.5 + 0.5 * log_weight - 1.5 * math.exp(log_weight))
        assert result.metrics["vespo/phi_seq_mean"] == pytest.approx(phi, rel=1e-6)


def test_the_ratio_s_log_is_clamped():
    log_ratio = torch.tensor([[25.0, -25.0, 1.0]], dtype=torch.float64, requires_grad=True)
    ratio = Ratio("token", (-20.0, 20.0))(log_ratio, log_ratio, torch.ones(1, 3))
    assert_close(ratio, [[math.exp(20), math.exp(-20), math.e]], 1e-12)
    assert_close(torch.autograd.grad(ratio.sum(), log_ratio)[0], [[0, 0, math.e]], 1e-12)


def one_token_each(settings: dict, new: list, old: list, advantages: list) -> frameworks.Loss:
    """verl's loss of completions of one token, by their probabilities; the sum."""
    new, old = (torch.tensor(p, dtype=torch.float64).log()[:, None] for p in (new, old))
    algorithm = frameworks.from_verl({"loss_agg_mode": "token-sum", **settings})
    return algorithm.loss(new, old, None, torch.ones_like(new), advantages)


def test_dppo_by_hand():
    """A token counts until it has moved too far in the direction of its advantage; its ratio is capped."""
    settings = {"clip_ratio_low": 0.05, "clip_ratio_high": 0.1, "clip_ratio_c": 1.5}
    new, old, advantages = [0.6, 0.4, 0.5, 0.5, 0.25], [0.1, 0.8, 0.4, 0.6, 0.2], [1.0, -1.0, -1.0, 1.0, 1.0]
    tv = one_token_each({**settings, "loss_mode": "dppo_tv"}, new, old, advantages)
    terms = [0.0, 0.0, -1.25 * math.log(2), 0.5 / 0.6 * math.log(2), 1.25 * math.log(4)]
    assert_close(tv.per_token, torch.tensor(terms)[:, None], 1e-6)
    assert tv.metrics["actor/pg_clipfrac"] == pytest.approx(0.4)
    far = one_token_each({**settings, "loss_mode": "dppo_tv"}, [0.09], [0.01], [1.0])
    assert_close(far.value, -1.5 * math.log(0.09), 1e-12)
    assert far.metrics["actor/pg_clipfrac_lower"] == pytest.approx(1)

    binary_kl = 0.2 * math.log(0.2 / 0.5) + 0.8 * math.log(0.8 / 0.5)
    for limit, expected in ((binary_kl * 0.99, 0.0), (binary_kl * 1.01, -2.5 * math.log(0.5))):
        kl = {"loss_mode": "dppo_kl", "clip_ratio_high": limit, "clip_ratio_c": 20.0}
        assert_close(one_token_each(kl, [0.5], [0.2], [1.0]).value, expected, 1e-12)


def test_kl_cov_holds_the_tokens_with_the_largest_covariance():
    """Centred, the rare and bad second token comes first; without centring it would be the last."""
    settings = {"loss_mode": "kl_cov", "policy_loss": {"kl_cov_ratio": 0.25, "ppo_kl_coef": 2.0}}
    new, old = [0.9, 0.01, 0.8, 0.7], [0.5, 0.02, 0.8, 0.7]
    result = one_token_each(settings, new, old, [2.0, 1.0, 2.0, 2.0])
    expected = [-2 * 0.9 / 0.5, -0.5 + 2 * math.log(2), -2.0, -2.0]
    assert_close(result.per_token, torch.tensor(expected, dtype=torch.float64)[:, None], 1e-12)


def test_geo_mean_takes_the_geometric_mean_of_rollout_weights():
    inputs = batch(tokens=2, sequences=2) | {"mask": torch.tensor([[1, 1], [1, 0]])}
    settings = {"loss_mode": "geo_mean"}
    weighted = frameworks.from_verl(settings | {"rollout_is_weights": [[4.0, 1.0], [3.0, 99.0]]}).loss(**inputs)
    plain = frameworks.from_verl(settings).loss(**inputs)
    assert_close(weighted.per_token, plain.per_token * torch.tensor([[2.0], [3.0]]), 1e-9)


def test_evaluation_is_not_accumulated():
    inputs = batch()
    accumulated = {"gradient_accumulation_steps": 4, "steps_per_generation": 2, "num_items_in_batch": 9}
    for loss_type, factor in (
        ("grpo", 1 / 4),
        ("bnpo", 1 / 4),
        ("luspo", 1 / 4),
        ("dr_grpo", 1 / 4),
        ("dapo", 2 / 4),
        ("cispo", 2 / 4),
    ):
        train, evaluation = (
            frameworks.from_trl({"loss_type": loss_type, "mode": mode, **accumulated}).loss(**inputs).value
            for mode in ("train", "eval")
        )
        assert_close(train, evaluation * factor, 1e-12)


def test_verl_s_gspo_gives_each_token_the_sequence_s_ratio_and_its_own_gradient():
    log_prob = torch.tensor([[-1.0, -2.0]], dtype=torch.float64, requires_grad=True)
    inputs = {
        "old_log_prob": torch.tensor([[-1.1, -2.1]], dtype=torch.float64),
        "ref_log_prob": None,
        "mask": torch.ones(1, 2),
    }
    gspo = frameworks.from_verl({"loss_mode": "gspo", "loss_agg_mode": "token-sum"})
    result = gspo.loss(log_prob, **inputs, advantages=[[1.0, -3.0]])
    assert_close(torch.autograd.grad(result.value, log_prob)[0], [[-math.exp(0.1), 3 * math.exp(0.1)]], 1e-9)
    far = gspo.loss(log_prob, **{**inputs, "old_log_prob": log_prob.detach() - 12}, advantages=[-1.0])
    assert_close(far.value, 2 * math.exp(10), 1e-12)
    assert not torch.autograd.grad(far.value, log_prob)[0].any()


def test_openrlhf_s_gspo_takes_the_mean_over_sequences_whatever_token_level_loss_says():
    inputs = batch()
    settings = {"policy_loss_type": "gspo", "clip_eps_low": 0.2, "clip_eps_high": 0.3}
    result = frameworks.from_openrlhf(settings | {"token_level_loss": True}).loss(**inputs)
    assert result.value == frameworks.from_openrlhf(settings | {"token_level_loss": False}).loss(**inputs).value
    mask = inputs["mask"]
    ratio = (((inputs["log_prob"] - inputs["old_log_prob"]) * mask).sum(-1) / mask.sum(-1)).exp()
    gain = torch.minimum(ratio * inputs["advantages"], ratio.clamp(0.8, 1.3) * inputs["advantages"])
    assert_close(result.value, -gain.mean(), 1e-9)


@pytest.mark.parametrize(
    ("build", "settings"),
    [
        (frameworks.from_trl, {"epsilon_high": "0.2"}), (frameworks.from_trl, {"delta": "0.2"}),
        (frameworks.from_trl, {"off_policy_mask_threshold": "x"}), (frameworks.from_trl, {"steps_per_generation": 0}),
        (frameworks.from_trl, {"reward_weights": 1.0}), (frameworks.from_trl, {"reward_weights": "ab"}),
        (frameworks.from_trl, {"reward_weights": [1.0, "a"]}), (frameworks.from_verl, {"gdpo_reward_weights": 2}),
        (frameworks.from_openrlhf, {"reward_clip_range": 5}), (frameworks.from_openrlhf, {"dual_clip": "3"}),
    ],
)  # fmt: skip
def test_settings_without_a_default_are_checked(build, settings):
    (name,) = settings
    with pytest.raises(FieldError, match=name):
        build(settings)


def test_openrlhf_weights_the_kl_by_each_token_s_ratio_under_gspo():
    settings = {"policy_loss_type": "gspo", "unbiased_gradient": True, "kl_estimator": "k2", "use_kl_loss": True}
    log_prob = torch.tensor([[-1.0, -2.0]], dtype=torch.float64, requires_grad=True)
    kl = frameworks.from_openrlhf(settings).kl(log_prob, [[-1.5, -2.5]], [[-2.0, -1.0]])
    (gradient,) = torch.autograd.grad(kl.sum(), log_prob)
    assert gradient[0].tolist() == pytest.approx([0.5 * math.e, 0.5 / math.e])


@pytest.mark.parametrize(
    ("algorithm", "kind"),
    [
        (frameworks.from_trl({"beta": 0.04, "use_bias_correction_kl": False}), "low_var_kl"),
        (frameworks.PRESETS["deepseekmath"].algorithm, "low_var_kl"),
        (frameworks.from_verl({"use_kl_loss": True, "kl_loss_type": "k2"}), "k2"),
        (frameworks.from_verl({"use_kl_loss": True, "kl_loss_type": "k1"}), "k1"),
    ],
)  # fmt: skip
def test_the_kl_estimate_survives_the_way_to_verl(algorithm, kind):
    assert frameworks.to_verl(algorithm).settings["kl_loss_type"] in (kind, {"k2": "mse", "k1": "kl"}.get(kind))


@pytest.mark.parametrize("lengths", [[3, 4], [[3, 4, 5]], [[[1], [2]]], "ab"])
def test_lengths_have_the_shape_of_the_rewards(lengths):
    with pytest.raises(FieldError, match=r"^lengths"):
        frameworks.from_verl({"adv_estimator": "opo"}).advantages([[1.0, 0.0]], lengths)
