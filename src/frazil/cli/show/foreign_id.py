"""An ID of another system, as text and as JSON with the keys of the IDs that frazil made."""

from collections.abc import Iterator
from typing import Any

import click

from frazil.cli.show import terminal
from frazil.layout.drawing import draw_spans
from frazil.reading.foreign.identifier import Foreign
from frazil.reading.foreign.recognise import doubt_of
from frazil.system.clock import moment_text

_DRAWING_COLUMNS = 100


def foreign_json(found: Foreign, now_us: int) -> dict[str, Any]:
    """Its facts; a field that holds bytes instead of a number is a hex text."""
    us = found.moment_us
    return {
        "text": found.text,
        "id": str(found.number),
        "scheme": found.format,
        "encoding": found.written,
        "prefix": found.prefix,
        "moment": None if us is None else moment_text(us),
        "age_s": None if us is None else round((now_us - us) / 1e6, 3),
        "fields": {part.name: part.value if part.counted else part.text for part in found.parts},
        "foreign": [],
        "doubt": doubt_of(found, now_us) or None,
        "texts": found.texts,
        "candidates": [],
    }


def show_foreign(found: Foreign, now_us: int) -> None:
    """Its drawing and its facts."""
    title = f"{found.text}: {found.format} ({found.written}, {found.bits} bits)"
    click.echo(f"{terminal.wrapped(title)}\n")
    columns = min(terminal.console().width, _DRAWING_COLUMNS)
    click.echo(draw_spans(found.spans, width=columns))
    click.echo()
    terminal.echo(terminal.Facts(_facts(found, now_us)))
    if found.others:
        other = f"It could also be an ID of {', '.join(found.others)}."
        click.echo(f"\n{terminal.wrapped(other)}")


def _facts(found: Foreign, now_us: int) -> Iterator[tuple[str, str]]:
    yield from terminal.moment_facts(found.moment_us, now_us)
    if found.prefix:
        yield "prefix", found.prefix
    for part in found.parts:
        yield part.name, f"{part.text} (constant)" if part.role == "fixed" else part.text
    yield from found.texts.items()
    if found.note:
        yield "note", found.note
    if doubt_of(found, now_us):
        yield "doubt", f"{doubt_of(found, now_us)}; it may be something else"
