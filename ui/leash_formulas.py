"""The leash's formulas, in symbols and with this page's numbers."""

import math

import streamlit as st

from grpo_core import estimate_kl, expected_push, resting_probability


def draw_resting_equation(kl_coef: float, group_size: int, reference: float) -> None:
    """Push and pull at the resting point with std, each side computed on its own."""
    p = resting_probability(kl_coef, group_size, "std", reference)
    st.latex(r"E[\text{push}](p) = \text{kl\_coef} \cdot p\,(1-p) \cdot d")
    st.latex(r"d = \text{logit}(p) - \text{logit}(p_\text{ref})")
    st.latex(rf"G = {group_size},\quad \text{{kl\_coef}} = {kl_coef:g},\quad p = {p:.4f}")
    if 0 < p < 1:
        here, start = math.log(p / (1 - p)), math.log(reference / (1 - reference))
        st.latex(rf"d = {here:.3f} - ({start:.3f}) = {here - start:.3f}")
        push = expected_push(p, group_size)
        st.latex(rf"{push:.4f} = {kl_coef:g} \cdot {p:.4f} \cdot {1 - p:.4f} \cdot {here - start:.3f}")


def draw_estimates(policy, reference) -> None:
    """k1, k2 and k3 of the likeliest action, from its probabilities [A] under both policies."""
    action = int(policy.argmax())
    x = (policy / reference).log()[action]
    k1, k2, k3 = (estimate_kl(x, kind).item() for kind in ("k1", "k2", "k3"))
    for symbols, numbers in (
        (
            r"k_1 = x = \log\frac{\pi(a)}{\pi_\text{ref}(a)}",
            rf"\log\frac{{{policy[action]:.3f}}}{{{reference[action]:.3f}}} = {k1:.3f}",
        ),
        (r"k_2 = \tfrac12 x^2", f"{k2:.3f}"),
        (r"k_3 = e^{-x} - 1 + x", f"{math.exp(-k1):.3f} - 1 + {k1:.3f} = {k3:.3f}"),
    ):
        st.latex(symbols)
        st.latex("= " + numbers)
