"""The frame: keyboard, themes, narrow windows, tokens, and no other hosts."""

import re

import pytest

from tests.browser.window import ID, LINE, claims_of, expect, token

PARTS = ["inspect", "plan", "watch"]
TOKEN = "frazil_for_this_test"
GUARDED = f"""
[namespaces.orders]
{token("boss", "issue", "inspect", "admin", secret=TOKEN)}
{token("view", "inspect", secret=TOKEN + "view")}
"""


def focused(page):
    """Return the name or text of the focused element."""
    return page.evaluate(
        "(e => e.getAttribute('aria-label') || e.labels?.[0]?.textContent || e.textContent)"
        "(document.activeElement)"
    ).strip()


def tab_to(page, name, most=60):
    for _ in range(most):
        page.keyboard.press("Tab")
        if re.search(name, focused(page)):
            return
    raise AssertionError(f"no way to {name} by Tab; at {focused(page)}")


def ring(page):
    """Return the width of the focus ring."""
    style, width = page.evaluate(
        "(({ outlineStyle, outlineWidth }) => [outlineStyle, outlineWidth])"
        "(getComputedStyle(document.activeElement))"
    )
    return 0 if style == "none" else float(width.removesuffix("px"))


def test_everything_by_keys_alone(service, open_page):
    page = open_page(service)
    expect(page.get_by_label("Namespace").locator("option")).to_have_count(2)
    page.keyboard.press("Tab")
    assert focused(page) == "Skip to content"
    page.keyboard.press("Enter")
    tab_to(page, "Paste an ID")
    page.keyboard.type(LINE)
    page.keyboard.press("Enter")
    expect(page.get_by_role("article")).to_be_visible()
    tab_to(page, f"^{int(ID) + 1}$")
    assert ring(page) >= 2
    page.keyboard.press("Enter")
    expect(page.get_by_role("article", name=f"ID {int(ID) + 1}")).to_be_visible()
    page.reload()
    tab_to(page, "^Plan$")
    assert ring(page) >= 2
    page.keyboard.press("Enter")
    expect(page.get_by_label("Layout string", exact=True)).to_have_value(re.compile("node:10"))
    tab_to(page, "Border between time and node")
    assert ring(page) >= 2
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_label("Layout string", exact=True)).to_have_value(re.compile("node:11"))
    page.reload()
    tab_to(page, "^Watch$")
    page.keyboard.press("Enter")
    tab_to(page, "Show free slots")
    page.keyboard.press("Space")
    expect(page.get_by_label("Show free slots")).to_be_checked()


def test_dark_as_the_system_and_by_the_switch(service, open_page):
    page = open_page(service, color_scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    switch = page.locator("#theme")
    expect(switch).to_have_text("Light")
    dark = page.evaluate(ground)
    page.emulate_media(color_scheme="light")
    expect(switch).to_have_text("Dark")
    light = page.evaluate(ground)
    assert dark != light
    switch.click()
    assert page.evaluate(ground) == dark
    page.reload()
    assert page.evaluate(ground) == dark
    switch.click()
    assert page.evaluate(ground) == light
    page.emulate_media(color_scheme="dark")  # back to what the system says
    expect(switch).to_have_text("Light")


@pytest.mark.parametrize("part", PARTS)
def test_a_narrow_window_needs_no_scrolling_sideways(service, open_page, part):
    page = open_page(
        service, f"#{part}" + f"={ID}" * (part == "inspect"), viewport={"width": 320, "height": 640}
    )
    claims_of(page, {"host": "a-host-with-a-long-name.example"})
    if part == "watch":
        expect(page.locator(".claim")).to_be_visible()
    expect(page.locator("article:visible, .answer:visible").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    for link in page.get_by_role("navigation").get_by_role("link").all():
        assert link.bounding_box()["x"] + link.bounding_box()["width"] <= 320


def test_a_token_is_requested_and_stays_in_the_tab(start, open_page):
    service = start(GUARDED)
    page = open_page(service)
    field = page.get_by_label("Token", exact=True)
    expect(field).to_be_focused()
    field.fill("frazil_wrong")
    page.keyboard.press("Enter")
    expect(page.locator("#token-why")).to_contain_text("not known here")
    page.get_by_label("Token", exact=True).fill(TOKEN)
    page.keyboard.press("Enter")
    expect(page.get_by_label("Namespace")).to_have_value("orders")
    page.get_by_role("button", name="Create an ID").click()
    expect(page.get_by_role("article")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Namespace")).to_have_value("orders")
    assert TOKEN not in page.url
    assert page.evaluate("JSON.stringify({...localStorage})") == "{}"
    assert page.evaluate("document.cookie") == ""
    other = page.context.new_page()
    other.goto(service.url)
    expect(other.get_by_label("Token", exact=True)).to_be_focused()
    page.get_by_role("button", name="Token").click()
    page.get_by_role("button", name="Forget token").click()
    expect(page.get_by_label("Token", exact=True)).to_be_focused()


def test_a_token_without_the_scope_shows_the_reason(start, open_page):
    page = open_page(start(GUARDED), "#watch")
    page.get_by_label("Token", exact=True).fill(TOKEN + "view")
    page.keyboard.press("Enter")
    problem = page.locator("#watch-problem")
    expect(problem).to_contain_text("this needs the scope 'admin', and the token has inspect")
    page.get_by_role("link", name="Inspect", exact=True).click()
    page.get_by_role("button", name="Create an ID").click()
    expect(page.locator("#inspect-problem")).to_contain_text("this needs the scope 'issue'")


def test_the_policy_allows_nothing_else(service, browser):
    """The policy works in the browser: it blocks injected text and other hosts."""
    page = browser.new_page()
    page.goto(service.url)
    done = page.evaluate(
        """async () => {
          const tried = {};
          tried.elsewhere = await fetch("http://127.0.0.2:1/").catch(() => "refused");
          try { document.body.innerHTML = "<b>x</b>"; } catch (e) { tried.html = e.name; }
          const script = document.createElement("script");
          try { script.text = "window.ran = true"; } catch (e) { tried.script = e.name; }
          const broken = new Promise((done) => {
            const told = ({ effectiveDirective: rule }) => rule === "frame-src" && done(rule);
            addEventListener("securitypolicyviolation", told);
          });
          const frame = document.createElement("iframe");
          frame.src = "/livez";
          document.body.append(frame);
          tried.frame = await broken;
          return tried;
        }"""
    )
    page.close()
    assert done == {
        "elsewhere": "refused",
        "html": "TypeError",
        "script": "TypeError",
        "frame": "frame-src",
    }
