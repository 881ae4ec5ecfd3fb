"""Scenes about the KL: in the log, in the loss, in the reward."""

import torch

from grpo_core.advantages import group_advantages
from grpo_core.config import TrainConfig
from grpo_core.frameworks import from_openrlhf, from_trl, from_verl
from grpo_core.kl import categorical_kl, estimator_moments, kl_loss_gradient
from grpo_core.losses import chapter_gradient
from grpo_core.messages import N_
from grpo_core.puzzles.puzzle import Chart, Scene, Series, Table, number, numbers, written
from grpo_core.task import chapter_task
from grpo_core.training import train

POLICY = (0.5, 0.25, 0.25)
REFERENCE = (0.25, 0.25, 0.5)
LOGITS = ("1", "2", "3")
GRADIENT, LOGIT = N_("gradient"), N_("logit")


def tensors() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.tensor(POLICY, dtype=torch.float64), torch.tensor(REFERENCE, dtype=torch.float64)


def kl_not_logged(config: TrainConfig, _turned) -> Scene:
    """Two tokens, the policy gives them 0.5 and 0.4 where the reference gives 0.4 and 0.5."""
    beta = config.kl_coef
    log_prob = torch.tensor([[0.5, 0.4]], dtype=torch.float64).log()
    metrics = from_trl({"beta": beta}).loss(log_prob, None, log_prob.flip(1), None, [1.0]).metrics
    run = train(chapter_task(), config)
    told = {
        "beta": beta, "default": from_trl({}).kl_coef, "epochs": config.epochs, "drift": number(run.mean_kl[0, -1]),
        "logged": f"{metrics['kl']:.4f}" if "kl" in metrics else "—", "metrics": len(metrics),
    }  # fmt: skip
    rows = [("kl", f"{metrics['kl']:.4f}" if "kl" in metrics else N_("not logged"))]
    rows += [(name, f"{value:.4f}") for name, value in metrics.items() if name == "clip_ratio/region_mean"]
    table = Table(
        (N_("metric of TRL 1.16.0"), N_("value on two tokens")), tuple(rows),
        N_("With beta {beta:g} the metric kl reads: {logged}."),
    )  # fmt: skip
    chart = Chart(
        N_("Logged or not, the policy moves away"), N_("epochs of training"), N_("KL (nats)"),
        tuple(range(config.epochs + 1)), (Series(N_("exact KL to the first policy"), numbers(run.mean_kl[0]), "kl"),),
        N_("After {epochs} epochs the exact KL is {drift:.3f} nats."),
    )  # fmt: skip
    return Scene(told, (chart,), table, config=config)


CLAMPS = {
    "TRL 1.16.0": lambda: from_trl({}),
    "TRL, use_bias_correction_kl=False": lambda: from_trl({"use_bias_correction_kl": False}),
    "verl 0.9.1, low_var_kl": lambda: from_verl({"kl_loss_type": "low_var_kl"}),
    "OpenRLHF 0.11.2, k3": lambda: from_openrlhf({"kl_estimator": "k3"}),
}


def kl_explodes(_config: TrainConfig, gap: float) -> Scene:
    found = {name: token_kl(make(), gap) for name, make in CLAMPS.items()}
    trl, plain, verl, _openrlhf = found.values()
    told = {
        "gap": gap, "trl": trl[0], "verl": verl[0], "trl_gradient": trl[1], "plain_gradient": plain[1],
        "verl_gradient": verl[1],
    }  # fmt: skip
    gaps = tuple(i / 4 for i in range(4, 61))
    lines = {"TRL 1.16.0": "second", "verl 0.9.1, low_var_kl": "first"}
    chart = Chart(
        N_("One token's KL: exp without and with a clamp"), N_("log π_ref − log π"), N_("KL of the token"), gaps,
        tuple(Series(name, tuple(token_kl(CLAMPS[name](), x)[0] for x in gaps), role) for name, role in lines.items()),
        N_("At a log ratio of {gap:g} TRL's KL is {trl:.6g}, verl's is {verl:.6g}."), log=True,
    )  # fmt: skip
    table = Table(
        (N_("k3 in float32"), "KL", N_("derivative by log π")),
        tuple((name, written(value, ".6g"), written(slope, ".6g")) for name, (value, slope) in found.items()),
        N_("At a log ratio of {gap:g} TRL's KL is {trl:.6g}, verl's is {verl:.6g}."),
    )  # fmt: skip
    return Scene(told, (chart,), table, (r"k_3 = e^{d} - 1 - d, \quad d = \log\pi_\text{ref} - \log\pi",))


def token_kl(algorithm, gap: float) -> tuple[float, float]:
    """One token's KL in float32, and its derivative by log π, where the reference gives it e^gap times as much."""
    log_prob = torch.full((1, 1), -gap, dtype=torch.float32, requires_grad=True)
    value = algorithm.kl(log_prob, torch.zeros(1, 1))
    return number(value.detach()), number(torch.autograd.grad(value.sum(), log_prob)[0])


def k3_as_a_loss(_config: TrainConfig, _turned) -> Scene:
    policy, reference = tensors()
    exact = number(categorical_kl(policy, reference))
    gradients = {
        N_("exact KL"): numbers(kl_loss_gradient(policy, reference, "exact")),
        N_("k3 as a loss"): expected_gradient(from_trl({"use_bias_correction_kl": False})),
        N_("k3 × ratio (TRL 1.16.0)"): expected_gradient(from_trl({})),
    }
    right, plain, corrected = gradients.values()
    told = {
        "exact": exact, "k3": number(estimator_moments(policy, reference, "k3")[0]),
        "right": right[0], "plain": plain[0], "corrected": corrected[0], "plain_middle": plain[1],
    }  # fmt: skip
    chart = Chart(
        N_("Used as a loss, k3 pulls in another direction"), LOGIT, N_("expected gradient"), LOGITS,
        tuple(
            Series(name, values, role)
            for (name, values), role in zip(gradients.items(), ("kl", "second", "first"), strict=True)
        ),
        N_("On the first logit: exact {right:+.4f}, k3 {plain:+.4f}, k3 times the ratio {corrected:+.4f}."), "bars",
    )  # fmt: skip
    table = Table(
        (N_("estimate"), N_("expectation"), N_("variance of one sample")),
        (
            (N_("exact KL"), exact, 0.0),
            *((kind, *map(number, estimator_moments(policy, reference, kind))) for kind in ("k1", "k2", "k3")),
        ),
        N_("The expectation of k3 is {k3:.4f}, the exact KL {exact:.4f}."), digits=4,
    )  # fmt: skip
    formulas = (
        rf"E[k_3] = \sum_a \pi_a\, k_3(a) = {told['k3']:.4f} = \text{{KL}}",
        rf"\pi_1 - \pi_{{\text{{ref}},1}} = {POLICY[0]:g} - {REFERENCE[0]:g} = {told['plain']:+.4f}",
        rf"\pi_1 \left(\log\tfrac{{\pi_1}}{{\pi_{{\text{{ref}},1}}}} - \text{{KL}}\right) = {told['right']:+.4f}",
    )
    return Scene(told, (chart,), table, formulas)


def expected_gradient(algorithm) -> tuple[float, ...]:
    """Per logit, the gradient of the algorithm's KL as a loss: autograd, averaged over what the policy samples."""
    policy, reference = tensors()
    logits = policy.log().requires_grad_()
    per_token = algorithm.kl(logits.log_softmax(-1)[:, None], reference.log()[:, None])[:, 0]
    return numbers(torch.autograd.grad((policy * per_token).sum(), logits)[0])


def silent_but_moving(config: TrainConfig, _turned) -> Scene:
    policy, reference = tensors()
    actions, advantages = torch.tensor([[0, 0, 0, 1]]), group_advantages([[1.0, 1.0, 1.0, 1.0]])
    gradient = chapter_gradient(policy.log()[None], actions, advantages, reference[None], config.kl_coef)
    told = {
        "kl_coef": config.kl_coef, "policy": number(gradient.policy.norm()), "kl": number(gradient.kl.norm()),
        "first": number(gradient.kl[0, 0]), "divergence": number(categorical_kl(policy, reference)),
    }  # fmt: skip
    chart = Chart(
        N_("The rewards say nothing, the leash pulls"), LOGIT, GRADIENT, LOGITS,
        (
            Series(N_("from the advantages"), numbers(gradient.policy[0])),
            Series(N_("from the KL"), numbers(gradient.kl[0]), "kl"),
        ),
        N_("From the advantages {policy:g}, from the KL a gradient of norm {kl:.4f}."), "bars",
    )  # fmt: skip
    table = Table(
        (LOGIT, "π", "π_ref", N_("from the KL")),
        tuple(zip(LOGITS, POLICY, REFERENCE, numbers(gradient.kl[0]), strict=True)),
        N_("From the advantages {policy:g}, from the KL a gradient of norm {kl:.4f}."), digits=4,
    )  # fmt: skip
    formulas = (
        r"\frac{\partial L}{\partial z_k} = \text{kl\_coef} \cdot \pi_k \left(\log\tfrac{\pi_k}{\pi_{\text{ref},k}} - \text{KL}\right)",
        rf"{config.kl_coef:g} \cdot {POLICY[0]:g} \cdot ({number((policy / reference).log()[0]):.4f} - {told['divergence']:.4f}) = {told['first']:.4f}",
    )  # fmt: skip
    return Scene(told, (chart,), table, formulas)


DIVERGENCES = (0.4, 0.1, 0.2, 0.1)
REWARDS = {"mixed": (1.0, 1.0, 0.0, 0.0), "silent": (1.0, 1.0, 1.0, 1.0)}


def kl_in_the_reward(_config: TrainConfig, kl_coef: float) -> Scene:
    """A mixed and a silent group whose answers of one token have these KLs."""
    kl = [[[value] for value in DIVERGENCES]]
    in_loss = from_verl({"adv_estimator": "grpo"})
    in_reward = from_verl({"adv_estimator": "grpo", "use_kl_in_reward": True, "kl_ctrl": {"kl_coef": kl_coef}})
    beside = {name: numbers(in_loss.advantages([group])[0]) for name, group in REWARDS.items()}
    inside = {name: numbers(in_reward.advantages([group], kl=kl)[0]) for name, group in REWARDS.items()}
    told = {
        "kl_coef": kl_coef, "right": beside["mixed"][0], "far": inside["mixed"][0], "near": inside["mixed"][1],
        "silent": beside["silent"][0], "silent_far": inside["silent"][0], "silent_near": inside["silent"][1],
        "most": max(DIVERGENCES), "least": min(DIVERGENCES),
    }  # fmt: skip
    answers = ("1", "2", "3", "4")
    titles = {
        "mixed": N_("A mixed group: the KL tells equal rewards apart"),
        "silent": N_("A silent group: the KL is all there is to compare"),
    }
    alts = {
        "mixed": N_("Two right answers: {right:+.3f} each with the KL in the loss; {far:+.3f} and {near:+.3f} in the reward."),
        "silent": N_("Silent group: {silent:g} with the KL in the loss; {silent_far:+.3f} and {silent_near:+.3f} in the reward."),
    }  # fmt: skip
    charts = tuple(
        Chart(
            titles[name], N_("answer"), N_("advantage"), answers,
            (
                Series("use_kl_loss", beside[name]),
                Series(
                    "use_kl_in_reward", inside[name], "kl",
                    tuple(
                        f"{reward:g} − {kl_coef:g} · {value:g} → {written(advantage, '+.3f')}"
                        for reward, value, advantage in zip(group, DIVERGENCES, inside[name], strict=True)
                    ),
                ),
            ),
            alts[name], "bars",
        )
        for name, group in REWARDS.items()
    )  # fmt: skip
    cells = (
        tuple(
            f"{reward:g} → {written(advantage, '+.3f')}"
            for reward, advantage in zip(REWARDS[name], inside[name], strict=True)
        )
        for name in REWARDS
    )
    table = Table(
        (N_("reward → advantage"), "KL", N_("mixed group"), N_("silent group")),
        tuple(zip(answers, map("{:g}".format, DIVERGENCES), *cells, strict=True)),
        N_("The four answers with their KL, and reward and advantage in either group with the KL in the reward."),
    )  # fmt: skip
    formulas = (
        rf"r_1 - \text{{kl\_coef}} \cdot \text{{KL}}_1 = 1 - {kl_coef:g} \cdot {DIVERGENCES[0]:g} = {1 - kl_coef * DIVERGENCES[0]:g}",
    )
    return Scene(told, charts, table, formulas)
