"""A real browser for the tests of pages: the Chromium that is installed, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 375, "height": 667}
QUIET = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def find_chromium() -> str | None:
    """The browser of DISCBAYES_CHROMIUM, or the first that is found."""
    wanted = os.environ.get("DISCBAYES_CHROMIUM")
    return shutil.which(wanted) if wanted else next(filter(None, map(shutil.which, NAMES)), None)


@pytest.fixture(scope="session")
def browser():
    """One browser for all tests of a process; skipped, with the reason, where there is none."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = find_chromium()
    if path is None:
        pytest.skip(f"no Chromium was found (DISCBAYES_CHROMIUM, {', '.join(NAMES)})")
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu", *QUIET]
        )
        yield started
        started.close()


@pytest.fixture(scope="session")
def axe():
    """The script of axe-core: of DISCBAYES_AXE, or of ``npm install --no-save --prefix js
    axe-core``; skipped where there is none.
    """
    installed = Path(__file__).parents[2] / "js/node_modules/axe-core/axe.min.js"
    path = Path(os.environ.get("DISCBAYES_AXE") or installed)
    if not path.is_file():
        pytest.skip(f"no axe-core was found (DISCBAYES_AXE, {installed})")
    return path.read_text(encoding="utf-8")


@pytest.fixture
def open_page(browser, tmp_path):
    """A function that opens the page of a report; at the end nothing may have gone wrong in it, or
    been fetched.
    """
    watched = []

    def open_(report, **options):
        path = tmp_path / f"page-{len(watched)}.html"
        report.save(path)
        page, events = watched_page(browser, **{"viewport": DESKTOP, **options})
        watched.append((page, events))
        page.goto(path.as_uri())
        return page

    yield open_
    for page, events in watched:
        page.context.close()
        assert [event for event in events if event[0] != "request"] == []
        fetched = {url for kind, url in events if kind == "request" and not url.startswith("data:")}
        assert fetched == {next(url for kind, url in events if kind == "request")}


def watched_page(browser, **options):
    """A new page, and the list of all that it says, asks for and fails at."""
    page = browser.new_context(**options).new_page()
    events: list[tuple[str, str]] = []
    page.on("console", lambda message: events.append((f"console {message.type}", message.text)))
    page.on("pageerror", lambda error: events.append(("error", str(error))))
    page.on("requestfailed", lambda request: events.append(("failed", request.url)))
    page.on("request", lambda request: events.append(("request", request.url)))
    page.on("popup", lambda popup: events.append(("popup", popup.url)))

    def dismiss(dialog):
        events.append(("dialog", dialog.message))
        dialog.dismiss()

    page.on("dialog", dismiss)
    return page, events
