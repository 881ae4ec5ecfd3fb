"""The six steps of one update as formulas with this group's numbers in them."""

from itertools import accumulate

from grpo_core import UpdateStep, categorical_kl
from grpo_core.messages import N_
from grpo_core.optimizers import corrected_moments
from grpo_core.tasks import RulePart
from ui.frame import Page
from ui.labels import labels
from ui.numbers import fitting, number, tex, tex_signed

STEPS = (
    N_("Sample: answers drawn from the policy"),
    N_("Reward: the rule scores each answer"),
    N_("Advantage: each reward against its group"),
    N_("Loss: log-probability times advantage, plus the leash"),
    N_("Gradient: which logit goes which way"),
    N_("New policy: one step of the optimizer"),
)
SHOWN_TERMS = 4
"""Of a larger group only the first are written out, so that a phone shows the line whole."""
SHOWN_SUMS = 3
"""The same for the sums of the prompts."""
LINE = 28
"""Characters of texts that fit into one line."""


def formulas(page: Page, update: UpdateStep, step: int) -> list[str]:
    """LaTeX of step 1 to 6: in symbols, then with the numbers of the chosen prompt."""
    return (_sample, _reward, _advantage, _loss, _gradient, _new_policy)[step - 1](page, update)


def _sample(page: Page, update: UpdateStep) -> list[str]:
    names = labels(page.task.actions, 12)
    drawn = [names[action] for action in update.group.actions[page.prompt].tolist()]
    fits = sum(total <= LINE for total in accumulate(map(len, drawn)))
    return [
        r"a_1, \dots, a_G \sim \pi",
        r"\pi = (" + _listed([f"{value:.3f}" for value in update.before[page.prompt].tolist()]) + ")",
        "a = " + _listed([rf"\text{{{_tex(name)}}}" for name in drawn], fits),
    ]


def _reward(page: Page, update: UpdateStep) -> list[str]:
    rewards = update.group.rewards[page.prompt].tolist()
    shown = r"r = " + _listed([tex(number(reward)) for reward in rewards])
    if page.rewards is not None:
        typed = page.gettext("typed by hand")
        return [rf"r_i = \text{{{typed}}}", shown]
    parts = page.rule_task.rules[page.prompt]
    if len(parts) > 1 or parts[0].weight != 1:
        terms = [rf"{tex(number(part.weight))} \cdot {_rule(part)}" for part in parts]
        return [("r_i = " if i == 0 else "{} + ") + term for i, term in enumerate(terms)] + [shown]
    if parts[0].rule != "exact_match":
        return [f"r_i = {_rule(parts[0])}", shown]
    target = _tex(*labels([parts[0].target], 16))
    return [
        rf"r_i = 1 \text{{ if }} a_i = \text{{{target}}} \text{{ else }} 0" if page.lang == "en"
        else rf"r_i = 1 \text{{（当 }} a_i = \text{{{target}}}\text{{），否则 }} 0",
        shown,
    ]  # fmt: skip


def _advantage(page: Page, update: UpdateStep) -> list[str]:
    mean, std = update.group.mean[page.prompt].item(), update.group.std[page.prompt].item()
    advantages = update.group.advantages[page.prompt].tolist()
    reward = update.group.rewards[page.prompt, 0].item()
    first = (
        r"\text{std}(r) = 0 \;\Rightarrow\; A_i = 0"
        if update.group.silent[page.prompt]
        else advantage_formula(1, reward, mean, std, page.config.epsilon, advantages[0])
    )
    return [
        r"A_i = \frac{r_i - \text{mean}(r)}{\text{std}(r) + \epsilon}",
        first,
        r"A = " + _listed([tex_signed(a, 3) for a in advantages]),
    ]


def _loss(page: Page, update: UpdateStep) -> list[str]:
    policy, kl, total = (term.item() for term in update.loss)
    group = update.group
    sums = (update.before.gather(-1, group.actions).log() * group.advantages).sum(-1).tolist()
    written = sums if len(sums) <= SHOWN_SUMS else sums[: SHOWN_SUMS - 1]
    shown = " ".join(tex_signed(value, 3) for value in written) + (r" \dots" if len(written) < len(sums) else "")
    divergence = categorical_kl(update.before, page.task.reference_policy).mean().item()
    return [
        r"L_\text{policy} = -\frac{1}{P\,G} \sum_p \sum_i \log \pi(a_i)\,A_i",
        rf"{{}} = -\frac{{{shown}}}{{{group.actions.numel()}}} = {tex_signed(policy)}",
        r"L_\text{KL} = \text{kl\_coef}\cdot\text{KL}(\pi\|\pi_\text{ref})",
        rf"{{}} = {tex(number(page.config.kl_coef))} \cdot {divergence:.4f} = {tex_signed(kl)}",
        rf"\text{{loss}} = {tex_signed(policy)} {tex_signed(kl)} = {tex_signed(total)}",
    ]


def _gradient(page: Page, update: UpdateStep) -> list[str]:
    k = int(page.task.is_target[page.prompt].int().argmax())
    group = update.group
    taken = (group.actions[page.prompt] == k).double()
    pushed = (group.advantages[page.prompt] * taken).sum().item()
    total = group.advantages[page.prompt].sum().item()
    probability = update.before[page.prompt, k].item()
    count = len(page.task.prompts) * len(taken)
    policy, kl = update.gradient.policy[page.prompt, k].item(), update.gradient.kl[page.prompt, k].item()
    return [
        rf"k = \text{{{_tex(labels(page.task.actions, 24)[k])}}}",
        r"\frac{\partial L_\text{policy}}{\partial z_k} = -\frac{1}{P\,G} \sum_i A_i\,(1[a_i = k] - \pi_k)",
        rf"{{}} = -\frac{{{tex_signed(pushed, 2)} - {probability:.3f} \cdot ({tex_signed(total, 2)})}}{{{count}}} = {tex_signed(policy)}",
        r"\frac{\partial L_\text{KL}}{\partial z_k} = \frac{\text{kl\_coef}}{P}\,\pi_k\left(\log\frac{\pi_k}{\pi_{\text{ref},k}} - \text{KL}\right)",
        rf"\frac{{\partial L_\text{{KL}}}}{{\partial z_k}} = {tex_signed(kl)}",
        rf"\frac{{\partial\,\text{{loss}}}}{{\partial z_k}} = {tex_signed(policy)} {tex_signed(kl)} = {tex_signed(policy + kl)}",
    ]


def _new_policy(page: Page, update: UpdateStep) -> list[str]:
    k = int(page.task.is_target[page.prompt].int().argmax())
    change = update.logit_change[page.prompt, k].item()
    gradient = update.gradient.total[page.prompt, k].item()
    before, after = update.before[page.prompt, k].item(), update.after[page.prompt, k].item()
    rate = tex(number(page.config.learning_rate))
    if page.config.optimizer == "sgd":
        symbols = r"z_k \leftarrow z_k - \text{learning\_rate} \cdot g_k"
        step = rf"{{}} = z_k - {rate} \cdot ({tex_signed(gradient)})"
    else:
        momentum, square = (moment[0, page.prompt, k].item() for moment in corrected_moments(update.state))
        fraction = rf"\frac{{{tex(f'{momentum + 0.0:.4g}')}}}{{\sqrt{{{tex(f'{square:.4g}')}}} + 10^{{-8}}}}"
        symbols = r"z_k \leftarrow z_k - \text{learning\_rate} \cdot \frac{\hat m_k}{\sqrt{\hat v_k} + 10^{-8}}"
        step = rf"{{}} = z_k - {rate} \cdot {fraction}"
    return [
        symbols,
        step,
        rf"{{}} = z_k {tex_signed(change)}",
        rf"\pi_k = \text{{softmax}}(z)_k:\quad {before:.3f} \rightarrow {after:.3f}",
    ]


def advantage_formula(i: int, reward: float, mean: float, std: float, epsilon: float, advantage: float) -> str:
    """The advantage of sample i with its numbers, which come out also for rewards that are close together."""
    above = rf"{tex(number(reward))} - {tex(fitting(mean, std, 3))}"
    return rf"A_{{{i}}} = \frac{{{above}}}{{{tex(fitting(std, std, 3))} + {tex(number(epsilon))}}} = {tex_signed(advantage, 3)}"


def _rule(part: RulePart) -> str:
    """The rule's reward as a function of the answer."""
    shows = part.rule == "number_equal" and len(part.target) <= 12
    target = rf",\ \text{{{_tex(part.target)}}}" if shows else ""
    return rf"\text{{{_tex(part.rule)}}}(a_i{target})"


def _listed(parts: list[str], fits: int = SHOWN_TERMS) -> str:
    shown = max(1, min(SHOWN_TERMS, fits))
    more = r",\ \dots" if len(parts) > shown else ""
    return ",\\ ".join(parts[:shown]) + more


_TEX = {character: "\\" + character for character in "{}$%#&_"} | {
    "\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
}  # fmt: skip


def _tex(text: str) -> str:
    """A text inside `\\text{}` as it is: it must not become LaTeX."""
    return "".join(
        _TEX.get(character) or (character if character.isalnum() or character in " .,;:?!+-*/=<>|()[]'\"@…·" else " ")
        for character in text
    )
