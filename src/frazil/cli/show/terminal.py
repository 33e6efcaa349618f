"""What the commands share in showing: a console, moments near now, JSON that streams.

Output goes to a person or to a program. For a person there is colour, if the terminal has it and
``NO_COLOR`` does not forbid it, and no line is wider than the terminal; a pipe gets the same words
without colour, 80 columns wide. For a program there is JSON, written item by item so that a long
answer needs no memory. Rich is imported by whoever needs a table, and not by ``frazil mint``.
"""

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import click

from frazil.system.clock import moment, moment_text

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

__all__ = ["console", "echo", "echo_json", "facts", "local_text", "table"]


def console() -> "Console":
    """Standard output with colour where it may be; numbers are not coloured by guesswork."""
    from rich.console import Console

    return Console(highlight=False, emoji=False, markup=False)


def table(*columns: str, right: Iterable[str] = ()) -> "Table":
    """A table with a head and no other lines; the columns named in ``right`` end flush.

    The first column is never broken.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    # The box brings one blank between columns.
    made = Table(
        box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold"
    )
    flush = set(right)
    for i, column in enumerate(columns):
        justify: Literal["left", "right"] = "right" if column in flush else "left"
        made.add_column(column, justify=justify, overflow="fold", no_wrap=i == 0)
    return made


def facts(rows: Iterable[tuple[str, str]]) -> "Table":
    """Names and what is said of them, side by side; long texts go on in their own column."""
    from rich.table import Table

    made = Table.grid(padding=(0, 2, 0, 0))
    made.add_column(style="bold", no_wrap=True)
    made.add_column(overflow="fold")
    for row in rows:
        made.add_row(*row)
    return made


def echo(shown: "RenderableType", style: str = "") -> None:
    """Print a table or a text; where there is no terminal, without blanks at the ends of lines."""
    made = console()
    if made.is_terminal:
        made.print(shown, style=style)
        return
    with made.capture() as captured:
        made.print(shown)
    click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


def echo_json(items: Iterable[Mapping[str, Any]]) -> None:
    """Print a JSON array, one item a line."""
    separator = "["
    for item in items:
        click.echo(separator + json.dumps(item, ensure_ascii=False), nl=False)
        separator = ",\n "
    click.echo("]" if separator != "[" else "[]")


def local_text(us: int) -> str:
    """A moment in this host's time zone; "" where that is UTC, or past the calendar."""
    when = moment(us)
    if when is None or not 1900 < when.year < 9999:
        return ""
    here = when.astimezone()
    if not here.utcoffset():
        return ""
    fraction = moment_text(us).partition(".")[2].rstrip("Z")
    text = here.strftime("%Y-%m-%d %H:%M:%S") + (f".{fraction}" if fraction else "")
    return f"{text} {here.strftime('%z (%Z)')}"
