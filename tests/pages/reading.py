"""Opens a page without a browser, and reads what it shows."""

import base64
import json
from pathlib import Path

import numpy as np
from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).parent.parent.parent
PAGES = {
    "home": "app.py",
    "one_group": "pages/1_one_group.py",
    "one_update": "pages/2_one_update.py",
    "training_run": "pages/3_training_run.py",
    "kl_leash": "pages/4_kl_leash.py",
    "silent_groups": "pages/5_silent_groups.py",
    "verifiable_rewards": "pages/6_verifiable_rewards.py",
    "ppo_dpo_grpo": "pages/7_ppo_dpo_grpo.py",
    "grpo_family": "pages/8_grpo_family.py",
    "why_is_my_loss_0": "pages/9_why_is_my_loss_0.py",
    "scale_up": "pages/10_scale_up.py",
}


def open_page(name: str, **params: str) -> AppTest:
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    if name != "home":
        page.switch_page(PAGES[name])
    for key, value in params.items():
        page.query_params[key] = value
    return page.run()


def shown(page: AppTest) -> str:
    texts = [
        element.value for kind in ("markdown", "caption", "title", "subheader", "warning") for element in page.get(kind)
    ]
    html = [element.proto.body for element in page.get("html")]
    return "\n".join([*texts, *html])


def charts(page: AppTest) -> list[dict]:
    return [json.loads(chart.proto.spec) for chart in page.get("plotly_chart")]


def numbers(values) -> list[float]:
    """NumPy arrays are base64 in a figure's JSON."""
    if isinstance(values, dict):
        return np.frombuffer(base64.b64decode(values["bdata"]), dtype=values["dtype"]).tolist()
    return values


def trace(chart: dict, name: str) -> dict:
    return next(trace for trace in chart["data"] if trace.get("name") == name)
