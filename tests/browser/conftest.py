"""A browser and a service per module, pages per test.

Playwright keeps an event loop in its thread, where ``asyncio.run`` of another test would find it.
So a browser lives for one module, and these modules test only the console.

Each page must contact no other host, violate no rule of its content security policy, and raise no
error. This is checked at the end of each test.

The imports are in the fixtures because they skip where there is no browser, and only a test module
can be skipped.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from tests.browser.window import Browser, Open, Page, Service

__all__ = ["browser", "open_page", "service", "start"]


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    from tests.browser import window

    window.expect.set_options(timeout=window.PATIENCE_MS)
    with window.sync_playwright() as playwright:
        browser = window.launched(playwright)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Service]":
    """A service without tokens, for all tests of a module."""
    from tests.browser import window

    with window.Service(tmp_path_factory.mktemp("service"), window.CONFIG) as service:
        yield service


@pytest.fixture
def start(tmp_path) -> "Iterator[Callable[..., Service]]":
    """``start(config, *options)``: a service for one test."""
    from tests.browser import window

    running: list[Service] = []

    def begin(config: str, *options: str) -> "Service":
        running.append(window.Service(tmp_path, config, *options))
        return running[-1]

    yield begin
    for service in running:
        service.__exit__(None, None, None)


@pytest.fixture
def open_page(browser: "Browser") -> "Iterator[Open]":
    """``open_page(service, "#plan", **context)``: the console in a window of its own."""
    from tests.browser import window

    contexts = []
    faults: list[str] = []

    def opened(service: "Service", part: str = "", **options: Any) -> "Page":
        context = browser.new_context(
            **{"viewport": {"width": 1200, "height": 900}, "color_scheme": "light", **options}
        )
        contexts.append(context)
        context.set_default_timeout(window.PATIENCE_MS)
        page = context.new_page()
        home = urlsplit(service.url).netloc
        page.on("pageerror", lambda error: faults.append(f"raised {error}"))
        page.on("request", lambda request: faults.extend(window.strays(request.url, home)))
        page.on("console", lambda message: faults.extend(window.complaints(message.text)))
        page.goto(f"{service.url}/{part}")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert faults == []
