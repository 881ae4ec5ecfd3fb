"""What moving a slider on Training run costs: `python -m bench.page [--json]`.

The same slider is moved in a one-chart Streamlit app and on Training run, in the same Chromium, in
turn; the ratio of the medians and the bytes sent per rerun are printed. A move ends with the
last change that it makes to the page. Not about seconds, which belong to the machine.
"""

import contextlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from playwright.sync_api import sync_playwright

from bench import report

ROOT = Path(__file__).parent.parent
MOVES = 20
LARGEST = "group_size=63&epochs=500"
ONE_CHART = """
import plotly.graph_objects as go
import streamlit as st
size = st.sidebar.slider("Group size", 1, 64, 4)
st.plotly_chart(go.Figure(go.Scatter(y=[size * i for i in range(41)])))
"""
WINDOW = 2000
"""Milliseconds to watch the page after a key press; the last change of the page in it ends the move."""
MOVE = """
(milliseconds) => new Promise((done) => {
  const start = performance.now();
  let last = 0;
  const observer = new MutationObserver(() => (last = performance.now() - start));
  observer.observe(document.querySelector("[data-testid=stMain]"), {
    subtree: true, childList: true, attributes: true, characterData: true,
  });
  setTimeout(() => { observer.disconnect(); done(last); }, milliseconds);
})
"""


@contextlib.contextmanager
def serving(script: Path):
    """A Streamlit server of the script on a free port; gives its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", script.name, "--server.headless=true", f"--server.port={port}"]
    process = subprocess.Popen(command, cwd=script.parent, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://localhost:{port}"
    for _ in range(120):
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"{url}/_stcore/health", timeout=2)
            break
        time.sleep(0.5)
    try:
        yield url
    finally:
        process.terminate()
        process.wait(10)


class Visitor:
    """A page with the slider in focus, that counts what the server sends."""

    def __init__(self, browser, url: str):
        self.received = 0
        self.page = browser.new_page(viewport={"width": 1280, "height": 900})
        self.page.on("websocket", lambda socket: socket.on("framereceived", self._count))
        self.page.goto(url)
        slider = self.page.locator("[data-testid=stSlider]", has_text="Group size").locator("input")
        slider.wait_for(timeout=60_000)
        self.page.wait_for_timeout(5000)
        slider.focus()

    def _count(self, payload) -> None:
        self.received += len(payload)

    def move(self) -> tuple[float, int]:
        """Milliseconds and bytes of one move of the slider."""
        self.page.bring_to_front()  # a page in the background paints nothing
        self.page.wait_for_timeout(500)  # and has to catch up first
        before = self.received
        self.page.evaluate(f"() => {{ window.move = ({MOVE})({WINDOW}); }}")
        self.page.keyboard.press("ArrowRight")
        milliseconds = self.page.evaluate("() => window.move")
        return milliseconds, self.received - before


def measure() -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        simple = Path(folder) / "one_chart.py"
        simple.write_text(ONE_CHART)
        with serving(simple) as simple_url, serving(ROOT / "app.py") as app_url:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-background-networking"]
            )
            one_chart, training = Visitor(browser, simple_url), Visitor(browser, f"{app_url}/training_run")
            moves = [(one_chart.move(), training.move()) for _ in range(MOVES)]
            largest = Visitor(browser, f"{app_url}/training_run?{LARGEST}").move()[1]
            browser.close()
    simple_median = statistics.median(simple[0] for simple, _ in moves)
    training_median = statistics.median(run[0] for _, run in moves)
    return {
        "one_chart_milliseconds": simple_median,
        "training_run_milliseconds": training_median,
        "ratio": training_median / simple_median,
        "bytes_per_move": statistics.median(run[1] for _, run in moves),
        "bytes_at_largest_settings": largest,
    }


def sentences(figures: dict[str, float]) -> list[str]:
    return [
        f"a slider move: {figures['ratio']:.2f} times the one-chart app (wanted: at most 2)",
        f"medians {figures['training_run_milliseconds']:.0f} and {figures['one_chart_milliseconds']:.0f} ms over {MOVES} moves",
        f"bytes per move: {figures['bytes_per_move']:,.0f}; at the largest settings {figures['bytes_at_largest_settings']:,}",
    ]


if __name__ == "__main__":
    report(__doc__, measure, sentences)
