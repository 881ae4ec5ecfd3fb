"""The loss of an algorithm assembled from its slots, as LaTeX: in symbols, and its advantage with a group's numbers."""

import math

from grpo_core import FieldError
from grpo_core.frameworks import Algorithm, Estimator
from grpo_core.frameworks.surrogates import (
    Cispo,
    Clip,
    GeoMean,
    KlCov,
    LogProb,
    Quadratic,
    Sapo,
    TrustRegion,
    Vespo,
)
from ui.numbers import number, tex, tex_signed

BASELINES = {
    "none": "r_i",
    "group mean": r"r_i - \bar r",
    "leave-one-out": r"r_i - \frac{1}{G-1}\sum_{j\ne i} r_j",
    "batch mean": r"r_i - \bar r_B",
    "length-weighted mean": r"r_i - \frac{\sum_j |o_j|\, r_j}{\sum_j |o_j|}",
    "second best": r"\mathbf{1}[r_i = \max r]\,\big(r_i - \max_{j\ne i} r_j\big)",
    "best of k": r"\bar R_{k \ni i} - \bar R_k",
}
SCALES = {
    "group std": r"\sigma_r",
    "batch std": r"\sigma_B",
    "group mean": r"\bar r",
    "share of non-zero rewards": r"P(r \ne 0)",
}
AVERAGES = {
    "token-mean": r"\frac{1}{\sum_i |o_i|}\sum_{i,t}",
    "token-sum": r"\sum_{i,t}",
    "seq-mean-token-mean": r"\frac1B\sum_i\frac{1}{|o_i|}\sum_t",
    "seq-mean-token-sum": r"\frac1B\sum_i\sum_t",
}
OLD = r"\pi_\text{old}"


def formula(algorithm: Algorithm) -> list[str]:
    """The advantage, the ratio where there is one, and the loss."""
    lines = advantage_lines(algorithm.estimator, algorithm.token_kl.estimate)
    if not isinstance(algorithm.surrogate, LogProb | Quadratic | None):
        lines.append(ratio(algorithm))
    return [*lines, loss(algorithm)]


def advantage_lines(estimator: Estimator, kl: str) -> list[str]:
    lines = []
    if estimator.kl_in == "reward" and estimator.kl_coef:
        lines.append(rf"r_i \leftarrow r_i - {tex(number(estimator.kl_coef))}\,\text{{{kl}}}_i")
    name = r"\tilde A_i" if estimator.whitening else "A_i"
    above = BASELINES[estimator.baseline]
    scale = SCALES.get(estimator.scale)
    if scale == r"\sigma_r" and estimator.baseline == "best of k":
        scale = r"\sigma_{R_k}"
    if scale is None:
        lines.append(f"{name} = {above}")
    elif estimator.scale == "share of non-zero rewards":
        lines.append(rf"{name} = \frac{{{above}}}{{{scale}}}")
    else:
        lines.append(rf"{name} = \frac{{{above}}}{{{scale} + {tex(number(estimator.epsilon))}}}")
    if estimator.kl_in == "return" and estimator.kl_coef:
        lines.append(rf"{name} \leftarrow {name} - {tex(number(estimator.kl_coef))}\,\text{{{kl}}}_i")
    if estimator.whitening == "token mean":
        lines.append(r"A_i = \tilde A_i - \text{mean}(\tilde A)")
    elif estimator.whitening:
        lines.append(r"A_i = \frac{\tilde A_i - \text{mean}(\tilde A)}{\text{std}(\tilde A)}")
    return lines


def ratio(algorithm: Algorithm) -> str:
    token = rf"\frac{{\pi(o_{{i,t}})}}{{{OLD}(o_{{i,t}})}}"
    whole = rf"\Big(\frac{{\pi(o_i)}}{{{OLD}(o_i)}}\Big)"
    if isinstance(algorithm.surrogate, Vespo):
        return rf"\rho = {whole}"
    if isinstance(algorithm.surrogate, GeoMean) or algorithm.ratio.level == "sequence":
        return rf"\rho = {whole}^{{1/|o_i|}}"
    if algorithm.ratio.level == "sequence forward":
        return rf"\rho = \text{{sg}}{whole}^{{1/|o_i|}} \cdot \frac{{\pi(o_{{i,t}})}}{{\text{{sg}}\,\pi(o_{{i,t}})}}"
    return rf"\rho = {token}"


def loss(algorithm: Algorithm) -> str:
    aggregation = algorithm.aggregation
    average = AVERAGES[aggregation.kind]
    if aggregation.length is not None:
        length = "T" if aggregation.length == "width" else number(aggregation.length)
        average = rf"\frac{{1}}{{B \cdot {length}}}\sum_i\sum_t"
    lines = [rf"\text{{loss}} = &-{average}"]
    if algorithm.surrogate is not None:
        lines += [rf"&\quad {line}" for line in objective(algorithm.surrogate)]
    if algorithm.kl_coef:
        kind = algorithm.token_kl.estimate
        kl = r"\text{KL}(\pi\,\|\,\pi_\text{ref})" if kind == "exact" else rf"\text{{{kind}}}"
        if algorithm.token_kl.corrected:
            kl = rf"\rho\,{kl}"
        lines.append(rf"&+ {tex(number(algorithm.kl_coef))}\cdot {kl}")
    return r"\begin{aligned} " + r" \\ ".join(lines) + r" \end{aligned}"


def objective(surrogate) -> list[str]:
    """What is maximised for one token, in lines that fit a phone."""
    if isinstance(surrogate, Clip):
        low, high = tex(number(1 - surrogate.low)), tex(number(1 + surrogate.high))
        free = r"\rho" if surrogate.ceiling is None else rf"\min(\rho, {number(surrogate.ceiling)})"
        lines = [rf"\min\big({free}\,A,\ \text{{clip}}(\rho, {low}, {high})\,A\big)"]
        if surrogate.dual is not None:
            lines.append(rf"(A < 0:\ \ge {number(surrogate.dual)}\,A)")
        return lines
    if isinstance(surrogate, Cispo):
        return [
            rf"\text{{sg}}\big(\text{{clip}}(\rho, {number(surrogate.low)}, {number(surrogate.high)})\big)\,A\,\log\pi"
        ]
    if isinstance(surrogate, Sapo):
        return [
            r"\tfrac{4}{\tau}\,\text{sigmoid}\big(\tau(\rho - 1)\big)\,A",
            rf"\tau = {surrogate.positive:.3g}\ (A < 0:\ {surrogate.negative:.3g})",
        ]
    if isinstance(surrogate, GeoMean):
        low, high = number(-surrogate.low), number(surrogate.high)
        return [rf"\exp\tfrac{{1}}{{|o_i|}}\sum_t \text{{clip}}(\log\rho_t, {low}, {high})\;A"]
    if isinstance(surrogate, Vespo):
        return [r"\text{sg}\big(e^{\lambda + k\log\rho - \lambda\rho}\big)\,A\,\log\pi"]
    if isinstance(surrogate, Quadratic):
        return [rf"A\,\log\pi - \tfrac{{{number(surrogate.beta)}}}{{2}}(\log\pi - \log {OLD})^2"]
    if isinstance(surrogate, TrustRegion):
        return [
            rf"\mathbf{{1}}[d(\pi, {OLD}) \le \delta]\ \text{{sg}}(\rho)\,A\,\log\pi",
            rf"\delta = {number(surrogate.low)},\ {number(surrogate.high)}",
        ]
    if isinstance(surrogate, KlCov):
        return [rf"\rho\,A - {number(surrogate.coef)}\,|\log\rho|\ \mathbf{{1}}[\text{{cov}}]"]
    return [r"A\,\log\pi"] if isinstance(surrogate, LogProb) else [r"\rho\,A"]


def advantage_numbers(estimator: Estimator, rewards: list[float]) -> list[str]:
    """The best answer's advantage with this group's numbers; nothing where the algorithm refuses the group."""
    try:
        worked = estimator.worked(rewards)
    except FieldError:
        return []
    place = worked.index + 1
    if worked.divisor is None:
        return [rf"A_{{{place}}} = {tex_signed(worked.advantage, 2)}"]
    name = rf"\tilde A_{{{place}}}" if estimator.whitening else f"A_{{{place}}}"
    above = f"{digits(worked.value)} - {digits(worked.baseline)}".replace("- -", "+ ")
    if estimator.baseline == "none":
        above = digits(worked.value)
    if estimator.scale == "none":
        lines = [rf"{name} = {above} = {tex_signed(worked.scaled, 3)}"]
    else:
        lines = [rf"{name} = \frac{{{above}}}{{{digits(worked.divisor)}}} = {tex_signed(worked.scaled, 3)}"]
    if not math.isclose(worked.advantage, worked.scaled, abs_tol=5e-4):
        lines.append(rf"A_{{{place}}} = {tex_signed(worked.advantage, 3)}")
    return lines


def digits(value: float) -> str:
    """Four digits, or the number as it was typed where that is shorter."""
    return tex(min(number(value), f"{value:.4g}", key=len))
