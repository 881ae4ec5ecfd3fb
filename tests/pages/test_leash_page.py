"""KL leash: its figures hold the core's numbers, for every group size and reference."""

import json

import numpy as np
import pytest
import torch

from grpo_core import (
    TrainConfig,
    categorical_kl,
    chapter_task,
    estimate_kl,
    estimator_moments,
    kl_loss_gradient,
    measure_rest,
    resting_points,
    resting_probability,
    train,
)
from tests.pages.reading import charts, numbers, open_page, shown, trace


def test_each_coefficient_is_its_own_run():
    page = open_page("kl_leash", epochs="15", kl_coef="0.3", seed="7")
    tradeoff, simplex = charts(page)[:2]
    points = tradeoff["data"][1]
    coefficients = numbers(points["customdata"])
    assert coefficients == [0, 0.3, 0.5, 1, 2]
    seeds = int(points["name"].split()[2])
    for place, kl_coef in enumerate(coefficients):
        history = train(chapter_task(), TrainConfig(epochs=15, kl_coef=kl_coef), seeds=[7, *range(seeds - 1)])
        assert numbers(points["x"])[place] == pytest.approx(history.mean_kl[:, -1].quantile(0.5).item())
        path = simplex["data"][2 * place]
        target = history.probabilities[0, :, 0, 0].tolist()
        assert numbers(path["a"]) == pytest.approx(target)


@pytest.mark.parametrize(("group_size", "reference", "start"), [(4, "1/3", 1 / 3), (64, "0.01", 0.01)])
def test_predicted_and_measured_resting_points(group_size, reference, start):
    chart = charts(open_page("kl_leash", group_size=str(group_size), reference=reference))[2]
    for name, scale in (("with std", "std"), ("without std", "none")):
        line, points = trace(chart, name), trace(chart, f"{name}: measured")
        predicted = resting_probability(np.array(numbers(line["x"])), group_size, scale, start)
        assert numbers(line["y"]) == pytest.approx(predicted.tolist())
        assert numbers(points["y"]) == pytest.approx(
            measure_rest(numbers(points["x"]), group_size, scale, start).probability.tolist()
        )
    further = [
        p for k in numbers(trace(chart, "with std")["x"]) for p in resting_points(k, group_size, "std", start)[1:]
    ]
    shown = {
        name: [t for t in chart["data"] if t["name"] == f"with std: {name}"] for name in ("holds too", "does not hold")
    }
    assert sum(len(numbers(t["y"])) for traces in shown.values() for t in traces) == len(further)
    assert bool(further) == (start == 0.01)


def test_the_resting_equation_comes_out():
    formulas = [element.value.strip("$\n ") for element in open_page("kl_leash", kl_coef="1").get("latex")]
    distance = float(formulas[3].rpartition("= ")[2])
    assert formulas[3] == f"d = 0.945 - (-0.693) = {distance:.3f}"
    push, right = formulas[4].split(" = ")
    kl_coef, p, q, d = map(float, right.split(r" \cdot "))
    assert (kl_coef, d) == (1, distance) and p + q == pytest.approx(1)
    assert kl_coef * p * q * d == pytest.approx(float(push), abs=2e-4)


def test_estimates_are_those_of_the_run_s_last_policy():
    values, _, gradients = charts(open_page("kl_leash", epochs="8", prompt="2", seed="3"))[3:]
    task = chapter_task()
    policy = train(task, TrainConfig(epochs=8, seed=3)).probabilities[0, -1, 1]
    reference = task.reference_policy[1]
    for kind in ("k1", "k2", "k3"):
        assert numbers(trace(values, kind)["y"]) == pytest.approx(
            estimate_kl((policy / reference).log(), kind).tolist()
        )
    assert numbers(trace(gradients, "k3")["y"]) == pytest.approx((policy - reference).tolist())
    exact = kl_loss_gradient(policy, reference, "exact").tolist()
    assert numbers(trace(gradients, "exact, k2")["y"]) == pytest.approx(exact)
    assert f"KL {categorical_kl(policy, reference).item():.3f}" in json.dumps(values["layout"]["annotations"])


def test_the_question_is_answered_by_the_theory():
    page = open_page("kl_leash")
    page.radio(key="kl_leash_prediction").set_value(0).run()
    assert len(page.success) == 1 and "0.720" in page.success[0].value and "0.514" in page.success[0].value


def test_what_larger_steps_do_is_said_from_the_numbers():
    further, nearer = (shown(open_page("kl_leash", reference=text)) for text in ("1/3", "0.01"))
    assert "Here the larger steps rest further from the reference" in further
    assert "Here the larger steps rest nearer the reference" in nearer


def test_the_mean_of_samples_keeps_k2_s_bias_and_loses_its_spread():
    means = charts(open_page("kl_leash", epochs="8", prompt="2", seed="3"))[4]
    policy, reference = (
        train(chapter_task(), TrainConfig(epochs=8, seed=3)).probabilities[0, -1, 1],
        torch.full((3,), 1 / 3, dtype=torch.float64),
    )
    for kind in ("k1", "k2", "k3"):
        expectation, variance = (part.item() for part in estimator_moments(policy, reference, kind))
        drawn = trace(means, kind)
        assert numbers(drawn["y"]) == pytest.approx([expectation] * 6)
        assert numbers(drawn["error_y"]["array"]) == pytest.approx([(variance / 4**n) ** 0.5 for n in range(6)])
