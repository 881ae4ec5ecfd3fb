"""The chance of a silent group as a formula with the numbers of one prompt, before training."""

import streamlit as st

from grpo_core import TrainingHistory

_PER_LINE = 3
"""Terms side by side on a phone."""


def draw_chance(history: TrainingHistory, prompt: int) -> None:
    """A term for each level of reward, the largest first."""
    policy, rewards = history.probabilities[0, 0, prompt], history.task.rewards[prompt]
    size, chance = history.config.group_size, history.silent_probability[0, 0, prompt].item()
    levels = [policy[rewards == level].sum().item() for level in rewards.unique().flip(0)]
    if history.task.is_binary:
        st.latex(r"P(\text{silent}) = p^G + (1 - p)^G")
    else:
        st.latex(r"P(\text{silent}) = \sum_{r} P(r)^G")
    terms = [f"{level:.3f}^{{{size}}}" for level in levels]
    lines = [" + ".join(terms[start : start + _PER_LINE]) for start in range(0, len(terms), _PER_LINE)]
    total = r" \\ {} + ".join(lines) + f" = {chance:.4f}"
    st.latex(r"\begin{gathered}" + total + r"\end{gathered}")
