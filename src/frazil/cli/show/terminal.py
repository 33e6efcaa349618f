"""Output for terminals and pipes: a console, tables, local times, JSON as a stream.

Text has colour if the terminal supports it and ``NO_COLOR`` is not set, and lines fit the terminal;
a pipe gets the same text without colour, 80 columns wide. JSON is written item by item, so that a
long list needs no memory. Rich is imported only for tables, and not by ``frazil mint``.
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
    """Standard output, with colour on a terminal, but without automatic highlights."""
    from rich.console import Console

    return Console(highlight=False, emoji=False, markup=False)


def table(*columns: str, right: Iterable[str] = ()) -> "Table":
    """A table with a heading; ``right`` names right-aligned columns. The first is not wrapped."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    # The box adds one blank between columns.
    made = Table(
        box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold"
    )
    right_aligned = set(right)
    for i, column in enumerate(columns):
        justify: Literal["left", "right"] = "right" if column in right_aligned else "left"
        made.add_column(column, justify=justify, overflow="fold", no_wrap=i == 0)
    return made


def facts(rows: Iterable[tuple[str, str]]) -> "Table":
    """Pairs of a name and a text in two columns; long texts wrap in their column."""
    from rich.table import Table

    made = Table.grid(padding=(0, 2, 0, 0))
    made.add_column(style="bold", no_wrap=True)
    made.add_column(overflow="fold")
    for row in rows:
        made.add_row(*row)
    return made


def echo(content: "RenderableType", style: str = "") -> None:
    """Print a table or a text; without a terminal, strip the ends of lines."""
    output = console()
    if output.is_terminal:
        output.print(content, style=style)
        return
    with output.capture() as captured:
        output.print(content)
    click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


def echo_json(items: Iterable[Mapping[str, Any]]) -> None:
    """Print a JSON array, one item per line."""
    separator = "["
    for item in items:
        click.echo(separator + json.dumps(item, ensure_ascii=False), nl=False)
        separator = ",\n "
    click.echo("]" if separator != "[" else "[]")


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
