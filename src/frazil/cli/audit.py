"""``frazil audit``: check that the IDs in files are valid and unique.

Uniqueness is a property of all rows together, and the files may not fit in memory. One pass reads
and checks every ID and collects its fields (see ``survey``). The search for duplicates (see
``duplicates``) is exact, uses temporary files if needed, and reports both copies by file and line.

Several files are one audit: an ID in two of them is a duplicate. Order is judged file by file.
"""

import json
import re
import tempfile
from pathlib import Path

import click

from frazil.cli._options import json_option, scheme_options
from frazil.cli.files.auditor import Auditor
from frazil.cli.files.invalid_text import printable
from frazil.cli.files.streams import Source
from frazil.cli.files.tables import FORMATS, format_of, open_table
from frazil.cli.show.audit_report import as_json as json_report
from frazil.cli.show.audit_report import as_text as text_report
from frazil.cli.show.progress import progress
from frazil.cli.show.terminal import echo, facts
from frazil.cli.stamp import delimiter_option, header_option
from frazil.errors import ConfigError
from frazil.schemes.scheme import Scheme

__all__ = ["command"]

_UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_MEMORY_BYTES_MIN = 1 << 20


def _size_bytes(ctx: click.Context, param: click.Parameter, value: str) -> int:
    match = re.fullmatch(r"([0-9]{1,9}) ?(KiB|MiB|GiB)", value)
    size_bytes = int(match[1]) * _UNITS[match[2]] if match else 0
    if size_bytes < _MEMORY_BYTES_MIN:
        raise click.BadParameter(f"{value!r}; write 1MiB or more, like 4GiB", ctx, param)
    return size_bytes


@click.command
@click.argument(
    "paths", metavar="FILE...", nargs=-1, required=True, type=click.Path(allow_dash=True)
)
@click.option(
    "--column",
    help="The column with the IDs; its number if there is no header.  [default: id, or 1]",
)
@click.option(
    "--format",
    "given",
    type=click.Choice(FORMATS),
    help="The format, instead of the one by the file's ending; text is one ID per line.",
)
@delimiter_option
@header_option
@scheme_options
@click.option("--no-decode", is_flag=True, help="Compare IDs of any kind as text.")
@click.option(
    "--memory",
    "memory_bytes",
    callback=_size_bytes,
    default="256MiB",
    metavar="SIZE",
    show_default=True,
    help="Memory for the search for duplicates; further IDs go to temporary files.",
)
@click.option(
    "--show",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    help="How many duplicates and invalid rows to show.",
)
@json_option
def command(
    *,
    paths: tuple[str, ...],
    column: str | None,
    given: str | None,
    delimiter: str | None,
    header: bool,
    scheme: Scheme,
    no_decode: bool,
    memory_bytes: int,
    show: int,
    as_json: bool,
) -> None:
    """Find duplicates, invalid IDs and disorder in files of IDs.

    Reads CSV, JSON Lines, Parquet, or plain text with one ID per line, also as .gz. Files may be
    larger than memory; TMPDIR sets the folder for temporary files. Exit code 1 means that the
    files have duplicates, invalid IDs, or IDs of another deployment.

    \b
      frazil audit people.csv
      frazil audit monday.parquet tuesday.parquet --column order_id --prefix order_
      cut -f3 access.log | frazil audit - --scheme tsid
      frazil audit users.jsonl --column uuid --no-decode
    """
    with tempfile.TemporaryDirectory(prefix="frazil-audit-") as folder:
        auditor = Auditor(None if no_decode else scheme, memory_bytes, Path(folder), show)
        for path in paths:
            kind = format_of(path, given, "text")
            name = column or ("1" if kind == "csv" and not header else "id")
            with Source(path) as source, progress(f"reading {source.name}", source.size) as update:
                table = open_table(source, kind, header=header, delimiter=delimiter, only=name)
                _check_column(table.names, kind, name, source)
                auditor.read(table, name, update)
        with progress("comparing", auditor.search.spilled) as update:
            auditor.finish(update)
    if as_json:
        click.echo(json.dumps(json_report(auditor), ensure_ascii=False))
    else:
        echo(facts(text_report(auditor)))
    click.get_current_context().exit(0 if auditor.clean else 1)


def _check_column(names: tuple[str, ...], kind: str, column: str, source: Source) -> None:
    """Raise ConfigError for an unknown column, in formats that name their columns."""
    if kind in ("csv", "parquet") and column not in names:
        raise ConfigError(
            f"{source.name} has no column {column!r}; choose one of "
            f"{', '.join(map(printable, names))} with --column"
            + (", or use --no-header if its first line is a row" if kind == "csv" else ""),
            path=source.path,
            column=column,
        )
