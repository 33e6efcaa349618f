"""The pages are plain English: none of the phrases that were a dialect of this project's own.

Each was found on a page, and has a usual word beside it. A list cannot find bad sentences; it keeps
the known ones from coming back.
"""

import re

import pytest

from tests.tools.site import ROOT

__all__: list[str] = []

USUAL = {
    r"anew": "again",
    r"in turns": "alternately",
    r"asks? nobody": "sends no request",
    r"without a word": "without a message",
    r"belongs? into": "pass it as",
    r"is nothing for": "cannot",
    r"made longer in time": "renewed on time",
    r"(is|was|were) told": "gets, has, is configured with",
    r"the answer is no": "a negative result",
    r"does for .{1,30} too": "also accepts",
    r"nobody (gets|has|knows|thought)": "the subject is the thing",
    r"owes?": "has nothing to give back",
    r"(it|IDs) goes? on": "continue",
    r"the way back": "the statements that remove it",
    r"Who [a-z]+ .{0,40}(may|is)": "name the subject: the client, the caller",
}
# Decisions are records of their day, and the changelog of its release.
PAGES = [
    page
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md"))
    if page.parent.name != "decisions"
]


def found(text: str) -> list[str]:
    """The phrases in a text, each with what is usual."""
    words = " ".join(text.split())
    return [
        f"{match[0]!r}: {usual}"
        for phrase, usual in USUAL.items()
        for match in re.finditer(rf"\b{phrase}\b", words)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_dialect(page):
    assert found(page.read_text(encoding="utf-8")) == []


def test_it_is_found():
    assert len(found("Values are\nwritten anew. Parquet is nothing for a terminal.")) == 2
    assert found("It is written again.") == []
