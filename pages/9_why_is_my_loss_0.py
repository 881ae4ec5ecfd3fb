"""Why is my loss 0? What people really ask, each question with a scene that answers it."""

from dataclasses import replace

import streamlit as st

from grpo_core.puzzles import ratio_loss
from ui.frame import open_page
from ui.puzzle_view import choose_puzzle, draw_puzzle
from ui.question import ask

page = open_page("why_is_my_loss_0")
_ = page.gettext

st.markdown(page.prose("intro"))
left, right = st.columns([2, 5], gap="medium")
with left:
    choose_puzzle(page)
with right:
    draw_puzzle(page)


def answer() -> tuple[int, str]:
    history, loss = ratio_loss(page.task, replace(page.config, kl_coef=0.0))
    change = loss[-1].item() - loss[0].item()
    text = _(
        "From {first:.4f} to {last:.4f}, at most {largest:.4f} from 0; the mean reward went from {low:.3f} to {high:.3f}."
    )
    return 1 if abs(change) < 1e-9 else 0 if change < 0 else 2, text.format(
        first=abs(loss[0].item()), last=abs(loss[-1].item()), largest=loss.abs().max().item(),
        low=history.mean_reward[0, 0].item(), high=history.mean_reward[0, -1].item(),
    )  # fmt: skip


ask(
    page,
    _("Suppose you train with the sidebar's settings, one update per rollout, but without KL (kl_coef 0). The loss that a framework logs will"),
    [_("fall as the policy learns"), _("stay at 0"), _("rise as the policy moves away")],
    answer,
)  # fmt: skip
with st.expander(_("What real frameworks do")):
    st.markdown(page.prose("frameworks"))
