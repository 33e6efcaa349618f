"""Inspect in the browser: log lines, coloured bits, neighbours, periods, errors."""

import re
import secrets

import pytest

import frazil
from frazil.layout.drawing import COLOURS
from frazil.reading.capacity import plan_of
from frazil.reading.search import Search
from frazil.system.clock import moment_text, wall_us
from tests.browser.window import ID, LINE, expect, inspect


def rgb(colour):
    return f"rgb({', '.join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))})"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_line_shows_its_bits_in_the_colours_of_the_fields(service, open_page, theme):
    page = open_page(service, color_scheme=theme)
    inspect(page, LINE)
    finding = page.get_by_role("article", name=f"ID {ID}")
    expect(finding).to_contain_text("icicle, decimal, 64 bits")
    bits = finding.locator(".bit")
    expect(bits).to_have_count(64)
    shown = bits.evaluate_all("all => all.map((b) => b.lastChild.textContent).join('')")
    assert shown == f"{int(ID):064b}"
    for field in frazil.scheme().layout.fields:
        cells = finding.locator(f'.bit[data-field="{field.name}"]')
        expect(cells).to_have_count(field.bits)
        colour = rgb(COLOURS[field.role][theme == "dark"])
        expect(cells.first).to_have_css("background-color", colour)
        expect(cells.last).to_have_css("background-color", colour)


def test_every_field_has_its_value_and_what_it_means(service, open_page):
    page = open_page(service, timezone_id="UTC")
    inspect(page, ID)
    rows = page.get_by_role("region", name="Fields").get_by_role("row")
    time, node, sequence = (rows.filter(has_text=name) for name in ("time", "node", "sequence"))
    values = frazil.scheme().unpack(int(ID))
    expect(time).to_contain_text(f"{values['time']:,}")
    expect(time).to_contain_text("2026-07-10 15:50:38.406 UTC")
    expect(node).to_contain_text(f"{values['node']}")
    expect(node).to_contain_text("from 0 to 1,023")
    expect(sequence).to_contain_text("from 0 to 4,095")


def test_its_time_on_the_local_clock(service, open_page):
    page = open_page(service, timezone_id="Asia/Tokyo", locale="en-US")
    inspect(page, ID)
    fields = page.get_by_role("region", name="Fields")
    expect(fields).to_contain_text("local Jul 11, 2026, 12:50:38")


def test_neighbours_are_exact_and_are_links(service, open_page):
    """Above 2**53, a neighbour computed as a JavaScript number would equal this ID."""
    page = open_page(service)
    inspect(page, ID)
    after = str(int(ID) + 1)
    page.get_by_role("button", name=after).click()
    expect(page.get_by_role("article", name=f"ID {after}")).to_be_visible()
    assert page.url.endswith(f"#inspect={after}")
    page.go_back()
    expect(page.get_by_role("article", name=f"ID {ID}")).to_be_visible()


def test_the_time_around_it_as_ranges(service, open_page, browser):
    page = open_page(service, permissions=["clipboard-read", "clipboard-write"])
    inspect(page, ID)
    minute = page.get_by_role("row").filter(has_text="Same minute")
    scheme = frazil.scheme()
    start = scheme.unpack(int(ID)).moment_us // 60_000_000 * 60_000_000
    ids = scheme.window(start, start + 60_000_000)
    expect(minute).to_contain_text("2026-07-10 15:50:00 UTC")
    expect(minute).to_contain_text(f"{ids[0]} to {ids[-1]}")
    minute.get_by_role("button", name=re.compile("Copy")).click()
    expect(page.get_by_role("status")).to_have_text(re.compile("Copied the SQL range: same minute"))
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == f"BETWEEN {ids[0]} AND {ids[-1]}"


def test_ids_that_do_not_sort_have_no_ranges(service, open_page):
    page = open_page(service)
    scheme = frazil.scheme("uniqueid-spread")
    tick = scheme.layout.tick_at(wall_us())
    inspect(page, scheme.format(scheme.pack(time=tick, sequence=1, node=3)))
    expect(page.get_by_role("article")).to_contain_text(
        f"IDs of a period do not form one range: {plan_of('uniqueid-spread').unsorted}."
    )
    expect(page.get_by_role("button", name="SQL range")).to_have_count(0)


def test_several_ids_of_one_line(service, open_page):
    page = open_page(service)
    other = str(int(ID) + (1 << 22))
    inspect(page, f"{ID} was replaced by {other}")
    expect(page.get_by_role("article")).to_have_count(2)
    expect(page.get_by_role("status")).to_contain_text("2 IDs found")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("13753543844x4488193", "'x' is not a character of decimal"),
        ("nothing of the kind", "no ID was found in 'nothing of the kind'"),
        ("9999999999999999999", "its sign is 1, not 0"),
        ("", "paste an ID first"),
        ("<img src=x onerror=alert(1)>", "no ID was found in '<img src=x onerror=alert(1)>'"),
    ],
)
def test_the_error_of_a_wrong_id(service, open_page, text, words):
    page = open_page(service)
    inspect(page, ID)
    expect(page.get_by_role("article")).to_be_visible()
    inspect(page, text)
    expect(page.locator("#inspect-problem")).to_contain_text(words)
    expect(page.get_by_role("article")).to_have_count(0)
    expect(page.get_by_label("Paste an ID")).to_have_attribute("aria-invalid", "true")
    inspect(page, ID)
    expect(page.locator("#inspect-problem")).to_be_hidden()


def test_keyed_text_is_decrypted(start, open_page, monkeypatch):
    monkeypatch.setenv("ORDER_KEY", secrets.token_hex(32))
    order = frazil.scheme(prefix="order_", key="env:ORDER_KEY")
    config = '[namespaces.orders]\nregistry = "memory:"\nprefix = "order_"\nkey = "env:ORDER_KEY"\n'
    page = open_page(start(config))
    text = order.format(int(ID))
    inspect(page, f"GET /orders/{text} 200")
    finding = page.get_by_role("article")
    expect(finding).to_have_count(1)
    expect(finding).to_contain_text(text)
    expect(finding).to_contain_text(ID)
    expect(finding).to_contain_text(str(order.unpack(int(ID)).node))


@pytest.mark.parametrize(
    "text",
    [
        "c232ab00-9414-11ec-b3c8-9f6bdeced846",
        "550e8400-e29b-41d4-a716-446655440000",
        "1ec9414c-232a-6b00-b3c8-9f6bdeced846",
        "017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
        "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "0ujtsYcgvSTl8PAuAdqWYSMnLOv",
        "9m4e2mr0ui3e8a215n4g",
        "507f1f77bcf86cd799439011",
        "user_01h455vb4pex5vsknk084sn02q",
    ],
)
def test_ids_of_other_systems_are_shown_with_their_parts(service, open_page, text):
    """As ``frazil inspect`` reads them."""
    (found,) = Search(frazil.scheme(), wall_us()).find(text)
    page = open_page(service, timezone_id="UTC")
    inspect(page, text)
    finding = page.get_by_role("article", name=text)
    expect(finding).to_contain_text(f"{found.foreign.format}, {found.foreign.written}")
    rows = finding.get_by_role("region", name="Fields").locator("tbody tr")
    expect(rows).to_have_count(len(found.foreign.parts))
    for row, part in zip(rows.all(), found.foreign.parts, strict=True):
        value = f"{part.value:,}" if part.counted else part.text
        expect(row).to_contain_text(part.name)
        expect(row.locator(".value")).to_have_text(value)
    for other in found.foreign.others:
        expect(finding).to_contain_text(f"could also be an ID of {other}")
    if found.foreign.moment_us is not None:
        expect(finding.locator(".when")).to_contain_text(
            moment_text(found.foreign.moment_us).replace("T", " ").removesuffix("Z")
        )


def test_another_scheme_is_asked_about(service, open_page):
    page = open_page(service)
    inspect(page, ID)
    page.get_by_role("button", name="snowflake").click()
    expect(page.get_by_role("article")).to_contain_text("snowflake, decimal, 64 bits")


def test_a_new_id_of_the_namespace_that_is_chosen(service, open_page):
    page = open_page(service)
    page.get_by_label("Namespace").select_option("orders")
    page.get_by_role("button", name="Create an ID").click()
    expect(page.get_by_role("article")).to_contain_text(re.compile("order_[0-9A-Z]{13}"))
    expect(page.get_by_role("article")).to_contain_text("tsid")


def test_an_address_names_an_id(service, open_page):
    page = open_page(service, f"#inspect={ID}")
    expect(page.get_by_role("article", name=f"ID {ID}")).to_be_visible()


@pytest.mark.parametrize("width", [390, 820, 1440])
def test_nothing_of_an_id_is_out_of_sight(service, open_page, width):
    """Neither a button beside a range nor the end of a number."""
    page = open_page(service, viewport={"width": width, "height": 900})
    inspect(page, ID)
    boxes = page.locator(".finding .scroll")
    expect(boxes).to_have_count(2)
    assert boxes.evaluate_all("all => all.filter((e) => e.scrollWidth > e.clientWidth).length") == 0
    number = page.locator(".texts code").first
    expect(number).to_have_text(ID)
    assert number.evaluate("e => e.getClientRects().length") == 1
