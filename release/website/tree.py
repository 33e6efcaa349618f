"""The decision tree of a page, drawn from the numbered list of its questions.

A page that has the comment ``<!-- tree -->`` gets the picture there, above the list that follows.
The list is the only source, so the picture and the text agree. Each item is a question in bold and
begins its answer with ``Use``; the picture has the question and that first sentence. The last item
begins with ``Otherwise``.
"""

import re
from html import escape
from textwrap import wrap
from typing import NamedTuple

__all__ = ["Question", "picture", "questions_of", "with_pictures"]

_MARK = re.compile(r"^<!-- tree -->\n\n(?P<items>(?:\d+\. .+\n(?:   .+\n)*)+)", re.MULTILINE)
_ITEM = re.compile(r"^\d+\. ", re.MULTILINE)
_ASKED = re.compile(r"\*\*(?P<asks>[^*]+\?)\*\* Use (?P<use>.+?)\.(?: |$)")
_LAST = re.compile(r"(?P<asks>Otherwise), use (?P<use>.+?)\.(?: |$)")
_QUESTION, _GAP, _ANSWER = 226, 46, 128  # widths; together they fit a phone
_LETTER, _LINE, _PAD, _NO = 7, 18, 9, 30
_HEAD = (
    '<defs><marker id="tree-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
    'markerHeight="8" orient="auto"><path class="tip" d="M0 0 8 4 0 8z"/></marker></defs>'
)


class Question(NamedTuple):
    """A question, and what to use if its answer is yes."""

    asks: str
    use: str


def with_pictures(markdown: str) -> str:
    """The page with a picture in place of each mark, above the list."""
    return _MARK.sub(
        lambda mark: f"{picture(questions_of(mark['items']))}\n{mark['items']}", markdown
    )


def questions_of(items: str) -> list[Question]:
    """The questions of a list, the last of which is ``Otherwise``.

    Raises ValueError for an item of another form.
    """
    texts = [" ".join(item.split()) for item in _ITEM.split(items)[1:]]
    found = []
    for number, text in enumerate(texts, 1):
        form = _LAST if number == len(texts) else _ASKED
        item = form.match(text)
        if item is None:
            raise ValueError(f"no question and answer of a decision tree: {text!r}")
        found.append(Question(item["asks"], item["use"].replace("`", "")))
    return found


def picture(questions: list[Question]) -> str:
    """The questions as one SVG element: yes leads to the right, no leads down."""
    body, y = [], 1
    for asks, use in questions[:-1]:
        lines, answer = _lines(asks, _QUESTION), _lines(use, _ANSWER)
        height = max(len(lines), len(answer)) * _LINE + 2 * _PAD
        body += _row(lines, answer, y, height)
        y += height + _NO
    last = _lines(questions[-1].use, _QUESTION)
    height = len(last) * _LINE + 2 * _PAD
    body.append(_box("answer", 1, y, _QUESTION, height, last))
    told = " ".join(f"{asks} If yes, use {use}." for asks, use in questions[:-1])
    return (
        '<div class="chart tree">'
        f'<svg viewBox="0 0 {_QUESTION + _GAP + _ANSWER + 2} {y + height + 1}" role="img" '
        'aria-labelledby="tree-title" aria-describedby="tree-text">'
        '<title id="tree-title">Decision tree</title><desc id="tree-text">'
        f"{escape(told)} Otherwise, use {escape(questions[-1].use)}.</desc>"
        f"{_HEAD}{''.join(body)}</svg></div>\n"
    )


def _row(lines: list[str], answer: list[str], y: int, height: int) -> list[str]:
    """A question, its answer at the right, and the way down to the next question."""
    right, middle, below = _QUESTION + 1, y + height // 2, y + height
    x = right + _GAP // 2
    return [
        _box("question", 1, y, _QUESTION, height, lines),
        _box("answer", right + _GAP, y, _ANSWER, height, answer),
        _way(right, middle, right + _GAP, middle),
        f'<text class="quiet" x="{x - 3}" y="{middle - 6}" text-anchor="middle">yes</text>',
        _way(_QUESTION // 2, below, _QUESTION // 2, below + _NO),
        f'<text class="quiet" x="{_QUESTION // 2 + 9}" y="{below + 19}">no</text>',
    ]


def _box(kind: str, x: int, y: int, width: int, height: int, lines: list[str]) -> str:
    """A box with its lines in the middle."""
    first = y + (height - len(lines) * _LINE) // 2 + 13
    text = "".join(
        f'<text x="{x + _PAD}" y="{first + number * _LINE}">{escape(line)}</text>'
        for number, line in enumerate(lines)
    )
    box = f'x="{x}" y="{y}" width="{width}" height="{height}" rx="4"'
    return f'<rect class="{kind}" {box}/>{text}'


def _way(x1: int, y1: int, x2: int, y2: int) -> str:
    ends = f'x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"'
    return f'<line class="way" {ends} marker-end="url(#tree-tip)"/>'


def _lines(text: str, width: int) -> list[str]:
    return wrap(text, (width - 2 * _PAD) // _LETTER)
