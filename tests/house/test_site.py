"""The site of the pages: it builds without a warning, its links lead somewhere, and it is alone."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from release.website import charts, command, http, layouts, pages, timeline, tree
from tests.needs import needs
from tests.tools.site import ROOT, Page, build, dead_links


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    needs("mkdocs", "the documentation site")
    needs("mkdocstrings", "the documentation site")
    folder = tmp_path_factory.mktemp("site") / "site"
    done = build(folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.long
def test_every_link_leads_somewhere(site: Path) -> None:
    assert len(list(site.rglob("*.html"))) > 60
    assert dead_links(site) == []


@pytest.mark.long
def test_nothing_is_loaded_from_another_host(site: Path) -> None:
    for path in site.rglob("*.html"):
        assert [each for each in Page(path).loaded if urlsplit(each).netloc] == []


@pytest.mark.long
def test_no_anchor_is_there_twice(site: Path) -> None:
    assert {path.name: Page(path).twice for path in site.rglob("*.html") if Page(path).twice} == {}


@pytest.mark.long
def test_programs_find_every_page(site: Path) -> None:
    index = (site / "llms.txt").read_text(encoding="utf-8")
    whole = (site / "llms-full.txt").read_text(encoding="utf-8")
    assert index.startswith("# frazil\n\n> ")
    for line in index.splitlines():
        if line.startswith("- ["):
            place = line.partition("](")[2].partition(")")[0]
            text = (site / place).read_text(encoding="utf-8")
            assert text.strip() in whole
            assert "<!--" not in text, place
            assert line.endswith("."), line


@pytest.mark.long
def test_a_dead_link_is_found(tmp_path: Path) -> None:
    needs("mkdocs", "the documentation site")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("[there](nowhere.md)", encoding="utf-8")
    (tmp_path / "mkdocs.yml").write_text("site_name: wrong\n", encoding="utf-8")
    done = build(tmp_path / "out", tmp_path / "mkdocs.yml")
    assert done.returncode == 1
    assert "nowhere.md" in done.stderr
    (tmp_path / "out" / "page.html").write_text('<a href="a.html">a</a><a href="#b">b</a>')
    assert len(dead_links(tmp_path / "out")) == 3


def test_links_of_the_repository_become_those_of_the_site() -> None:
    page = "[b](../../BENCHMARKS.md#aims), [d](../../src/frazil/errors.py), [r](../../README.md)"
    assert pages.adapted(page, "how-to/x.md") == (
        "[b](../evidence/benchmarks.md#aims), d, [r](../README.md)"
    )
    stores = "[d](docs/start/stores.md#redis)"
    assert pages.adapted(stores, "contributing.md") == "[d](start/stores.md#redis)"
    assert pages.adapted("[e](https://example.org)", "x.md") == "[e](https://example.org)"


def test_a_chart_shows_each_row() -> None:
    rows = "| frazil | 100 | 50 to 200 | 99% |\n| a < b | 1.5e+03 | 1e+03 to 3e+03 | 9% |\n"
    table = f"| Subject | ns per ID | Min-max | CPU |\n|---|--:|--:|--:|\n{rows}"
    page = charts.with_charts(f"# x\n\n{table}")
    assert page.endswith(table)
    assert page.count("<rect") == 2
    assert 'class="ours"' in page
    assert "a &lt; b" in page
    assert "logarithmic" in page
    assert ">1,500<" in page
    benchmarks = (ROOT / "BENCHMARKS.md").read_text(encoding="utf-8")
    assert charts.with_charts(benchmarks).count("<svg") == benchmarks.count("| Subject |")


def test_the_claims_of_the_picture_are_disjoint() -> None:
    bars = timeline.story().bars
    assert {bar.member for bar in bars} == {"A", "B", "C", "D", "E"}
    for bar in bars:
        for other in bars:
            if bar is not other and bar.slot == other.slot:
                assert bar.until_s <= other.start_s or other.until_s <= bar.start_s
    assert "<svg" in timeline.with_pictures("<!-- timeline -->")


def test_the_tree_has_every_question_of_its_list() -> None:
    page = (ROOT / "docs" / "start" / "layout.md").read_text(encoding="utf-8")
    drawn = tree.with_pictures(page)
    assert drawn.count("<svg") == 1
    listed = page.partition("<!-- tree -->")[2].partition("\n#")[0]
    found = tree.questions_of(listed)
    assert len(found) == listed.count("?**") + 1 == drawn.count('"answer"')
    assert found[1] == ("Must the column be a UUID?", "uuid7")
    assert found[-1] == ("Otherwise", "icicle, the default")
    told = drawn.partition("<desc")[2].partition("</desc>")[0]
    assert all(asks in told and use in told for asks, use in found)
    assert page.partition("<!-- tree -->")[2].strip() in drawn


def test_the_references_name_everything() -> None:
    assert all(f"## frazil {name}" in command.page() for name in ("mint", "serve", "torture"))
    assert "## POST /v1/{ns}/ids" in http.page()
    assert layouts.with_drawings(layouts.page()).count("<svg") > 16
