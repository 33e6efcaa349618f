"""A real browser, Debian's Chromium without a window, and a real service for it to show.

Playwright's loop stays in its thread as long as it runs, where ``asyncio.run`` of another test
would find it. So a browser lives for one module, and these modules test nothing but the browser.

Whatever a test is about, its page must ask nothing of any other host, break no rule that the
service gave the browser, and raise nothing: each page is held to that when its test has ended.
"""

import shutil
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.needs import needs
from tests.unit.service.conftest import Service

needs("playwright", "the console in a browser")
needs("chromium", "the console in a browser")

from playwright.sync_api import Browser, Page, expect, sync_playwright  # noqa: E402

__all__ = ["CONFIG", "ID", "LINE", "Open", "launched", "start"]

PATIENCE_MS = 15_000
CONFIG = '[namespaces.default]\n[namespaces.orders]\nscheme = "tsid"\nprefix = "order_"\n'
ID = "1375354384404488193"
LINE = f"2026-07-10 15:50:38 INFO order {ID} created in 12 ms"

Open = Callable[..., Page]


def launched(playwright: Any) -> Browser:
    """Chromium. As root it has no sandbox, and it shows pages of this project only."""
    return playwright.chromium.launch(
        executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
    )


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = launched(playwright)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service without tokens, for all tests of a module."""
    with Service(tmp_path_factory.mktemp("service"), CONFIG) as service:
        yield service


@pytest.fixture
def start(tmp_path):
    """``start(config, *options)``: a service of this test alone."""
    running: list[Service] = []

    def begin(config: str, *options: str) -> Service:
        running.append(Service(tmp_path, config, *options))
        return running[-1]

    yield begin
    for service in running:
        service.__exit__(None, None, None)


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Open]:
    """``open_page(service, "#plan", **context)``: the console in a window of its own."""
    contexts = []
    faults: list[str] = []

    def opened(service: Service, part: str = "", **options: Any) -> Page:
        context = browser.new_context(
            **{"viewport": {"width": 1200, "height": 900}, "color_scheme": "light", **options}
        )
        contexts.append(context)
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        home = urlsplit(service.url).netloc
        page.on("pageerror", lambda error: faults.append(f"raised {error}"))
        page.on("request", lambda request: faults.extend(strays(request.url, home)))
        page.on("console", lambda message: faults.extend(complaints(message.text)))
        page.goto(f"{service.url}/{part}")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert faults == []


def strays(url: str, home: str) -> list[str]:
    """A request that leaves the service."""
    return [] if urlsplit(url).netloc == home else [f"asked {url}"]


def complaints(text: str) -> list[str]:
    """What the browser says of the page; that an answer was a problem is no fault of it."""
    return [] if text.startswith("Failed to load resource") else [f"console: {text}"]
