"""The built documentation site, and what is in its pages."""

import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[2]
_LOADED = {"img": "src", "script": "src", "link": "href", "source": "src", "iframe": "src"}


class Page(HTMLParser):
    """The links, the anchors and the loaded files of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.twice: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            if given["id"] in self.anchors:
                self.twice.append(given["id"])
            self.anchors.add(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in _LOADED and given.get(_LOADED[tag]) and given.get("rel") != "canonical":
            self.loaded.append(given[_LOADED[tag]])


def build(folder: Path, site: Path = ROOT / "mkdocs.yml") -> subprocess.CompletedProcess[str]:
    """Build a site strictly into a folder."""
    order = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "-f",
        str(site),
        "-d",
        str(folder),
    ]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(
        order, cwd=ROOT, env=env, capture_output=True, text=True, timeout=300, check=False
    )


def dead_links(folder: Path) -> list[str]:
    """Each link that leads to no file or no heading of the site."""
    found = {path: Page(path) for path in folder.rglob("*.html")}
    dead = []
    for path, page in found.items():
        for link in page.links:
            there = urlsplit(link)
            if there.scheme or there.netloc or path.name == "404.html":
                continue
            target = (path.parent / unquote(there.path)).resolve() if there.path else path
            target = target / "index.html" if target.is_dir() else target
            anchor = unquote(there.fragment)
            if not target.exists():
                dead.append(f"{path.relative_to(folder)}: {link}")
            elif anchor and target in found and anchor not in found[target].anchors:
                dead.append(f"{path.relative_to(folder)}: {link} (no such heading)")
    return dead
