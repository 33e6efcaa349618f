"""axe-core finds nothing in the console: each part, light and dark, on phone, tablet and desktop.

The token dialog and the message of a missing scope are parts here too. All rules of levels A and AA
run, and the best practices, which include the order of headings. Level AAA is left out.
"""

from importlib.resources import files

import pytest

from tests.browser.window import ID, LINE, claims_of, expect, inspect, token

AXE = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
WIDTHS = (390, 768, 1280)
THEMES = ("light", "dark")
TOKEN = "frazil_for_this_test"
GUARDED = "[namespaces.orders]\n" + token("view", "inspect", secret=TOKEN)
FINDINGS = """
async () => {
  const wanted = ({ tags }) => !tags.some((tag) => tag === "deprecated" || tag.endsWith("aaa"));
  const rules = Object.fromEntries(
    axe.getRules().filter(wanted).map(({ ruleId }) => [ruleId, { enabled: true }]));
  const { violations, passes } = await axe.run(document, { rules, resultTypes: ["violations"] });
  const lines = violations.flatMap(({ id, nodes }) => nodes.map((node) =>
    `${id} (${node.impact}): ${node.target.join(" ")}: ${node.failureSummary}`));
  return [lines, passes.length];
}
"""


def nothing_found(page):
    """Check each width in each theme."""
    page.evaluate(AXE)
    findings = []
    for theme in THEMES:
        page.emulate_media(color_scheme=theme)
        expect(page.locator("html")).to_have_attribute("data-theme", theme)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            lines, passed = page.evaluate(FINDINGS)
            assert passed > 20, "axe did not run its rules"
            findings += [f"{theme}, {width} px: {line}" for line in lines]
    assert findings == [], "\n".join(findings)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (LINE, 1),
        (f"{ID} was replaced by {int(ID) + (1 << 22)}", 2),
        ("017f22e2-79b0-7cc3-98c4-dc0c0c07398f", 1),
        ("no such thing", 0),
    ],
)
def test_inspect(service, open_page, text, count):
    page = open_page(service)
    if not count:
        nothing_found(page)  # before an ID is pasted
    inspect(page, text)
    expect(page.locator("article, #inspect-problem:visible").first).to_be_visible()
    expect(page.get_by_role("article")).to_have_count(count)
    nothing_found(page)


def test_plan(service, open_page):
    page = open_page(service, "#plan")
    expect(page.locator(".answer:visible").first).to_be_visible()
    page.get_by_role("button", name="Propose layouts").click()
    expect(page.locator(".proposal").first).to_be_visible()
    nothing_found(page)


@pytest.mark.parametrize("states", [(), ("held", "idle", "free")], ids=["none", "each state"])
def test_watch(service, open_page, states):
    page = open_page(service)
    claims = [{"node": str(node), "state": state} for node, state in enumerate(states)]
    claims_of(page, *claims, counts={each: states.count(each) for each in ("held", "idle", "free")})
    page.get_by_role("link", name="Watch").click()
    expect(page.locator(".answer:visible").first).to_be_visible()
    if states:
        page.get_by_label("Show free slots").check()
    expect(page.locator("#claims .badge")).to_have_count(len(states))
    nothing_found(page)


def test_the_token_dialog_and_a_missing_scope(start, open_page):
    page = open_page(start(GUARDED), "#watch")
    field = page.get_by_label("Token", exact=True)
    expect(field).to_be_focused()
    nothing_found(page)
    field.fill(TOKEN)
    page.keyboard.press("Enter")
    expect(page.locator("#watch-problem")).to_be_visible()
    nothing_found(page)
