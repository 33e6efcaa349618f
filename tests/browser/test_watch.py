"""Watch in the browser: claims, rates, and outages of a registry and a service."""

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

import frazil
from tests.browser.window import CONFIG, START, claims_of, expect
from tests.servers.redis import Server

__all__: list[str] = []


def answer(page, title):
    return page.locator(".answer").filter(has=page.get_by_role("heading", name=title, exact=True))


@contextmanager
def asking(ids):
    """Requests IDs all the time; an idle node gives its claim back."""
    over = threading.Event()

    def ask():
        while not over.wait(0.01):
            ids()

    thread = threading.Thread(target=ask)
    thread.start()
    yield
    over.set()
    thread.join()


def extent(bar):
    """Return the start and end of a part of a bar, in percent."""
    left, width = (bar.evaluate(f"b => b.style.{side}") for side in ("left", "width"))
    return float(left.rstrip("%")), float(left.rstrip("%")) + float(width.rstrip("%"))


def test_issued_ids_are_shown(service, open_page):
    page = open_page(service, "#watch")
    expect(answer(page, "Issued")).to_contain_text("since the start")
    before = service.client.get("/v1/default/status").json()["issued"]
    service.client.post("/v1/default/ids?n=300")
    expect(answer(page, "Issued")).to_contain_text(f"{before + 300:,} since the start")
    chart = answer(page, "Issued").get_by_role("img")
    expect(chart).to_have_attribute("aria-label", re.compile(r"at most [1-9]"))
    expect(answer(page, "Waits")).to_contain_text("0 got no ID")
    expect(answer(page, "Registry")).to_contain_text("Ready")


def test_a_claim_is_seen_while_it_is_held(start, open_page, tmp_path):
    url = f"sqlite:///{tmp_path}/own.db?horizon=1min"
    init = [sys.executable, "-c", START, "init", url, "--new", "--namespace", "mine"]
    subprocess.run(init, check=True, stdout=subprocess.DEVNULL)
    page = open_page(start(f'[namespaces.mine]\nregistry = "{url}"\nkeep = "100ms"\n'), "#watch")
    summary = page.locator(".summary")
    expect(summary).to_contain_text("0 of 1,024 node numbers are held; 0 idle, 1 free.")
    with frazil.open(url, namespace="mine") as ids, asking(ids):
        expect(summary).to_contain_text("1 of 1,024 node numbers are held.")
        expect(page.get_by_role("row").filter(has_text=f":{os.getpid()}")).to_contain_text("left")
        expect(page.get_by_role("status")).to_contain_text("1 of 1,024")  # it is read out
    expect(summary).to_contain_text("0 of 1,024 node numbers are held; 0 idle, 1 free.")
    expect(page.locator("#claims table")).to_be_hidden()


def test_bars_are_what_is_used_and_what_is_ahead(service, open_page):
    page = open_page(service)
    claims_of(
        page, {}, {"node": "9", "until": "2026-07-10T15:50:40.000Z", "until_value": "327910039684"}
    )
    page.get_by_role("link", name="Watch").click()
    bars = page.get_by_role("img", name=re.compile("Claim of node"))
    expect(bars).to_have_count(2)
    expect(bars.first).to_have_attribute("aria-label", "Claim of node 5: 4 seconds left")
    expect(bars.last).to_have_attribute("aria-label", "Claim of node 9: 2 seconds left")
    (used, ahead), (_, shorter) = (
        [extent(bar.locator(part)) for part in (".used", ".ahead")] for bar in bars.all()
    )
    assert used[1] == ahead[0] == 50  # now
    assert ahead[1] - 50 == pytest.approx(50 * 4 / 5, abs=0.1)
    assert shorter[1] - 50 == pytest.approx((ahead[1] - 50) / 2, abs=0.1)
    row = page.get_by_role("row").filter(has_text="db7:4711").first
    expect(row).to_contain_text("1,200")
    expect(row).to_contain_text("2026-07-10 15:00:00")


def test_the_fleet_is_summed_up(service, open_page):
    page = open_page(service)
    fleet = {"members": 3, "hosts": 2, "rate_hz": 20_971_520, "unknown": 1, "nodes": 1024}
    claims_of(page, {}, fleet={**fleet, "capacity_hz": 4_194_304_000.0})
    page.get_by_role("link", name="Watch").click()
    expect(answer(page, "Total rate")).to_contain_text("20,971,520 IDs/s")
    expect(answer(page, "Total rate")).to_contain_text("1 not known yet")
    expect(answer(page, "Members with a claim")).to_contain_text("on 2 hosts")
    expect(answer(page, "Node numbers used")).to_contain_text("0.29 %")
    expect(answer(page, "Node numbers used")).to_contain_text("3 of 1,024")
    expect(answer(page, "Capacity used")).to_contain_text("0.50 %")
    expect(answer(page, "Capacity used")).to_contain_text("of 4.2 billion IDs/s")


def test_charts_have_labelled_axes(service, open_page):
    page = open_page(service)
    claims_of(page, {})
    page.get_by_role("link", name="Watch").click()
    total = answer(page, "Total rate")
    expect(total.locator(".axis.up span")).to_have_text(["2,400 IDs/s", "0"])
    expect(total.locator(".axis.back span")).to_have_text(["2:00 ago", "1:00 ago", "now"])
    expect(answer(page, "Issued").locator(".axis.up")).to_contain_text("IDs/s")
    expect(answer(page, "Waits").locator(".axis.up")).to_contain_text("waits/s")
    chart = total.get_by_role("img")
    expect(chart).to_have_attribute("aria-label", re.compile("now 2,400, at most 2,400"))
    line = total.locator("path.stroke")
    expect(line).to_have_attribute("d", re.compile(r"^M2\d\d.*L240\.0,2\.0$"))  # the right edge


def test_the_labels_of_an_axis_do_not_meet_on_a_phone(service, open_page):
    page = open_page(service, "#watch", viewport={"width": 390, "height": 844})
    labels = answer(page, "Waits").locator(".axis.back span")
    expect(labels).to_have_count(3)
    boxes = [label.bounding_box() for label in labels.all()]
    for left, right in itertools.pairwise(boxes):
        assert left["x"] + left["width"] + 4 < right["x"]


def test_a_claim_is_seen_whole_on_a_phone(service, open_page):
    page = open_page(service, viewport={"width": 390, "height": 844})
    holder = {"host": "shop-frontend-7d9c6b5f4-x2x9q", "process": 4711}
    full = {"node": "1023", "rate_hz": 4_096_000, **holder}
    claims_of(page, full, {"node": "9", "state": "idle"})
    page.get_by_role("link", name="Watch").click()
    row = page.get_by_role("row").filter(has_text="1,023")
    names = ("4,096,000", holder["host"], "2026-07-10 15:00:00")
    cells = [row.get_by_role("cell", name=name) for name in names]
    for cell in (*cells, row.get_by_role("img")):
        box = cell.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390


def test_what_to_run_before_there_is_a_claim(start, open_page, tmp_path):
    # A service takes the first claim of a layout with time by itself.
    url = f"sqlite:///{tmp_path}/own.db"
    init = [sys.executable, "-c", START, "init", url, "--namespace", "mine"]
    init += ["--scheme", "chibrary", "--start", "1"]
    subprocess.run(init, check=True, stdout=subprocess.DEVNULL)
    service = start(f'[namespaces.mine]\nregistry = "{url}"\nscheme = "chibrary"\n')
    page = open_page(service, "#watch")
    lesson = page.locator(".lesson")
    expect(lesson).to_contain_text("No claim yet")
    line = lesson.locator("code").first.text_content()
    assert subprocess.run(line.split(), capture_output=True, check=True).stdout.isascii()
    expect(lesson).to_be_hidden()
    expect(answer(page, "Members with a claim")).to_contain_text("1")
    expect(page.locator(".badge")).to_have_text(["held"])


def test_values_above_what_a_number_holds_stay_exact(service, open_page):
    page = open_page(service)
    start, until = (1 << 62) + 1, (1 << 62) + 1001
    claims_of(
        page,
        {"start_value": str(start), "until_value": str(until)},
        axis="sequence",
        now_value=None,
        nodes=1,
    )
    page.get_by_role("link", name="Watch").click()
    expect(page.get_by_text(f"{start:,} to {until - 1:,}")).to_be_visible()


def test_released_claims_are_shown_on_request(service, open_page):
    page = open_page(service)
    gone = {"state": "free", "host": None, "process": None, "rate_hz": None, "since": None}
    idle = {
        "node": "6",
        "state": "idle",
        "until": "2026-07-10T15:50:00.000Z",
        "until_value": "327909999684",
    }
    claims_of(page, {}, idle, {"node": "7", **gone})
    page.get_by_role("link", name="Watch").click()
    states = page.locator(".badge")
    expect(states).to_have_text(["held", "idle"])
    expect(page.get_by_text("expired 38 seconds ago")).to_be_visible()
    page.get_by_label("Show free slots").check()
    expect(states).to_have_text(["held", "idle", "free"])


def test_an_unavailable_registry_is_shown_until_it_is_back(service, open_page):
    page = open_page(service)
    problem = {"title": "No ID is available now", "status": 503, "detail": "the registry is silent"}
    page.route(
        "**/claims",
        lambda route: route.fulfill(
            status=503, content_type="application/problem+json", body=json.dumps(problem)
        ),
    )
    page.get_by_role("link", name="Watch").click()
    expect(page.locator("#watch-problem")).to_contain_text("the registry is silent")
    expect(answer(page, "Issued")).to_be_visible()  # what is known is still shown
    expect(page.locator("#lost")).to_be_hidden()
    page.unroute("**/claims")
    expect(page.locator("#watch-problem")).to_be_hidden()


def test_claims_that_cannot_be_read_are_not_said_to_be_gone(start, open_page):
    """Only the reading fails: IDs are still made, and the claims shown are those of a moment."""
    with Server() as server:
        frazil.init(f"{server.url}?horizon=60s", new=True)
        service = start(f'[namespaces.default]\nregistry = "{server.url}?horizon=60s"\n')
        assert service.client.post("/v1/default/ids?n=3").status_code == 200
        page = open_page(service, "#watch")
        expect(page.locator(".badge").first).to_have_text("held", timeout=20_000)
        server.freeze()
        problem = page.locator("#watch-problem")
        expect(problem).to_contain_text("The claims are not known now", timeout=20_000)
        expect(problem).to_contain_text(re.compile(r"as of \d\d:\d\d:\d\d UTC"))
        expect(problem).not_to_contain_text("No ID")
        expect(page.locator("#claims")).to_have_class(re.compile("stale"))
        assert service.client.get("/v1/default/id").status_code == 200
        server.thaw()
        expect(problem).to_be_hidden(timeout=20_000)


def test_a_lost_service_is_shown_and_found_again(start, open_page):
    service = start(CONFIG)
    port = str(urlsplit(service.url).port)
    page = open_page(service, "#watch")
    expect(answer(page, "Issued")).to_be_visible()
    service.stop(signal.SIGKILL)
    lost = page.get_by_role("alert").filter(has_text="does not answer")
    expect(lost).to_be_visible()
    page.get_by_role("link", name="Inspect", exact=True).click()
    page.get_by_label("Paste an ID").fill("1375354384404488193")
    page.keyboard.press("Enter")
    expect(page.locator("#inspect-problem")).to_contain_text("The service does not answer")
    again = start(CONFIG, "--port", port)
    expect(page.get_by_text("The service answers again.")).to_be_visible()
    expect(lost).to_be_hidden()
    expect(page.get_by_role("article")).to_be_visible()  # what was asked meanwhile is answered
    page.get_by_role("link", name="Watch").click()
    again.client.post("/v1/default/ids?n=40")
    expect(answer(page, "Issued")).to_contain_text("40 since the start")


def test_a_hidden_part_sends_no_requests(service, open_page):
    page = open_page(service, "#watch")
    expect(answer(page, "Issued")).to_be_visible()
    page.get_by_role("link", name="Plan").click()
    page.wait_for_timeout(1_200)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.wait_for_timeout(1_500)
    assert asked == []


def test_old_numbers_look_old(service, open_page):
    page = open_page(service)
    page.route("**/status", lambda route: route.fulfill(status=503, json={"title": "x"}))
    page.get_by_role("link", name="Watch").click()
    stale = re.compile("stale")
    expect(page.locator("#rates")).to_have_class(stale)
    expect(page.locator("#claims")).not_to_have_class(stale)
    page.unroute("**/status")
    expect(page.locator("#rates")).not_to_have_class(stale)


def test_a_layout_whose_time_is_full(service, open_page):
    page = open_page(service)
    status = service.client.get("/v1/default/status").json()
    page.route("**/status", lambda route: route.fulfill(json={**status, "exhausted_in_s": -1e8}))
    page.get_by_role("link", name="Watch").click()
    expect(answer(page, "Layout lifetime")).to_contain_text("expired")
    expect(answer(page, "Layout lifetime")).to_contain_text("the time field is full")
