"""What the pages share: frame, sidebar, links, texts, figures, the player."""

import gc

import pandas  # noqa: F401
import plotly.graph_objects  # noqa: F401
import torch

# Many visitors' scripts run in threads of one process; torch's own threads would only compete.
torch.set_num_threads(1)

# Streamlit collects garbage after every rerun: what the libraries loaded is never garbage, and
# looking through it would cost more than the rerun.
gc.freeze()
