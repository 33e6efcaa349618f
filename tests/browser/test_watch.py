"""Watch in the browser: claims, rates, and outages of a registry and a service."""

import itertools
import json
import os
import re
import signal
import subprocess
from urllib.parse import urlsplit

import pytest

import frazil
from tests.browser.window import CONFIG, answer, claims_of, expect
from tests.servers.redis import Server
from tests.tools.beside import beside


def space(page, name):
    """Return what the list says of a namespace."""
    return page.locator(".space").filter(has=page.get_by_role("button", name=name, exact=True))


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
    expect(space(page, "default")).to_contain_text("✓ Good")
    expect(page.locator("#as-of")).to_contain_text(re.compile(r"As of \d\d:\d\d:\d\d UTC"))
    expect(page.locator("#as-of")).to_contain_text(f"frazil {frazil.__version__}")


def test_a_claim_is_seen_while_it_is_held(start, open_page, tmp_path):
    url = f"sqlite:///{tmp_path}/own.db?horizon=1min"
    frazil.init(url, namespace="mine", new=True)
    page = open_page(start(f'[namespaces.mine]\nregistry = "{url}"\nkeep = "100ms"\n'), "#watch")
    summary = page.locator(".summary")
    expect(summary).to_contain_text("0 of 1,024 node numbers are held; 0 idle, 1 free.")
    with frazil.open(url, namespace="mine") as ids, beside(ids, 0.01):
        expect(summary).to_contain_text("1 of 1,024 node numbers are held.")
        expect(page.get_by_role("row").filter(has_text=f":{os.getpid()}")).to_contain_text("left")
        expect(page.get_by_role("status")).to_contain_text("1 of 1,024")  # it is read out
    expect(summary).to_contain_text("0 of 1,024 node numbers are held; 0 idle, 1 free.")
    expect(page.locator("#claims table.claims")).to_be_hidden()


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
    frazil.init(url, "chibrary", namespace="mine", start=1)
    service = start(f'[namespaces.mine]\nregistry = "{url}"\nscheme = "chibrary"\n')
    page = open_page(service, "#watch")
    lesson = page.locator(".lesson")
    expect(lesson).to_contain_text("No claim yet")
    line = lesson.locator("code").first.text_content()
    assert subprocess.run(line.split(), capture_output=True, check=True).stdout.isascii()
    expect(lesson).to_be_hidden()
    expect(answer(page, "Members with a claim")).to_contain_text("1")
    expect(page.locator("#claims .badge")).to_have_text(["held"])


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
    states = page.locator("#claims .badge")
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


def test_an_outage_at_one_glance(start, open_page, tmp_path):
    """Which namespace, why, since when, what to do; IDs are made while only the reading fails."""
    with Server() as server:
        frazil.init(f"{server.url}?horizon=60s", namespace="orders", new=True)
        service = start(
            f'[namespaces.desk]\nregistry = "sqlite:///{tmp_path}/desk.db"\n[namespaces.orders]\n'
            f'registry = "{server.url}?horizon=60s&timeout=500ms"\n'
        )
        assert service.client.post("/v1/orders/ids?n=3").status_code == 200
        page = open_page(service, "#watch")
        space(page, "orders").get_by_role("button").click()
        expect(page.locator("#claims .badge").first).to_have_text("held", timeout=20_000)
        expect(page.locator(".space").first).to_contain_text("desk")
        server.freeze()
        problem = page.locator("#watch-problem")
        expect(problem).to_contain_text("The claims are not known now", timeout=20_000)
        expect(problem).to_contain_text(re.compile(r"as of \d\d:\d\d:\d\d UTC"))
        expect(problem).not_to_contain_text("No ID")
        expect(page.locator("#claims")).to_have_class(re.compile("stale"))
        expect(page.locator("#workers")).not_to_have_class(re.compile("stale"))
        assert service.client.get("/v1/orders/id").status_code == 200
        worst = page.locator(".space").first
        expect(worst).to_contain_text("orders", timeout=60_000)
        expect(worst).to_contain_text("The store does not answer")
        expect(worst).to_contain_text(re.compile(r"since \d\d:\d\d:\d\d UTC, \d"))
        expect(worst).to_contain_text(re.compile(r"Last error \d\d:\d\d:\d\d UTC: redis://"))
        old = re.compile(r"Not known now. As of \d\d:\d\d:\d\d UTC.*1 of 1,024 node numbers")
        expect(worst).to_contain_text(old)
        link = worst.get_by_role("link", name="What to do").get_attribute("href")
        assert link.endswith("docs/how-to/alarms/store-away.md")
        cells = page.locator("#workers tbody tr td")
        expect(cells.last).to_contain_text(re.compile(r"^\d\d:\d\d:\d\d UTC: redis://"))
        expect(space(page, "desk")).to_contain_text("✓ Good")
        server.thaw()
        expect(problem).to_be_hidden(timeout=20_000)
        expect(space(page, "orders")).not_to_contain_text("Not known now")


def test_each_level_says_so_in_words(service, open_page):
    page = open_page(service)
    told = service.client.get("/v1/overview").json()
    clean, page_ = told["overview"][0], "https://docs.example/clock.md"
    alarm = {"why": "a clock is wrong", "page": page_, "since": None, "of_workers": [0]}
    levels = {"red": "✕ Trouble", "unknown": "? Not known", "amber": "! Warning"}
    told["overview"] = [
        {**clean, "namespace": level, "level": level, "alarms": [{**alarm, "level": level}]}
        for level in levels
    ]
    worker = {**clean["workers"][0], "clock_offset_s": -7.0, "renew_failures": 12, "silent": True}
    told["overview"][0]["workers"] = [worker]
    told["tokens"] = [
        {"name": "shop", "token_namespaces": ["a"], "scopes": ["issue"], "left": 590,
         "expires": "2026-12-01T00:00:00Z", "expires_in_s": 86_400.0, "ids_per_minute": 600},
    ]  # fmt: skip
    told["replies"] = [{"door": "id", "status": 200, "count": 9}]
    told["replies"] += [{"door": one, "status": 429, "count": 2} for one in ("id", "ids")]
    told["http_errors"] = [0, 4]
    page.route("**/overview", lambda route: route.fulfill(json=told))
    claims_of(page, {}, {"node": "6", "host": "db8"})
    page.get_by_role("link", name="Watch").click()
    for level, words in levels.items():
        expect(space(page, level).locator(".badge")).to_have_text(words)
        expect(space(page, level)).to_contain_text("A clock is wrong")
    page.get_by_label("Namespace").evaluate("s => s.append(new Option('red', 'red'))")
    space(page, "red").get_by_role("button").click()
    row = page.locator("#workers tbody tr")
    expect(row.locator("[data-name='Clock offset']")).to_have_text("7 seconds behind")
    expect(row.locator("[data-name='Failed renewals']")).to_have_text("12")
    expect(row.locator("strong")).to_contain_text("UTC")
    expect(page.locator("#tokens tbody tr")).to_contain_text("2026-12-01, in 1 day")
    expect(page.locator("#tokens tbody tr")).to_contain_text("590")
    expect(page.locator("#replies")).to_contain_text("13 replies; errors since the start: 4")
    expect(page.locator("#replies tbody tr")).to_contain_text("id 2, ids 2")
    hosts = page.get_by_label("Instances by host").locator("tbody tr")
    expect(hosts).to_have_count(2)
    expect(hosts.first).to_contain_text("4711")


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
    page.route("**/overview", lambda route: route.fulfill(status=503, json={"title": "x"}))
    page.get_by_role("link", name="Watch").click()
    stale = re.compile("stale")
    for part in ("#overview", "#workers", "#tokens"):
        expect(page.locator(part)).to_have_class(stale)
    expect(page.locator("#claims")).not_to_have_class(stale)
    page.unroute("**/overview")
    expect(page.locator("#overview")).not_to_have_class(stale)


def test_a_layout_whose_time_is_full(service, open_page):
    page = open_page(service)
    told = service.client.get("/v1/overview").json()
    for one in told["overview"]:
        one["workers"][0]["exhausted_in_s"] = -1e8
    page.route("**/overview", lambda route: route.fulfill(json=told))
    page.get_by_role("link", name="Watch").click()
    expect(answer(page, "Layout lifetime")).to_contain_text("expired")
    expect(answer(page, "Layout lifetime")).to_contain_text("the time field is full")
