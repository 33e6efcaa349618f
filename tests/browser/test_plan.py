"""Plan in the browser: dragged, typed, by keyboard; all results come from the service."""

import re

import pytest

from frazil.reading.capacity import Need, plan_of, proposals
from tests.browser.window import answer, expect

ICICLE = "sign:1=0 time:41 node:10 sequence:12 @1ms since 2016-02-18T09:43:20.316Z"


@pytest.fixture
def page(service, open_page):
    page = open_page(service, "#plan", permissions=["clipboard-read", "clipboard-write"])
    expect(text(page)).to_have_value(ICICLE)
    return page


def text(page):
    return page.get_by_label("Layout string", exact=True)


def border(page, left, right):
    return page.get_by_role("slider", name=f"Border between {left} and {right}")


def test_a_border_is_dragged(page):
    bar, handle = page.locator(".bar"), border(page, "node", "sequence")
    width, box = bar.bounding_box()["width"], handle.bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, y)
    page.mouse.down()
    for step in range(1, 11):
        page.mouse.move(box["x"] + box["width"] / 2 + width / 64 * 4 * step / 10, y)
    page.mouse.up()
    layout = ICICLE.replace("node:10 sequence:12", "node:14 sequence:8")
    expect(text(page)).to_have_value(layout)
    expect(answer(page, "Nodes")).to_contain_text("16,384")
    expect(answer(page, "Capacity")).to_contain_text("256,000 per node")
    page.mouse.move(box["x"], y)  # let go is let go
    expect(text(page)).to_have_value(layout)


def test_a_border_is_moved_by_keys(page):
    handle = border(page, "time", "node")
    handle.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("PageDown")
    expect(handle).to_have_attribute("aria-valuenow", "36")
    expect(handle).to_have_attribute("aria-valuetext", "time 36 bits, node 15 bits")
    expect(handle).to_be_focused()
    expect(answer(page, "Lifetime")).to_contain_text("2.2 years")
    expect(answer(page, "Lifetime")).to_have_class(re.compile("bad"))
    page.keyboard.press("End")
    expect(handle).to_have_attribute("aria-valuenow", "50")
    page.keyboard.press("Home")
    expect(handle).to_have_attribute("aria-valuenow", "1")


def test_a_slider_keeps_the_sum_or_not(page):
    node = page.get_by_role("slider", name="node", exact=True)
    node.focus()
    page.keyboard.press("ArrowRight")
    expect(text(page)).to_have_value(ICICLE.replace("time:41 node:10", "time:40 node:11"))
    page.get_by_label("Keep the total").uncheck()
    node.focus()
    page.keyboard.press("ArrowRight")
    expect(text(page)).to_have_value(ICICLE.replace("time:41 node:10", "time:40 node:12"))
    expect(page.get_by_text("65 bits in total")).to_be_visible()
    expect(answer(page, "BIGINT")).to_contain_text("No")


@pytest.mark.parametrize("name", ["js53", "tsid", "uniqueid-spread", "tickets", "chibrary-40"])
def test_a_preset_is_shown_as_the_service_plans_it(page, name):
    page.get_by_label("Start with").select_option(name)
    plan = plan_of(name)
    told = plan.as_json()
    expect(text(page)).to_have_value(str(plan.layout))
    if plan.unsorted:
        expect(answer(page, "Sorts by time")).to_contain_text(plan.unsorted)
    for title, flag in [("JavaScript", "javascript_safe"), ("BIGINT", "bigint_safe")]:
        expect(answer(page, title)).to_contain_text("Yes" if told[flag] else "No")
    expect(answer(page, "Characters")).to_contain_text(f"{plan.id_max:,}")  # all its digits


def test_a_field_in_pieces_stays_one(page):
    page.get_by_label("Start with").select_option("uniqueid-spread")
    handle = border(page, "sequence", "node")
    handle.focus()
    page.keyboard.press("ArrowLeft")
    expect(text(page)).to_have_value(re.compile(r"sequence:5 node\[11\.\.8\] .*node\[7\.\.0\]"))
    expect(answer(page, "Nodes")).to_contain_text("4,096")


def test_fields_go_and_come(page):
    page.get_by_role("button", name="Remove sequence").click()
    expect(text(page)).to_have_value(
        ICICLE.replace("time:41 node:10 sequence:12", "time:53 node:10")
    )
    expect(page.get_by_role("slider", name="sign = 0")).to_be_focused()  # its button is gone
    page.get_by_role("button", name="Add sequence").click()
    expect(page.get_by_role("slider", name="sequence", exact=True)).to_be_focused()
    expect(text(page)).to_have_value(
        ICICLE.replace("time:41 node:10 sequence:12", "time:45 node:10 sequence:8")
    )


def test_the_rest_is_shown_beside_the_total(page):
    lasts = answer(page, "Lifetime")
    expect(lasts).to_contain_text(re.compile(r"\d\d years left"))
    expect(lasts).to_contain_text("of 70 years, until 2085-10-25")
    text(page).fill("time:20 node:10 sequence:12 @1ms since 2025-01-01T00:00:00Z")
    expect(lasts).to_contain_text("Expired")
    expect(lasts).to_contain_text("2025-01-01 00:17:28.576 UTC")
    expect(lasts).to_contain_text("after 17 minutes")
    expect(lasts).to_have_class(re.compile("bad"))


def test_a_text_is_typed(page):
    text(page).fill("time:32 node:8 sequence:13 @1s since 2025-01-01T00:00:00Z")
    expect(answer(page, "JavaScript")).to_contain_text("Yes")
    expect(answer(page, "Lifetime")).to_contain_text("136 years")
    expect(border(page, "time", "node")).to_have_attribute("aria-valuenow", "32")
    text(page).fill("time:32 nodes:8 @1s since 2025-01-01T00:00:00Z")
    problem = page.locator("#plan-problem")
    expect(problem).to_contain_text("nodes is not one of time, run, node, sequence")
    expect(text(page)).to_have_attribute("aria-invalid", "true")
    text(page).fill("tsid")
    expect(problem).to_be_hidden()
    expect(page.get_by_label("Start with")).to_have_value("tsid")


def test_tick_and_epoch(page):
    page.get_by_label("Tick").select_option("10ms")
    expect(answer(page, "Lifetime")).to_contain_text("697 years")
    epoch = page.get_by_label("Epoch")
    epoch.fill("2025-13-01")
    epoch.press("Tab")
    expect(page.locator("#plan-problem")).to_contain_text("cannot read '2025-13-01'")
    epoch.fill("2025-01-01T00:00:00Z")
    epoch.press("Tab")
    expect(page.locator("#plan-problem")).to_be_hidden()


def test_a_need_is_answered_by_layouts_to_take(page):
    for label, value in [("Nodes", 200), ("IDs per second of each", 5000), ("Until the end", 2060)]:
        page.get_by_role("spinbutton", name=label).fill(str(value))
    page.get_by_role("button", name="Propose layouts").click()
    wide, narrow, uuid = proposals(Need(200, 5000, 2060))
    sections = page.locator(".proposal")
    expect(sections).to_have_count(3)
    expect(sections.first).to_contain_text("icicle")
    expect(sections.first).to_contain_text(re.compile(r"\d\d years left, until 2085-10-25"))
    expect(sections.nth(1)).to_contain_text("53 bits, JavaScript numbers hold it exactly")
    expect(sections.last).to_contain_text("128 bits, store it as a UUID, bytes or text")
    expect(sections.last).to_contain_text(re.compile(r"years left, until year 10889"))
    sections.nth(1).get_by_role("button", name="Take this layout").click()
    expect(text(page)).to_have_value(str(narrow.layout))
    expect(text(page)).to_be_focused()
    expect(page.get_by_label("Start with")).to_have_value("")
    expect(answer(page, "JavaScript")).to_contain_text("Yes")
    sections.first.get_by_role("button", name="Take this layout").click()
    expect(page.get_by_label("Start with")).to_have_value(wide.name)
    sections.last.get_by_role("button", name="Take this layout").click()
    expect(page.get_by_label("Start with")).to_have_value(uuid.name)


def test_a_need_that_is_not_possible(page):
    page.get_by_label("Until the end").fill("1999")
    page.get_by_role("button", name="Propose layouts").click()
    expect(page.locator("#need-problem")).to_contain_text("until: 1999 is outside")
    expect(page.locator(".proposal")).to_have_count(0)
    page.get_by_label("Until the end").fill("2060")
    page.keyboard.press("Enter")
    expect(page.locator(".proposal")).to_have_count(3)
    expect(page.locator("#need-problem")).to_be_hidden()


def test_the_text_form_is_copied(page):
    page.get_by_role("button", name="Copy the layout string").click()
    expect(page.get_by_role("button", name="Copy the layout string")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == ICICLE


def test_an_older_answer_does_not_replace_the_choice(page):
    held = []

    def hold(route):
        held.append(route)

    page.route("**/plan", hold)
    border(page, "node", "sequence").press("ArrowRight")
    expect(text(page)).to_have_value(re.compile("node:11 sequence:11"))
    page.get_by_label("Start with").select_option("js53")
    expect(answer(page, "JavaScript")).to_contain_text("Yes")
    with page.expect_response("**/plan"):
        held[0].continue_()
    page.unroute("**/plan")
    page.evaluate("() => new Promise(requestAnimationFrame)")
    expect(answer(page, "JavaScript")).to_contain_text("Yes")
    border(page, "node", "sequence").press("ArrowRight")  # and the next question is asked
    expect(page.get_by_label("Start with")).to_have_value("")


def test_a_text_typed_while_the_service_is_lost_is_sent_later(page):
    page.route("**/v1/plan", lambda route: route.abort())
    page.route("**/livez", lambda route: route.abort())
    text(page).fill("tsid")
    expect(page.locator("#lost")).to_contain_text("does not answer")
    page.unroute("**/v1/plan")
    page.unroute("**/livez")
    expect(page.get_by_label("Start with")).to_have_value("tsid")
    expect(text(page)).to_have_value("tsid")


def test_a_hidden_plan_is_not_read_out(service, open_page):
    page = open_page(service, "#inspect")
    expect(page.locator("#plan-text")).to_have_value(ICICLE)  # it is there
    expect(page.get_by_role("status")).to_be_empty()
