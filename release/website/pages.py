"""Pages as the site needs them: without the links to files that are not pages of the site.

A block that a page keeps as a file (``<!-- file: shop.py -->``) has the file's name above it.

A page of docs/ may link to a file of the repository, such as ../BENCHMARKS.md. Some of those files
are pages of the site too; of the others only the name is kept. Comments are for the tests that run
the pages, and are left out.
"""

import posixpath
import re
from pathlib import Path

__all__ = ["FROM_ROOT", "ROOT", "adapted", "fenced", "text_of"]

ROOT = Path(__file__).resolve().parents[2]
FROM_ROOT = {
    "BENCHMARKS.md": "evidence/benchmarks.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
}
"""Files of the repository, and the pages that they become."""

_HOMES = {page: source for source, page in FROM_ROOT.items()}
_FENCE = re.compile(r" *(```+|~~~+)")
_FILE = re.compile(r"<!-- file: (?P<name>[\w./-]+) -->\s*$")
_COMMENT = re.compile(r"[ \t]*<!--.*?-->[ \t]*\n?", re.DOTALL)
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s:]+?)(?P<anchor>#[^)\s]*)?\)")


def text_of(source: str) -> str:
    """A file of the repository."""
    return (ROOT / source).read_text(encoding="utf-8")


def fenced(markdown: str) -> list[tuple[bool, str]]:
    """The parts of a page, in order: whether each is a fenced block, and its text."""
    parts: list[tuple[bool, list[str]]] = [(False, [])]
    fence = ""
    for line in markdown.splitlines(keepends=True):
        opening = _FENCE.match(line)
        if fence:
            parts[-1][1].append(line)
            if line.strip() == fence:
                fence = ""
                parts.append((False, []))
        elif opening:
            fence = opening[1]
            parts.append((True, [line]))
        else:
            parts[-1][1].append(line)
    return [(is_fenced, "".join(lines)) for is_fenced, lines in parts if lines]


def adapted(markdown: str, page: str) -> str:
    """A page of the site, from its text in the repository.

    page: its path in the site, like ``evidence/benchmarks.md``.
    """
    source = _HOMES.get(page, f"docs/{page}")
    parts, title = [], ""
    for is_fenced, text in fenced(markdown):
        if is_fenced:
            first, _, rest = text.partition("\n")
            parts.append(f"{first}{title}\n{rest}")
        else:
            parts.append(_LINK.sub(lambda link: _link(link, source, page), _plain(text)))
            found = _FILE.search(text)
            title = f' title="{found["name"]}"' if found else ""
    return "".join(parts)


def _plain(text: str) -> str:
    return _COMMENT.sub("", text)


def _link(link: re.Match[str], source: str, page: str) -> str:
    """The same link for the site; only its words, if it leads to a file that is not a page."""
    words, anchor = link["text"], link["anchor"] or ""
    target = posixpath.normpath(posixpath.join(posixpath.dirname(source), link["target"]))
    if target == "README.md":
        target = "docs/README.md"
    if target in FROM_ROOT:
        there = FROM_ROOT[target]
    elif target.startswith("docs/") and (target.endswith(".md") or page not in _HOMES):
        there = target.removeprefix("docs/")
    else:
        return words
    return f"[{words}]({posixpath.relpath(there, posixpath.dirname(page) or '.')}{anchor})"
