"""The options of ``stamp`` and ``audit`` about the files that they read."""

import codecs
import re
from collections.abc import Callable

import click

from frazil.cli._options import decorate
from frazil.cli.files.paths import LEAST_BYTES, Memory

_DELIMITERS = {"tab": "\t", "\\t": "\t"}
_UNITS = {"MiB": 1 << 20, "GiB": 1 << 30}


def _delimiter(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    text = _DELIMITERS.get(value or "", value)
    # An ID or a prefix may contain these characters, and the quote has another meaning.
    if text is not None and (
        len(text) != 1 or not text.isascii() or text.isalnum() or text in '_*~$="\r\n'
    ):
        problem = "cannot separate fields; write one ASCII character, like ';', or tab"
        raise click.BadParameter(f"{value!r} {problem}")
    return text


def _charset(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    try:
        return value and codecs.lookup(value).name
    except LookupError:
        problem = "is unknown; write one like latin-1, cp1252 or utf-16"
        raise click.BadParameter(f"{value!r} {problem}") from None


def _memory(_ctx: click.Context, _param: click.Parameter, value: str) -> Memory:
    match = re.fullmatch(r"([0-9]{1,9}) ?(MiB|GiB)", value)
    size_bytes = int(match[1]) * _UNITS[match[2]] if match else 0
    if size_bytes < LEAST_BYTES:
        raise click.BadParameter(f"{value!r}; write 512MiB or more, like 4GiB")
    return Memory(size_bytes)


def file_options(run: Callable[..., None]) -> Callable[..., None]:
    """The options of a ``Reading``, each by its name there."""
    return decorate(
        run,
        click.option(
            "--delimiter", callback=_delimiter, metavar="CHARACTER",
            help="The separator of CSV fields, or tab; detected by default.",
        ),
        click.option(
            "--header/--no-header", default=True,
            help="Whether the first row of a CSV file is a header.",
        ),
        click.option(
            "--skip", type=click.IntRange(min=0), metavar="LINES",
            help="How many lines of CSV to leave out before the header.",
        ),
        click.option(
            "--charset", callback=_charset, metavar="NAME",
            help="The character set of CSV and JSON Lines, like latin-1; UTF-8 by default.",
        ),
        click.option(
            "--memory", callback=_memory, default="1GiB", metavar="SIZE", show_default=True,
            help="The most memory to use; the rest is written to temporary files.",
        ),
    )  # fmt: skip
