"""The three losses as formulas, in symbols and with the numbers of one seed's first epoch."""

from dataclasses import dataclass, replace

import streamlit as st
import torch

from grpo_core import METHODS, one_update, train_method
from grpo_core.method_training import clipped_surrogate, preference_update
from ui.frame import Page, choose_prompt
from ui.i18n import escape
from ui.numbers import number, tex, tex_signed
from ui.update_steps import advantage_formula


@dataclass(frozen=True)
class Example:
    """One answer of the first epoch under PPO and GRPO, and one of DPO's pairs after it."""

    prompt: int
    sample: int
    action: int
    reward: float
    mean: float
    std: float
    group_advantage: float
    advantage: float
    old: float
    new: float
    objective: float
    clipped: bool
    pair: tuple[int, int] | None
    log_ratios: tuple[float, float] = (0.0, 0.0)
    loss: float = 0.0


def first_epoch(page: Page) -> Example:
    """The best answer of the chosen prompt's first group, before PPO's last update on it."""
    ppo, dpo = METHODS["PPO"], METHODS["DPO"]
    group = one_update(page.task, page.config).group
    prompt = page.prompt
    sample = int(group.rewards[prompt].argmax())
    action = int(group.actions[prompt, sample])
    one = replace(page.config, epochs=1)
    run = train_method(page.task, one, replace(ppo, inner_epochs=ppo.inner_epochs - 1))
    old, new = run.log_probabilities[0, :, prompt, action]
    advantage = group.rewards[prompt, sample] - run.values[0, 0, prompt]
    surrogate = clipped_surrogate(new, old, advantage, ppo.clip)

    data = train_method(page.task, page.config, dpo)
    counts = data.pairs[0]
    pair, log_ratios, loss = None, (0.0, 0.0), 0.0
    if counts[prompt].any():
        chosen, rejected = divmod(int(counts[prompt].argmax()), counts.shape[-1])
        pair, after = (chosen, rejected), data.log_probabilities[0, 1]
        ratio = (after - page.task.reference_policy.log())[prompt]
        log_ratios = (ratio[chosen].item(), ratio[rejected].item())
        only = torch.zeros_like(counts)
        only[prompt, chosen, rejected] = 1
        loss = preference_update(after, only, page.task.reference_policy, dpo.beta).loss.item()
    return Example(
        prompt, sample + 1, action, group.rewards[prompt, sample].item(), group.mean[prompt].item(),
        group.std[prompt].item(), group.advantages[prompt, sample].item(), advantage.item(), old.exp().item(),
        new.exp().item(), surrogate.objective.item(), bool(surrogate.clipped), pair, log_ratios, loss,
    )  # fmt: skip


def draw_formulas(page: Page) -> None:
    choose_prompt(page)
    example = first_epoch(page)
    st.caption(where(page, example))
    for name, formulas, note in blocks(page, example):
        st.markdown(f"#### {name}")
        for formula in formulas:
            st.latex(formula)
        st.caption(note)


def where(page: Page, example: Example) -> str:
    """Which answer the numbers belong to."""
    text = page.gettext(
        "Seed {seed}, first epoch, answer {number} to “{prompt}”: {answer}. PPO before its last update on it."
    )
    return text.format(
        seed=page.config.seed, number=example.sample, prompt=escape(page.task.prompts[example.prompt]),
        answer=escape(page.task.actions[example.action]),
    )  # fmt: skip


def blocks(page: Page, example: Example) -> list[tuple[str, list[str], str]]:
    """Of each method its name, its formulas, and what the numbers say."""
    _ = page.gettext
    if example.advantage == 0:
        clip = _("The reward is the value: this sample does not push.")
    elif example.clipped:
        clip = _("The clip holds it: this sample pushes no further.")
    else:
        clip = _("Not clipped: this sample still pushes.")
    if example.pair is None:
        data = _("This prompt has no pairs with this seed: DPO has nothing to learn from.")
    else:
        chosen, rejected = (escape(page.task.actions[action]) for action in example.pair)
        data = _(
            "The pair {chosen} > {rejected} of the same prompt, after the first update; the loss began at log 2 = 0.6931."
        )
        data = data.format(chosen=chosen, rejected=rejected)
    group = (
        _("Its group's mean and std take the place of V.")
        if example.group_advantage
        else _("A silent group teaches nothing.")
    )
    return [
        ("PPO", ppo_formulas(example), clip),
        ("DPO", dpo_formulas(example), data),
        ("GRPO", grpo_formulas(page, example), group),
    ]


def ppo_formulas(example: Example) -> list[str]:
    clip, reward = METHODS["PPO"].clip, example.reward
    ratio = example.new / example.old
    nearest = min(max(ratio, 1 - clip), 1 + clip)
    parts = (
        rf"{ratio:.3f} \cdot {example.advantage:.2f}",
        rf"{nearest:.3f} \cdot {example.advantage:.2f}",
    )
    return [
        r"\begin{aligned} \text{loss} = &-\text{mean}\,\min\big(\rho A,\ \text{clip}_{1\pm c}(\rho)\,A\big) \\"
        r" &+ \text{kl\_coef}\cdot\text{KL}(\pi\,\|\,\pi_\text{ref}) \end{aligned}",
        rf"A = r - V = {tex(number(reward))} - {tex(number(reward - example.advantage))} = {tex_signed(example.advantage, 2)}",
        rf"\rho = \frac{{\pi(a)}}{{\pi_\text{{old}}(a)}} = \frac{{{example.new:.4f}}}{{{example.old:.4f}}} = {ratio:.3f}",
        rf"\begin{{aligned}} &\min({parts[0]},\ {parts[1]}) \\ &= {tex_signed(example.objective, 3)} \end{{aligned}}",
    ]  # fmt: skip


def dpo_formulas(example: Example) -> list[str]:
    beta = METHODS["DPO"].beta
    symbols = [
        r"\begin{aligned} \text{loss} &= -\text{mean}\,\log\sigma(m) \\ m &= \beta\,(h_\text{chosen} - h_\text{rejected}) \end{aligned}",
        r"h(a) = \log\frac{\pi(a)}{\pi_\text{ref}(a)}",
    ]
    if example.pair is None:
        return symbols
    chosen, rejected = example.log_ratios
    margin = beta * (chosen - rejected)
    return [
        *symbols,
        rf"\begin{{aligned}} m &= {beta:g}\cdot({tex_signed(chosen)} - ({tex_signed(rejected)})) \\"
        rf" &= {tex_signed(margin)} \end{{aligned}}",
        rf"-\log\sigma(m) = -\log\sigma({tex_signed(margin)}) = {example.loss:.4f}",
    ]


def grpo_formulas(page: Page, example: Example) -> list[str]:
    loss = (
        r"\begin{aligned} \text{loss} = &-\text{mean}\big(\log\pi(a)\cdot A\big) \\"
        r" &+ \text{kl\_coef}\cdot\text{KL}(\pi\,\|\,\pi_\text{ref}) \end{aligned}"
    )
    symbols = r"A_i = \frac{r_i - \text{mean}(r)}{\text{std}(r) + \epsilon}"
    if example.group_advantage == 0:
        return [loss, symbols, r"\text{std}(r) = 0 \;\Rightarrow\; A_i = 0"]
    numbers = advantage_formula(
        example.sample, example.reward, example.mean, example.std, page.config.epsilon, example.group_advantage
    )
    return [loss, symbols, numbers]
