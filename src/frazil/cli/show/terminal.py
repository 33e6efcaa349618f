"""Output for terminals and pipes: a console, tables, local times, JSON as a stream.

Text has colour if the terminal supports it and ``NO_COLOR`` is not set, and lines fit the terminal;
a pipe gets the same text without colour, 80 columns wide. Tables become lists where they do not
fit. JSON is written item by item, so that a long list needs no memory. Rich is imported only for
tables, and not by ``frazil mint``.
"""

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal

import click

from frazil.inputs.duration import ago
from frazil.system.clock import moment, moment_text

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.table import Table

_FOLDED_FROM = 80  # columns
_AS_IT_IS = (" ", "┌", "│", "└")  # the beginnings of lines that are not wrapped
_DRAWING = re.compile(r"^ .*\n(?:[┌│└].*\n?)+", re.MULTILINE)


def console() -> "Console":
    """Standard output, with colour on a terminal, but without automatic highlights."""
    from rich.console import Console

    return Console(highlight=False, emoji=False, markup=False)


class Rows:
    """A table with a heading. On a narrow terminal each row becomes a list of its cells.

    right: the names of right-aligned columns. The first column is not wrapped.

    A column that is thinner than its longest word cuts it, and columns of three characters are
    unreadable. From 80 columns on, a long word is folded instead.
    """

    def __init__(self, *columns: str, right: Iterable[str] = ()) -> None:
        self._columns = columns
        self._right = frozenset(right)
        self._rows: list[tuple[RenderableType, ...]] = []

    def add_row(self, *cells: "RenderableType") -> None:
        """Append a row, of one cell for each column."""
        self._rows.append(cells)

    def __rich_console__(
        self, console: "Console", options: "ConsoleOptions"
    ) -> "Iterator[RenderableType]":
        from rich.measure import Measurement

        table = self._table()
        unlimited = options.update(max_width=10_000)
        least = Measurement.get(console, unlimited, table).minimum  # no word is cut
        if options.max_width >= min(least, _FOLDED_FROM):
            yield table
        else:
            yield from self._list()

    def _table(self) -> "Table":
        from rich.box import SIMPLE_HEAD
        from rich.table import Table

        # The box adds one blank between columns.
        made = Table(
            box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0),
            header_style="bold",
        )  # fmt: skip
        for i, column in enumerate(self._columns):
            justify: Literal["left", "right"] = "right" if column in self._right else "left"
            made.add_column(column, justify=justify, overflow="fold", no_wrap=i == 0)
        for cells in self._rows:
            made.add_row(*cells)
        return made

    def _list(self) -> "Iterator[RenderableType]":
        from rich.padding import Padding
        from rich.text import Text

        for i, (first, *cells) in enumerate(self._rows):
            if i:
                yield ""
            name = f"{self._columns[0]} " if self._columns[0] else ""
            yield Text.assemble((f"{name}{first}", "bold"))
            pairs = zip(self._columns[1:], cells, strict=True)
            yield Padding(Facts(pair for pair in pairs if str(pair[1])), (0, 0, 0, 2))


class Facts:
    """Pairs of a name and a text in two columns; long texts wrap in their column."""

    def __init__(self, rows: "Iterable[tuple[str, RenderableType]]") -> None:
        self._rows = list(rows)

    def plain(self) -> str:
        """The lines in a pipe; "" on a terminal, or if a text is wrapped or has a style."""
        names = max((len(name) for name, _ in self._rows), default=0)
        lines = [f"{name:{names}}  {text}".rstrip() for name, text in self._rows]
        texts = all(isinstance(text, str) for _, text in self._rows)
        most = 0 if sys.stdout.isatty() or os.getenv("FORCE_COLOR") else get_terminal_size().columns
        fit = all(len(line) <= most and line.isascii() and line.isprintable() for line in lines)
        return "\n".join(lines) if texts and fit else ""

    def __rich_console__(
        self, console: "Console", options: "ConsoleOptions"
    ) -> "Iterator[RenderableType]":
        from rich.table import Table

        made = Table.grid(padding=(0, 2, 0, 0))
        made.add_column(style="bold", no_wrap=True)
        made.add_column(overflow="fold")
        for row in self._rows:
            made.add_row(*row)
        yield made


def echo(content: "RenderableType", style: str = "") -> None:
    """Print a table or a text; without a terminal, strip the ends of lines."""
    if isinstance(content, Facts) and (text := content.plain()):  # Rich is slow to load
        click.echo(text)
        return
    output = console()
    if output.is_terminal:
        output.print(content, style=style)
        return
    with output.capture() as captured:
        output.print(content)
    click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


def echo_words(text: str) -> None:
    """Print a blank line and a text of lines of up to 80 columns, wrapped where there are fewer."""
    width = console().width
    click.echo("\n" + (text if width >= _FOLDED_FROM else fill(" ".join(text.split()), width)))


def wrapped(text: str) -> str:
    """A text whose lines are broken between words if the terminal has fewer than 80 columns.

    An indented line is a command, and stays as it is. A drawing that does not fit is left out.
    """
    width = get_terminal_size().columns
    if width >= _FOLDED_FROM:
        return text
    text = _DRAWING.sub(
        lambda found: found[0] if max(map(len, found[0].splitlines())) <= width else "", text
    )
    return "\n".join(
        line
        if line.startswith(_AS_IT_IS)
        else fill(line, width, break_long_words=False, break_on_hyphens=False)
        for line in text.splitlines()
    )


def echo_json(items: Iterable[Mapping[str, Any]]) -> None:
    """Print a JSON array, one item per line."""
    separator = "["
    for item in items:
        click.echo(separator + json.dumps(item, ensure_ascii=False), nl=False)
        separator = ",\n "
    click.echo("]" if separator != "[" else "[]")


def counted(count: int, noun: str) -> str:
    """A number with its noun: "1 row", "1,000 rows"."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def moment_facts(us: int | None, now_us: int) -> Iterator[tuple[str, str]]:
    """Pairs for a moment: how long ago it was, and the time here, if that is another."""
    if us is not None:
        yield "moment", f"{moment_text(us)}, {ago(us, now_us)}"
        if here := local_text(us):
            yield "local time", here


def local_text(us: int) -> str:
    """A moment in this host's time zone; "" if that is UTC, or outside the calendar."""
    when = moment(us)
    if when is None or not 1900 < when.year < 9999:
        return ""
    local = when.astimezone()
    if not local.utcoffset():
        return ""
    fraction = moment_text(us).partition(".")[2].rstrip("Z")
    text = local.strftime("%Y-%m-%d %H:%M:%S") + (f".{fraction}" if fraction else "")
    return f"{text} {local.strftime('%z (%Z)')}"
