"""The prose is plain English: none of the phrases that were a dialect of this project's own.

Each was found on a page or in the source, and has a usual word beside it. A list cannot find bad
sentences; it keeps the known ones from coming back. In the source it covers docstrings, comments,
messages and help texts.
"""

import io
import re
import tokenize
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from tests.tools.site import ROOT

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
# In the source, where they were found several times.
IN_SOURCE = USUAL | {
    r"(some|no|any|every)body": "name the subject: a person, another program, no caller",
    r"[Ww]hoever": "name the subject: the client, the caller",
    r"(is|are) no (type|text|error|table|object|JSON|name|key)": "is not a, is not an",
    r"is no ID (of|in|that)": "is not an ID",
    r"for (a text|a value|what) that is none": "is not one",
    r"put back to": "restored from",
    r"; whether": "Returns whether",
}
# On the pages, where they were found several times.
ON_PAGES = USUAL | {
    r"living (member|process)": "running",
    r"remembers? more": "remembers a later state",
    r"wait(s|ed)? (it |that |a loss )?out": "wait one horizon",
    r"(is|are|was|were) put back": "is restored",
    r"toy worlds?": "small systems",
    r"takes? turns": "one after the other",
    r"(member|generator)s? that (mostly )?rests?": "idle",
    r"carr(y|ies) the (time|name|same)": "has, contains",
    r"asks? for (IDs?|an ID|many|numbers)": "requests",
    r"(is|are) no (secret|signature|cipher|page|error|text)s?": "is not a, is not an",
    r"(comes?|came) twice": "repeats, is unique",
    r"(finds?|found) no (claim|ID)": "has no claim",
    r"(gives|starts|fails|raises) .{0,20}at once": "immediately",
}
# Decisions are records of their day, and the changelog of its release.
PAGES = [
    page
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md"))
    if page.parent.name != "decisions"
]


SOURCES = [
    path
    for path in sorted((ROOT / "src" / "frazil").rglob("*"))
    if path.suffix in {".py", ".pyx", ".pxd", ".sql", ".lua", ".js", ".html"}
]
PROSE = {"COMMENT", "STRING"}
SILENT = {"NL", "NEWLINE", "INDENT", "DEDENT"}


def prose(path: Path) -> Iterator[str]:
    """The comments and strings of a source, each as one text over its lines."""
    text = path.read_text(encoding="utf-8")
    if path.suffix not in {".py", ".pyx", ".pxd"}:
        yield re.sub(r"(?m)^\s*(--|//)", "", text)
        return
    tokens = [
        # Python 3.12 and later cut an f-string into tokens of their own.
        (re.sub(r"^FSTRING_.*", "STRING", tokenize.tok_name[token.type]), token.string)
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
    ]
    heard = (token for token in tokens if token[0] not in SILENT)
    for kind, several in groupby(heard, lambda token: token[0]):
        if kind in PROSE:
            yield " ".join(re.sub(r"[\"#]|\bf(?=\")", "", string) for _, string in several)


def found(text: str, phrases: dict[str, str] = USUAL) -> list[str]:
    """The phrases in a text, each with what is usual."""
    words = " ".join(text.split())
    return [
        f"{match[0]!r}: {usual}"
        for phrase, usual in phrases.items()
        for match in re.finditer(rf"\b{phrase}\b", words)
    ]


def test_no_dialect():
    faults = [(page, found(page.read_text(encoding="utf-8"), ON_PAGES)) for page in PAGES]
    assert [each for each in faults if each[1]] == []


def test_no_dialect_in_the_source():
    texts = [(path, text) for path in SOURCES for text in prose(path)]
    faults = [(path, found(text, IN_SOURCE)) for path, text in texts]
    assert [each for each in faults if each[1]] == []


def test_a_source_is_read(tmp_path):
    source = tmp_path / "source.py"
    source.write_text(
        '"""Made\nanew."""\nx = nobody  # it is\n# nobody\ny(f"a {x} is no "\n  "text")\n'
    )
    texts = list(prose(source))
    assert len([each for text in texts for each in found(text, IN_SOURCE)]) == 3


def test_it_is_found():
    assert len(found("Values are\nwritten anew. Parquet is nothing for a terminal.")) == 2
    assert found("It is written again.") == []
