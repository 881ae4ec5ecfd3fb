"""Takes the README's screenshots from a running app: `python docs/make_screenshots.py http://localhost:8501`."""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
SHOTS = {
    "home": "/?prompt=2",
    "training_run": "/training_run?group_size=6&seed=4",
    "grpo_family": "/grpo_family?preset=dapo",
    "training_run_zh": "/training_run?lang=zh",
}
WAIT_FOR = {"home": ".loop h3", "grpo_family": ".heatmaplayer"}


def main(server: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, path in SHOTS.items():
            page = browser.new_page(
                viewport={"width": 1280, "height": 1400}, color_scheme="dark" if "zh" in name else "light"
            )
            page.goto(server + path)
            page.wait_for_selector(WAIT_FOR.get(name, ".groups td"))
            page.wait_for_timeout(2000)
            for _ in range(6):
                if "training" in name:
                    page.locator("[data-do=forward]").click()
            page.screenshot(path=HERE / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1])
