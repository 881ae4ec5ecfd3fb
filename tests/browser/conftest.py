"""A real server on a free port and a real Chromium; skipped where there is none, unless REQUIRE_BROWSER is set."""

import os
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from bench.page import serving

ROOT = Path(__file__).parent.parent.parent
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def pytest_collection_modifyitems(items):
    if CHROMIUM is None and not os.environ.get("REQUIRE_BROWSER"):
        for item in items:
            if "browser" in item.path.parts:
                item.add_marker(pytest.mark.skip(reason="no Chromium on this machine"))


@pytest.fixture(scope="session")
def server():
    with serving(ROOT / "app.py") as url:
        yield url


@pytest.fixture(scope="session")
def browser():
    assert CHROMIUM, "REQUIRE_BROWSER is set, but there is no Chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-background-networking", "--disable-sync"]
        )
        yield browser
        browser.close()


@pytest.fixture
def open_at(browser, server):
    """Opens a path in a fresh visitor's browser; console errors fail the test that made them."""
    contexts, errors = [], []

    def open_at(path: str, width: int = 1280, scheme: str = "light"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.on(
            "console",
            lambda message: errors.append(f"{message.text} {message.location}") if message.type == "error" else None,
        )
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(server + path)
        page.wait_for_selector(".groups td" if "training_run" in path else "h1")
        settle(page)
        return page

    yield open_at
    for context in contexts:
        context.close()
    probes = ("/_stcore/health", "/_stcore/host-config")  # Streamlit's own, relative to a page's address
    assert [error for error in errors if not any(probe in error for probe in probes)] == []


def settle(page) -> None:
    """Wait until the script has run and its pictures are drawn."""
    page.wait_for_function("!document.querySelector('[data-testid=stStatusWidget], [data-testid=stSkeleton]')")
    page.wait_for_timeout(700)


def assert_nothing_sideways(page) -> None:
    """The page fits its window; formulas, pictures, tables and code that scroll or shrink by themselves aside."""
    assert page.locator("[data-testid=stMain]").evaluate("node => node.scrollWidth <= node.clientWidth")
    assert page.evaluate(
        "() => [...document.querySelectorAll('[data-testid=stMain] *')].every(n => n.getBoundingClientRect().right <= innerWidth + 1"
        " || getComputedStyle(n).position === 'absolute' || n.closest('.katex, svg, pre, [data-testid=stDataFrame]'))"
    )
