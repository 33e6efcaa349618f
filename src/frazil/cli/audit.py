"""``frazil audit``: whether the IDs in files are what they should be, and all different.

"Unique" is a claim about all rows at once, and the files worth checking are those that do not fit
into memory. One pass reads every ID, checks that it is one, and collects what the IDs say of
themselves (see ``survey``); duplicates are searched for out of core (see ``duplicates``), exactly,
and both copies are named by file and line, because the next question is which rows they are.

Several files are one audit: an ID in two of them is a duplicate. Order is judged file by file.
"""

import json
import re
import tempfile
from pathlib import Path

import click

from frazil.cli._options import json_option, scheme_options
from frazil.cli.files.auditor import Auditor
from frazil.cli.files.not_text import shown
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
_LEAST_MEMORY = 1 << 20


def _size(ctx: click.Context, param: click.Parameter, value: str) -> int:
    match = re.fullmatch(r"([0-9]{1,9}) ?(KiB|MiB|GiB)", value)
    size = int(match[1]) * _UNITS[match[2]] if match else 0
    if size < _LEAST_MEMORY:
        raise click.BadParameter(f"{value!r}; write 1MiB or more, like 4GiB", ctx, param)
    return size


@click.command
@click.argument(
    "paths", metavar="FILE...", nargs=-1, required=True, type=click.Path(allow_dash=True)
)
@click.option(
    "--column",
    help="The column with the IDs; its number where there is no header.  [default: id, or 1]",
)
@click.option(
    "--format",
    "given",
    type=click.Choice(FORMATS),
    help="The format, if the name does not say; text is one ID per line.",
)
@delimiter_option
@header_option
@scheme_options
@click.option("--no-decode", is_flag=True, help="Take IDs of any kind, as texts to compare.")
@click.option(
    "--memory",
    callback=_size,
    default="256MiB",
    metavar="SIZE",
    show_default=True,
    help="Memory for the search for duplicates; the rest goes to temporary files.",
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
    memory: int,
    show: int,
    as_json: bool,
) -> None:
    """Find duplicates, invalid IDs and disorder in files of IDs.

    CSV, JSON Lines, Parquet, or plain text with one ID per line; .gz is read. Files may be larger
    than memory (TMPDIR says where temporary files go). Exit code 1 means that there are
    duplicates, invalid IDs, or IDs of another deployment.

    \b
      frazil audit people.csv
      frazil audit monday.parquet tuesday.parquet --column order_id --prefix order_
      cut -f3 access.log | frazil audit - --scheme tsid
      frazil audit users.jsonl --column uuid --no-decode
    """
    with tempfile.TemporaryDirectory(prefix="frazil-audit-") as folder:
        auditor = Auditor(None if no_decode else scheme, memory, Path(folder), show)
        for path in paths:
            kind = format_of(path, given, "text")
            named = column or ("1" if kind == "csv" and not header else "id")
            with Source(path) as source, progress(f"reading {source.name}", source.size) as tell:
                table = open_table(source, kind, header=header, delimiter=delimiter, only=named)
                _check_column(table.names, kind, named, source)
                auditor.read(table, named, tell)
        with progress("comparing", auditor.spilled) as tell:
            auditor.finish(tell)
    if as_json:
        click.echo(json.dumps(json_report(auditor), ensure_ascii=False))
    else:
        echo(facts(text_report(auditor)))
    click.get_current_context().exit(0 if auditor.clean else 1)


def _check_column(names: tuple[str, ...], kind: str, column: str, source: Source) -> None:
    """Refuse a column that is not there, where a file names its columns at its beginning."""
    if kind in ("csv", "parquet") and column not in names:
        raise ConfigError(
            f"{source.name} has no column {column!r}; name one of "
            f"{', '.join(map(shown, names))} with --column",
            path=source.path,
            column=column,
        )
