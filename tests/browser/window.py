"""A real browser, Debian's Chromium without a window, and what its tests have in common.

Each module of these tests imports this first: where there is no browser, it says so and is skipped,
or in CI failed (see ``tests.needs``).
"""

import shutil
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from tests.needs import needs

needs("playwright", "the console in a browser")
needs("chromium", "the console in a browser")

from playwright.sync_api import Browser, Page, Playwright, expect, sync_playwright  # noqa: E402

from tests.unit.service.conftest import Service, token  # noqa: E402

__all__ = [
    "CONFIG",
    "ID",
    "LINE",
    "PATIENCE_MS",
    "Browser",
    "Open",
    "Page",
    "Service",
    "answer",
    "claims_of",
    "complaints",
    "expect",
    "inspect",
    "launched",
    "strays",
    "sync_playwright",
    "token",
]

PATIENCE_MS = 15_000
CONFIG = '[namespaces.default]\n[namespaces.orders]\nscheme = "tsid"\nprefix = "order_"\n'
ID = "1375354384404488193"
LINE = f"2026-07-10 15:50:38 INFO order {ID} created in 12 ms"

Open = Callable[..., Page]
TIMED = {
    "namespace": "default",
    "scheme": "icicle",
    "axis": "time",
    "nodes": 1024,
    "now": "2026-07-10T15:50:38.000Z",
    "now_value": "327910037684",
    "fleet": {
        "members": 2,
        "hosts": 1,
        "rate_hz": 2400,
        "unknown": 0,
        "nodes": 1024,
        "capacity_hz": 4_194_304_000.0,
    },
    "counts": {"held": 2, "idle": 0, "free": 1},
    "away": 0,
}
SLOT = {
    "node": "5",
    "constants": {"sign": "0"},
    "state": "held",
    "host": "db7",
    "process": 4711,
    "rate_hz": 1200,
    "since": "2026-07-10T15:00:00Z",
    "start": "2026-07-10T15:50:34.000Z",
    "until": "2026-07-10T15:50:42.000Z",
    "start_value": "327910033684",
    "until_value": "327910041684",
}


def launched(playwright: Playwright) -> Browser:
    """Start Chromium. As root it needs --no-sandbox; it shows only pages of this project."""
    return playwright.chromium.launch(
        executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
    )


def strays(url: str, home: str) -> list[str]:
    """Return a request to another host."""
    return [] if urlsplit(url).netloc == home else [f"asked {url}"]


def complaints(text: str) -> list[str]:
    """Return a console message, except those about error replies, which tests expect."""
    return [] if text.startswith("Failed to load resource") else [f"console: {text}"]


def claims_of(page: Page, *slots: dict[str, Any], **more: Any) -> None:
    """Give these claims to the page instead of those of the service."""
    told = {**TIMED, **more, "slots": [{**SLOT, **slot} for slot in slots]}
    page.route("**/claims", lambda route: route.fulfill(json=told))


def inspect(page: Page, text: str) -> None:
    """Paste a text with IDs, and have it shown."""
    page.get_by_label("Paste an ID").fill(text)
    page.get_by_role("button", name="Inspect", exact=True).click()


def answer(page: Page, title: str) -> Any:
    """The part of the page with this heading."""
    return page.locator(".answer").filter(has=page.get_by_role("heading", name=title, exact=True))
