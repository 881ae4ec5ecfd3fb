"""Home: GRPO in one picture."""

import streamlit as st

from ui import loop
from ui.frame import choose_prompt, open_page

page = open_page("home")

st.markdown(page.prose("intro"))
choose_prompt(page)
loop.draw(page)
st.markdown(page.prose("formula"))

left, right = st.columns(2)
with left.container(border=True, height="stretch"):
    st.markdown(page.prose("shows"))
with right.container(border=True, height="stretch"):
    st.markdown(page.prose("not"))
