"""Scale up: from these settings to a real model."""

import streamlit as st

from ui import figures
from ui.frame import open_page
from ui.preset_picker import choose_preset, presets_of
from ui.question import ask
from ui.scale_controls import choose_setup
from ui.scale_figures import memory_chart
from ui.scale_view import draw_changes, draw_scripts, other_group

page = open_page("scale_up")
_ = page.gettext
st.markdown(page.prose("intro"))
presets = presets_of(page)
setup = choose_setup(page, presets[choose_preset(page, presets)])
draw_scripts(page, setup)

st.subheader(_("What changes at this size"), anchor=False)
st.latex(r"b \cdot N \cdot a = P \cdot G")
st.latex(
    rf"{setup.micro_batch} \cdot {setup.world} \cdot {setup.accumulation} = "
    rf"{setup.prompts} \cdot {page.config.group_size} = {setup.completions}"
)
st.markdown(page.prose("batch"))
draw_changes(page, setup)
figures.show(memory_chart(_, setup), "memory")
st.markdown(page.prose("changes"))

other, options = other_group(setup), (setup.prompts // 2, setup.prompts, 2 * setup.prompts)


def answer() -> tuple[int, str]:
    prompts = setup.micro_batch * setup.world * setup.accumulation // other
    text = _("{micro} · {gpus} · {times} answers are {answers}; in groups of {group} they are {prompts} prompts.")
    return options.index(prompts), text.format(
        micro=setup.micro_batch, gpus=setup.world, times=setup.accumulation, answers=setup.completions, group=other,
        prompts=prompts,
    )  # fmt: skip


ask(
    page,
    _("Suppose groups had {other} answers instead of {group}, with b, N and a as they are. How many prompts would one step see?").format(
        other=other, group=page.config.group_size
    ),
    [str(option) for option in options],
    answer,
)  # fmt: skip
with st.expander(_("What real frameworks do")):
    st.markdown(page.prose("frameworks"))
