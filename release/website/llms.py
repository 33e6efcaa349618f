"""llms.txt: the site for programs that read text.

https://llmstxt.org describes the form: a title, a summary, and lists of links. Each page is written
once more as Markdown beside its HTML, and llms-full.txt holds all of them.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from release.website.pages import fenced

__all__ = ["Text", "write"]

_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_SENTENCE = re.compile(r"[.:]\*{0,2} ")


class Text(NamedTuple):
    """A page: its title, its address in the site, and its Markdown."""

    title: str
    url: str
    markdown: str


def write(folder: Path, nav: Any, texts: Mapping[str, Text], summary: str) -> None:
    """Write llms.txt, llms-full.txt and the pages into the folder of the site."""
    lines = ["# frazil", "", f"> {summary}"]
    everything: list[str] = []
    for section, paths in _sections(nav):
        lines += ["", f"## {section}", ""]
        for path in paths:
            text = texts[path]
            place = Path(text.url).with_suffix(".md")
            (folder / place).write_text(text.markdown, encoding="utf-8")
            lines.append(f"- [{text.title}]({place}): {_first_sentence(text.markdown)}")
            everything.append(f"<!-- {place} -->\n\n{text.markdown.strip()}\n")
    (folder / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "llms-full.txt").write_text("\n".join(everything), encoding="utf-8")


def _sections(nav: Any) -> Iterator[tuple[str, list[str]]]:
    for entry in nav:
        for title, below in entry.items():
            yield title, list(_paths(below))


def _paths(entry: Any) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, dict):
        for below in entry.values():
            yield from _paths(below)
    else:
        for below in entry:
            yield from _paths(below)


def _first_sentence(markdown: str) -> str:
    """The first sentence of a page's text, without its links."""
    prose = "".join(text for is_fenced, text in fenced(markdown) if not is_fenced)
    for paragraph in prose.split("\n\n"):
        text = _LINK.sub(r"\1", " ".join(paragraph.split()))
        if text and text[0] not in "#|<:-":
            return _SENTENCE.split(text)[0].rstrip(".:").replace("**", "") + "."
    return ""
