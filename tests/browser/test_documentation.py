"""The documentation site in a browser: axe-core finds nothing, and nothing is asked of other hosts.

The text of every page is read in one of six ways (light and dark, three widths). Pages with each
kind of content are read whole, with what stands around the text of all pages, in two more, which
have both colours and the least and the greatest width, and at night in a third. All pages in all
ways took twenty minutes of a busy machine, and found nothing more.
"""

import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.needs import needs
from tests.tools.site import build

if TYPE_CHECKING:
    from tests.browser.window import Browser, Page

WAYS = [(scheme, width) for scheme in ("light", "dark") for width in (390, 820, 1440)]
KINDS = [
    "index.html",
    "evidence/benchmarks.html",
    "evidence/torture.html",
    "explain/why-unique.html",
    "how-to/service.html",
    "reference/command.html",
    "reference/layouts.html",
    "reference/python.html",
    "start/layout.html",
    "start/tutorial.html",
]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None: ...


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """The folder of the site, and its address."""
    for module in ("mkdocs", "mkdocstrings", "axe_playwright_python"):
        needs(module, "the documentation site in a browser")
    folder = tmp_path_factory.mktemp("site") / "site"
    done = build(folder)
    assert done.returncode == 0, done.stderr
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture
def opened(browser: "Browser") -> Iterator[Callable[[str, int], "Page"]]:
    """Opens windows, and closes them at the end."""
    windows = []

    def open_one(scheme: str, width: int) -> "Page":
        windows.append(
            browser.new_context(viewport={"width": width, "height": 1000}, color_scheme=scheme)
        )
        return windows[-1].new_page()

    yield open_one
    for window in windows:
        window.close()


def findings(page: "Page", part: str | None = None) -> list[str]:
    """What axe-core finds wrong with the page that is open, or with a part of it."""
    from axe_playwright_python.sync_playwright import Axe

    return [
        f"{one['id']}: {node['html'][:120]}"
        for one in Axe().run(page, context=part).response["violations"]
        for node in one["nodes"]
    ]


@pytest.mark.nightly
@pytest.mark.parametrize(("scheme", "width"), WAYS)
def test_axe_finds_nothing(site, opened, scheme: str, width: int) -> None:
    paths = sorted(path.relative_to(site[0]).as_posix() for path in site[0].rglob("*.html"))
    mine = paths[WAYS.index((scheme, width)) :: len(WAYS)]
    read(site, opened, scheme, width, mine, part=".md-content")


@pytest.mark.parametrize(
    ("scheme", "width"),
    [("light", 390), ("dark", 1440), pytest.param("dark", 820, marks=pytest.mark.nightly)],
)
def test_axe_finds_nothing_in_each_kind_of_content(site, opened, scheme: str, width: int) -> None:
    read(site, opened, scheme, width, KINDS)


def read(
    site: Any, opened: Any, scheme: str, width: int, paths: list[str], part: str | None = None
) -> None:
    """Read pages in one way: nothing is found in them, nor asked of another host."""
    _, address = site
    page = opened(scheme, width)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    found = {}
    for path in paths:
        page.goto(address + path)
        page.wait_for_function(
            "document.querySelectorAll('table:not([class])').length === 0 ||"
            " document.querySelector('.md-typeset__scrollwrap') !== null"
        )
        found[path] = findings(page, part)
        if found[path]:  # of a sidebar, say, whose height the page's script has not set yet
            page.wait_for_timeout(1000)
            found[path] = findings(page, part)
        wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wide <= 0, f"{path} scrolls to the side"
    assert {path: each for path, each in found.items() if each} == {}
    assert [url for url in asked if not url.startswith(address)] == []


def test_axe_finds_what_is_wrong(opened) -> None:
    needs("axe_playwright_python", "the documentation site in a browser")
    page = opened("light", 820)
    page.set_content("<main><h1>x</h1><img src='x.png'><p style='color:#ccc'>pale</p></main>")
    rules = {each.partition(":")[0] for each in findings(page)}
    assert {"image-alt", "color-contrast"} <= rules


def test_what_a_phone_cuts_off_fades_until_it_is_scrolled_to(site, opened) -> None:
    _, address = site
    page = opened("light", 390)
    page.goto(f"{address}index.html")
    region = page.locator(".drawing").first
    region.and_(page.locator("[data-more]")).wait_for()
    assert "gradient" in region.evaluate("region => getComputedStyle(region).maskImage")
    region.evaluate("region => region.scrollTo(region.scrollWidth, 0)")
    page.locator(".drawing:not([data-more])").first.wait_for()
    assert region.evaluate("region => getComputedStyle(region).maskImage") == "none"


def test_the_first_page_is_one_screen(site, opened) -> None:
    _, address = site
    page = opened("light", 1440)
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(f"{address}index.html")
    for part in (".drawing", ".claims", "table", ".ways"):
        box = page.locator(part).first.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 900


def test_the_claims_fit_a_phone(site, opened) -> None:
    _, address = site
    page = opened("dark", 390)
    page.goto(f"{address}index.html")
    wide = page.locator(".claims").evaluate("each => [each.scrollWidth, each.clientWidth]")
    assert wide[0] == wide[1]


def test_a_phone_shows_names_whole_and_what_a_parameter_means(site, opened) -> None:
    _, address = site
    page = opened("light", 390)
    page.goto(f"{address}start/layout.html")
    name = page.locator("td code", has_text="uniqueid-sequential")
    assert name.evaluate("name => name.getClientRects().length") <= 2  # broken at the hyphen
    assert page.locator("td code", has_text="snowflake").bounding_box()["height"] < 25
    page.goto(f"{address}reference/http.html")
    meaning = page.get_by_role("cell", name="The number of IDs.").bounding_box()
    assert meaning["x"] + meaning["width"] <= 390


@pytest.mark.parametrize("place", ["a server", "a disk"])
def test_search_finds_a_page_without_a_network(site, opened, place: str) -> None:
    folder, address = site
    page = opened("light", 1440)
    page.goto(f"{address}index.html" if place == "a server" else (folder / "index.html").as_uri())
    page.get_by_role("textbox", name="Search").press_sequentially("horizon")
    result = page.locator(".md-search-result__item").first
    result.wait_for()
    assert "horizon" in result.inner_text().lower()


@pytest.mark.parametrize(
    ("words", "first"), [("docker", "start/hosts.html"), ("how many bits", "start/layout.html")]
)
def test_the_first_result(site, opened, words: str, first: str) -> None:
    """Words beside punctuation are found, and a decision comes after the pages for users."""
    _, address = site
    page = opened("light", 1440)
    page.goto(f"{address}index.html?q={words}")
    result = page.locator(".md-search-result__link").first
    result.wait_for(state="attached")
    assert f"/{first}" in result.get_attribute("href")


def test_the_switch_turns_the_colours(site, opened) -> None:
    _, address = site
    page = opened("light", 1440)
    page.goto(f"{address}reference/layouts.html")
    colours = "document.body.dataset.mdColorScheme"
    page.get_by_title("Switch to light mode").click()
    ground = "getComputedStyle(document.querySelector('.frazil-drawing .ground')).fill"
    light = page.evaluate(ground)
    page.get_by_title("Switch to dark mode").click()
    assert page.evaluate(colours) == "slate"
    assert page.evaluate(ground) != light
    page.reload()
    assert page.evaluate(colours) == "slate"
    page.get_by_title("Switch to the mode of the system").click()
    assert page.evaluate(colours) == "default"


def test_the_colours_follow_the_system(site, opened) -> None:
    """Also after an earlier visit, as long as the switch was not touched."""
    _, address = site
    page = opened("light", 1440)
    for path in ("index.html", "reference/layouts.html"):
        page.goto(f"{address}{path}")
        for scheme, colours in (("light", "default"), ("dark", "slate")):
            page.emulate_media(color_scheme=scheme)
            page.wait_for_function(f"document.body.dataset.mdColorScheme === '{colours}'")
