"""What a visitor can take home; each file is built when it is clicked, not before."""

from collections.abc import Callable

import streamlit as st

from grpo_core import TrainingHistory
from grpo_core.runs import run_files, run_zip


def draw_downloads(_, history: TrainingHistory, handout: Callable[[], str]) -> None:
    files = (
        (_("Metrics (CSV)"), "metrics.csv", "text/csv", lambda: run_files(history)["metrics.csv"]),
        (_("Samples (CSV)"), "samples.csv", "text/csv", lambda: run_files(history)["samples.csv"]),
        (_("Whole run (zip)"), "grpo_run.zip", "application/zip", lambda: run_zip(history)),
        (_("Hand-out (HTML)"), "grpo_run.html", "text/html", handout),
    )
    with st.container(horizontal=True):
        for label, name, mime, build in files:
            st.download_button(label, build, name, mime, on_click="ignore", icon=":material/download:")
