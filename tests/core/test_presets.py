"""Presets, their six slots in words, what a bandit cannot tell apart, clip curves, and pasted configurations."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from grpo_core import FieldError, TrainConfig, chapter_task, frameworks
from grpo_core.family import clip_curve, ratio_range
from grpo_core.frameworks import CHAPTER, PRESETS, Aggregation, Ratio, UnsupportedSetting
from grpo_core.frameworks.paste import MAX_TEXT, READERS, read_config, unpacked
from grpo_core.frameworks.presets import BUILD, chapter_of
from grpo_core.frameworks.slots import SLOTS, differing, explained, slots
from grpo_core.frameworks.surrogates import Cispo, Clip, GeoMean, KlCov, Quadratic, Sapo, TrustRegion, Unclipped, Vespo
from grpo_core.method_bands import train_family
from grpo_core.methods import Method
from tests.hostile import FOR_RULES, TEXTS

CONFORMANCE = Path(__file__).parents[1] / "conformance"
SURROGATES = (
    Clip(ceiling=2.0, dual=3.0),
    Cispo(),
    Sapo(),
    GeoMean(),
    KlCov(),
    Quadratic(),
    TrustRegion(),
    Unclipped(),
    Vespo(),
    None,
)


def family(updates: int, config=None):
    methods = {
        key: Method(key, algorithm=PRESETS[key].algorithm, max_draws=PRESETS[key].max_draws, inner_epochs=updates)
        for key in PRESETS
    }
    return train_family(chapter_task(), config or TrainConfig(), methods)


def test_every_preset_names_its_source_and_is_built_from_its_settings():
    for preset in PRESETS.values():
        assert preset.build is None or preset.algorithm == BUILD[preset.build](preset.settings)
        assert any(
            mark in preset.source for mark in ("arXiv", "TRL 1.16.0", "verl 0.9.1", "OpenRLHF 0.11.2", "GRPO Explainer")
        )


def test_one_group_by_hand():
    """1, 0, 0, 0.5: mean 0.375, std 0.414578 (ddof 0) and 0.478714 (ddof 1)."""
    expected = {
        "chapter": 0.625 / (0.414578 + 1e-6), "trl": 0.625 / (0.478714 + 1e-4), "dr_grpo": 0.625, "rloo": 1 - 0.5 / 3,
        "maxrl": 0.625 / 0.375, "reinforce_pp": 0.625 / 0.414578,
        "pass_at_k": (1 - 4 / 6) / (3.5 / 6 - (4 / 6) ** 2) ** 0.5,
    }  # fmt: skip
    for key, value in expected.items():
        assert PRESETS[key].algorithm.advantages([[1, 0, 0, 0.5]])[0, 0].item() == pytest.approx(value, rel=1e-5), key


def test_papers_settings():
    dapo, gspo, cispo = (PRESETS[key].algorithm for key in ("dapo", "gspo", "cispo"))
    assert (dapo.surrogate.low, dapo.surrogate.high, dapo.kl_coef) == (0.2, 0.28, 0)
    assert dapo.aggregation.kind == "token-mean" and PRESETS["dapo"].max_draws > 1
    assert gspo.ratio.level == "sequence" and (gspo.surrogate.low, gspo.surrogate.high) == (3e-4, 4e-4)
    assert cispo.surrogate == Cispo(0.0, 5.0)
    assert (
        PRESETS["dr_grpo"].algorithm.estimator.scale == "none"
        and PRESETS["dr_grpo"].algorithm.aggregation.length == 3000
    )
    assert PRESETS["deepseekmath"].algorithm.kl_coef == 0.04 and PRESETS["rloo"].algorithm.estimator.kl_in == "reward"


def test_the_chapter_follows_the_run_s_settings():
    chapter = chapter_of(TrainConfig(kl_coef=0.5, ddof=1, epsilon=0.1))
    assert (chapter.kl_coef, chapter.estimator.ddof, chapter.estimator.epsilon) == (0.5, 1, 0.1)
    assert chapter_of(TrainConfig()) == PRESETS["chapter"].algorithm


def test_slots_differ_where_the_data_differ():
    chapter = PRESETS["chapter"].algorithm
    assert differing(chapter, chapter) == []
    assert differing(PRESETS["maxrl"].algorithm, chapter) == ["scale", "kl"]
    assert differing(PRESETS["trl"].algorithm, chapter) == ["scale", "ratio", "clip", "kl", "aggregation"]
    assert differing(PRESETS["gspo"].algorithm, PRESETS["trl"].algorithm) == ["ratio", "clip", "aggregation"]
    assert "std of its group (ddof 1) + 0.0001" in str(slots(PRESETS["trl"].algorithm)["scale"][0])


def test_every_surrogate_estimator_and_kl_has_words():
    algorithms = [replace(CHAPTER, surrogate=surrogate) for surrogate in SURROGATES]
    algorithms += [BUILD[build](settings) for build, settings in (
        ("trl", {"multi_objective_aggregation": "normalize_then_sum", "off_policy_mask_threshold": 0.1, "beta": 0.1}),
        ("verl", {"adv_estimator": "grpo", "loss_mode": "gspo", "use_kl_loss": True, "kl_loss_type": "k3+", "loss_agg_mode": "seq-mean-token-sum-norm"}),
        ("verl", {"adv_estimator": "gpg", "loss_mode": "geo_mean", "use_kl_loss": True}), ("verl", {}),
        ("openrlhf", {"advantage_estimator": "reinforce", "no_std_norm": True}),
    )]  # fmt: skip
    said = [tuple("; ".join(map(str, slot)) for slot in slots(algorithm).values()) for algorithm in algorithms]
    assert all(len(words) == len(SLOTS) and all(words) for words in said) and len(set(said)) == len(said)
    assert "the KL: the mean over all tokens" in said[-3][-1]


def test_one_update_cannot_tell_trl_gspo_and_cispo_apart_and_four_can():
    one, four = family(1), family(4)
    same = {pair for pair, told in one.told.items() if told.same}
    assert same == {(a, b) for a in ("trl", "gspo", "cispo") for b in ("trl", "gspo", "cispo") if a != b}
    assert list(one.told["trl", "gspo"].reasons) == ["ratio", "clip", "aggregation"]
    assert not any(told.same for told in four.told.values())
    assert one.told["trl", "verl"].gap > 1e-9 and one.told["trl", "dr_grpo"].gap > 1e-4
    assert one.errors == four.errors == {} and all(bands.seeds == 64 for bands in one.bands.values())


def test_reasons_are_those_of_the_slots():
    trl = PRESETS["trl"].algorithm
    wide = replace(trl, surrogate=Clip(0.3, 0.3))
    assert list(explained(trl, wide, 1)) == ["clip"] and explained(trl, wide, 4) == {}
    sequence = replace(trl, ratio=Ratio("sequence"))
    assert "one token" in str(explained(trl, sequence, 4)["ratio"])
    summed = replace(trl, aggregation=Aggregation("token-sum"))
    assert explained(trl, summed, 1) == {}
    low = replace(trl, surrogate=Cispo(0.0, 0.2))  # TRL's cispo with epsilon_high unset: every weight is 0.2
    assert explained(trl, low, 1) == {}


def test_what_cannot_run_is_an_error_and_the_rest_runs():
    alone = family(1, config=TrainConfig(group_size=1, epochs=3))
    assert set(alone.errors) == {"trl", "openrlhf", "dr_grpo", "gspo", "cispo", "reinforce_pp"}
    assert {"chapter", "verl", "maxrl"} <= set(alone.bands)
    wild = frameworks.from_trl({"beta": 1e6, "epsilon": 1e6})
    result = train_family(
        chapter_task(),
        TrainConfig(learning_rate=1.0, epochs=400),
        {"wild": Method("wild", algorithm=wild, inner_epochs=4)},
    )
    assert all(bands.mean_reward.isfinite().all() for bands in result.bands.values())


def test_clip_curves_by_hand():
    curve = clip_curve(PRESETS["trl"].algorithm, torch.linspace(0.5, 1.5, 1001, dtype=torch.float64), 1.0)
    at = {round(ratio, 3): values for ratio, *values in zip(*(part.tolist() for part in curve), strict=True)}
    assert at[1.0] == pytest.approx([0.0, 1.0]) and at[0.6] == pytest.approx([-0.4, 0.6], abs=1e-3)
    assert at[1.1] == pytest.approx([0.1, 1.1], abs=1e-3) and at[1.4] == pytest.approx([0.2, 0.0], abs=2e-3)
    down = clip_curve(PRESETS["verl"].algorithm, torch.tensor([0.7, 1.0, 2.0, 3.5], dtype=torch.float64), -1.0)
    assert down.slope.tolist() == pytest.approx([0.0, -1.0, -2.0, 0.0])
    cispo = clip_curve(PRESETS["cispo"].algorithm, torch.tensor([0.5, 1.0, 7.0], dtype=torch.float64), 1.0)
    assert cispo.slope.tolist() == pytest.approx([0.5, 1.0, 5.0])
    for surrogate in SURROGATES:
        algorithm = replace(CHAPTER, surrogate=surrogate, kl_coef=0.5)
        low, high = ratio_range(algorithm)
        curve = clip_curve(algorithm, torch.linspace(low, high, 101, dtype=torch.float64), -1.0)
        assert low < 1 < high and curve.slope.isfinite().all() and curve.objective.isfinite().all()


def test_the_worked_advantage_comes_out():
    for preset in PRESETS.values():
        worked = preset.algorithm.estimator.worked([1, 0, 0, 0.5])
        assert (worked.value - worked.baseline) / worked.divisor == pytest.approx(worked.scaled)
        assert worked.advantage == preset.algorithm.advantages([[1, 0, 0, 0.5]])[0, worked.index].item()
        assert preset.algorithm.estimator.worked([1, 1, 1]).advantage == 0


VERL_SHELL = """python3 -m verl.trainer.main_ppo \\
    algorithm.adv_estimator=rloo \\
    data.train_files=$HOME/data/gsm8k/train.parquet \\
    actor_rollout_ref.rollout.n=5 \\
    algorithm.use_kl_in_reward=True algorithm.kl_penalty=kl \\
    algorithm.kl_ctrl.kl_coef=0.001 \\
    trainer.logger=['console','wandb'] $@
"""
VERL_NESTED = """
algorithm: {adv_estimator: rloo, use_kl_in_reward: true, kl_ctrl: {kl_coef: 1e-3}}
actor_rollout_ref:
  rollout: {n: 5}
"""


def test_verl_s_settings_nested_dotted_and_flat_are_the_preset():
    expected = PRESETS["rloo"].algorithm
    dotted = {"algorithm.adv_estimator": "rloo", "algorithm.use_kl_in_reward": True, "algorithm.kl_ctrl.kl_coef": 0.001}
    flat = {"adv_estimator": "rloo", "use_kl_in_reward": True, "kl_ctrl": {"kl_coef": 0.001}}
    for text in (VERL_SHELL, VERL_NESTED, json.dumps(dotted), json.dumps(flat)):
        pasted = read_config(text)
        assert pasted.build == "verl" and pasted.preset().algorithm == expected
        assert unpacked(pasted.packed()).preset().algorithm == expected
    pasted = read_config(VERL_SHELL)
    assert pasted.elsewhere == ("actor_rollout_ref.rollout.n",) and pasted.unrelated == (
        "data.train_files",
        "trainer.logger",
    )


def test_trl_s_own_arguments_are_read_whole():
    """All 191 names that GRPOConfig writes into args.json."""
    text = (CONFORMANCE / "trl_args.json").read_text()
    pasted = read_config(text)
    assert pasted.build == "trl" and pasted.preset().algorithm.kl_coef == 0.04
    assert {"beta", "loss_type", "epsilon"} <= set(pasted.read) and {"learning_rate", "num_iterations"} <= set(
        pasted.elsewhere
    )
    names = {name.partition(".")[0] for name in (*pasted.read, *pasted.elsewhere, *pasted.unrelated)}
    assert names == json.loads(text).keys()


def test_openrlhf_s_command_line_is_read():
    text = "--advantage_estimator reinforce_baseline --init_kl_coef 1e-5 --use_kl_loss --kl_estimator k2 --train_batch_size 128"
    assert read_config(text).preset().algorithm == replace(
        PRESETS["reinforce_pp"].algorithm,
        estimator=replace(PRESETS["reinforce_pp"].algorithm.estimator, limits=(-10.0, 10.0)),
    )
    nested = {
        "algo.advantage.estimator": "rloo",
        "actor.eps_clip_low_high": [0.2, 0.3],
        "algo.dynamic_filtering_enable": True,
    }
    preset = read_config(json.dumps(nested)).preset()
    assert preset.algorithm.surrogate == Clip(0.2, 0.3) and preset.max_draws > 1
    assert read_config(json.dumps(nested)).packed() == unpacked(read_config(json.dumps(nested)).packed()).packed()


def test_defaults_of_every_framework_are_read():
    defaults = json.loads((CONFORMANCE / "defaults.json").read_text())
    assert read_config(json.dumps(defaults["trl"])).preset().algorithm == replace(
        PRESETS["trl"].algorithm, estimator=replace(PRESETS["trl"].algorithm.estimator, group_size=8)
    )
    for build, name in (("verl", "algorithm.adv_estimator"), ("openrlhf", "algo.advantage.estimator")):
        with pytest.raises(UnsupportedSetting, match="gae"):
            read_config(json.dumps(defaults[build]))
        estimator = {"verl": "grpo", "openrlhf": "group_norm"}[build]
        settings = {**defaults[build], name: estimator}
        assert read_config(json.dumps(settings)).preset().algorithm == PRESETS[build].algorithm


@pytest.mark.parametrize(
    "text, field",
    [
        ("beta: 0.1\nbeta_2: 2", "beta_2"), ("top_entropy_quantile: 0.2", "top_entropy_quantile"),
        ("sync_ref_model: true", "sync_ref_model"), ("mask_truncated_completions: true", "mask_truncated_completions"),
        ("algorithm.gamma: 0.9\nalgorithm.adv_estimator: grpo", "gamma"), ("adv_estimator: gae", "adv_estimator"),
        ("algorithm.adv_estimator: grpo\nalgorithm.new_name: 1", "algorithm.new_name"),
        ("clip_ratio_c: 3.0", "adv_estimator"), ("advantage_estimator: gae", "advantage_estimator"),
        ("rollout_is_weights: [[1]]\nadv_estimator: grpo", "rollout_is_weights"),
    ],
)  # fmt: skip
def test_what_is_not_covered_is_refused_by_name(text, field):
    with pytest.raises(UnsupportedSetting) as error:
        read_config(text)
    assert error.value.field == field


@pytest.mark.parametrize(
    "text",
    [
        "", "   ", "[1, 2]", "nothing here", "{", "foo: 1", "a: &a [1]\nb: *a", "beta: !!python/object:os.system x", "&x",
        "beta: 0.1\nbeta: 0.2", '{"beta": 1, "beta": 2}', "beta: .inf", "beta: .nan", "beta: abc", "beta: true", "beta:",
        "delta: abc", "reward_weights: 5", "loss_type: [a]", "epsilon: 1e400\nbeta: 1", "kl_ctrl: 5\nadv_estimator: grpo",
        "eps_clip_low_high: [1]\nadvantage_estimator: rloo", "dynamic_filtering: maybe\nadvantage_estimator: rloo",
        "{" * 9000, "[" * 9000, '{"a":' * 3000, "a: " * 3000, "epsilon: 0.2", "x" * (MAX_TEXT + 1), "? [a]\n: 1", "1: 2", "- beta: 1",
        "beta: 2020-01-01", "\x00", "beta: '\ud800'", "- " * 9000, "? " * 9000, "[{" * 4000, '"' * 9001, "a=" * 9000, "--a " * 4000, "beta=" + "{" * 9000,
    ],
    ids=range(42),
)  # fmt: skip
def test_bad_texts_end_in_a_message(text):
    with pytest.raises(FieldError):
        read_config(text)


def test_hostile_texts_and_values_end_in_a_message_or_a_preset():
    for text in (*TEXTS, *FOR_RULES):
        for given in (
            str(text),
            json.dumps({"beta": text}),
            json.dumps({str(text): 1, "beta": 0.1}),
            json.dumps({"adv_estimator": text}),
        ):
            with pytest.raises(FieldError):
                read_config(given)
    estimators = {"trl": {}, "verl": {"adv_estimator": "rloo"}, "openrlhf": {"advantage_estimator": "rloo"}}
    accepted = 0
    for build, reader in READERS.items():
        for name in (*reader.names, *reader.covered):
            for value in (None, True, -1, 1e5, "x", [], [1], [[1]], {}, {"a": 1}, "1e-3"):
                try:
                    preset = read_config({**estimators[build], name: value}, build).preset()
                except FieldError:
                    continue
                accepted += 1
                method = Method("pasted", algorithm=preset.algorithm, inner_epochs=2)
                runs = train_family(chapter_task(), TrainConfig(epochs=1), {"pasted": method})
                assert runs.bands or runs.errors
                assert all(slots(preset.algorithm).values()) and preset.algorithm.estimator.worked([1.0, 0.0])
    assert accepted > 100


def test_unpacking_refuses_what_is_not_packed():
    for text in (
        "x",
        "{}",
        '{"framework": "x"}',
        '{"framework": ["trl"]}',
        '{"framework": "trl", "foo": 1}',
        '{"beta": 1}',
    ):
        with pytest.raises(FieldError):
            unpacked(text)
