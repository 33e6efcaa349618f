"""Takes the screenshots of the console in docs/how-to/service.md.

    python -m tests.browser.pictures [FOLDER]

It starts a service, some members with claims of their own, and Chromium. Host names are replaced,
so a picture shows nothing about the machine.
"""

import math
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import frazil
from tests.browser.window import ID, LINE, Browser, Page, Service, launched, sync_playwright
from tests.tools.beside import beside

__all__ = ["FOLDER", "NAMES", "take"]

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "console"
RATES_HZ = (12_000, 4_100, 900, 2_600, 150, 7_300)
SECONDS = 60
WINDOWS = {
    "inspect": (1120, 1210),
    "plan": (1120, 1540),
    "watch": (1120, 1560),
    "phone": (390, 844),
}
NAMES = tuple(WINDOWS)


def take(folder: Path, names: tuple[str, ...] = NAMES, seconds: int = SECONDS) -> list[Path]:
    """Take these pictures; ``seconds`` is how long the watched service has run."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        url = f"sqlite:///{place}/ids.db?horizon=8s"
        desk = f"sqlite:///{place}/desk.db"
        frazil.init(url, namespace="orders", new=True)
        frazil.init(desk, namespace="desk", new=True)
        config = (
            f'[namespaces.orders]\nregistry = "{url}"\n[namespaces.desk]\nregistry = "{desk}"\n'
        )
        service = stack.enter_context(Service(Path(place), config))
        browser = launched(stack.enter_context(sync_playwright()))
        for name in names:
            with opened(browser, service, name) as page:
                if name == "watch":
                    for rate_hz in RATES_HZ:
                        stack.enter_context(member(url, rate_hz))
                PARTS[name](page, service, seconds)
                page.screenshot(path=folder / f"{name}.png")
        browser.close()
    return [folder / f"{name}.png" for name in names]


@contextmanager
def opened(browser: Browser, service: Service, name: str) -> Iterator[Page]:
    """Open the console with the size and theme of a picture."""
    width, height = WINDOWS[name]
    dark = name in {"watch", "phone"}
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        timezone_id="UTC",
    )
    page = context.new_page()
    page.route("**/claims", renamed)
    page.route("**/overview", renamed)
    page.goto(service.url)
    try:
        yield page
    finally:
        page.unroute_all(behavior="ignoreErrors")  # the page asks each second, also now
        context.close()


@contextmanager
def member(url: str, rate_hz: int) -> Iterator[None]:
    """Run a member of the namespace that issues IDs at a rate."""
    ids = frazil.open(url, namespace="orders")
    with ids, beside(lambda: ids.take(max(1, rate_hz // 20)), 0.05):
        yield


def renamed(route: Any) -> None:
    """Return the service's reply with other host names."""
    same = {**route.request.headers, "sec-fetch-site": "same-origin"}  # Playwright leaves it out
    told: dict[str, Any] = route.fetch(headers=same).json()
    for i, slot in enumerate(sorted(told.get("slots", ()), key=lambda slot: int(slot["node"]))):
        slot.update(host=f"shop-{i % 3 + 1}", process=400 + 37 * i)
    if "fleet" in told:
        told["fleet"]["hosts"] = len({slot["host"] for slot in told["slots"]})
    if "overview" in told:
        told["host"] = "ids-1"
        for one in told["overview"]:
            if one["claims"]:
                one["claims"]["hosts"] = min(3, one["claims"]["members"])
            for worker in one["workers"]:
                worker["process"] = 411 + worker["worker"]
    route.fulfill(json=told)


def inspect(page: Page, _service: Service, _seconds: int) -> None:
    """A log line with an ID."""
    page.get_by_label("Paste an ID").fill(LINE)
    page.keyboard.press("Enter")
    page.get_by_role("article").wait_for()
    page.evaluate("document.activeElement.blur()")


def phone(page: Page, _service: Service, _seconds: int) -> None:
    """An ID on a narrow screen."""
    page.goto(f"{page.url}#inspect={ID}")
    page.get_by_role("article").wait_for()


def plan(page: Page, _service: Service, _seconds: int) -> None:
    """Proposals for a need, and a border that is being moved."""
    page.get_by_role("link", name="Plan", exact=True).click()
    page.get_by_role("button", name="Propose layouts").click()
    page.locator(".proposal").first.wait_for()
    border = page.get_by_role("slider", name="Border between node and sequence")
    border.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.locator(".answer", has_text="8,192").wait_for()


def watch(page: Page, service: Service, seconds: int) -> None:
    """Members with claims, and requests in waves."""
    page.get_by_role("link", name="Watch", exact=True).click()
    page.locator(".spaces").get_by_role("button", name="orders").click()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        wave = 1.2 + math.sin(time.monotonic() / 5)
        service.client.post(f"/v1/orders/ids?n={round(60 * wave) + 1}")
        page.wait_for_timeout(20)


PARTS = {"inspect": inspect, "plan": plan, "watch": watch, "phone": phone}

if __name__ == "__main__":
    for picture in take(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER):
        print(picture)  # noqa: T201
