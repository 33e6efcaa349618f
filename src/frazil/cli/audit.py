"""``frazil audit``: check that the IDs in files are valid and unique.

Uniqueness is a property of all rows together, and the files may not fit in memory. DuckDB reads and
checks every ID and counts its fields (see ``auditor``). The search for duplicates is exact, uses
temporary files if needed, and reports both copies by file and line.

Several files are one audit: an ID in two of them is a duplicate. Order is judged file by file.
"""

import json
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import click

from frazil.cli._file_options import file_options
from frazil.cli._options import json_option, scheme_options
from frazil.cli.files.paths import FORMATS, Memory, check_extra, files_of, format_of
from frazil.cli.show.progress import progress
from frazil.cli.show.terminal import Facts, echo
from frazil.schemes.scheme import Scheme


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
@file_options
@scheme_options
@click.option("--no-decode", is_flag=True, help="Compare IDs of any kind as text.")
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
    scheme: Scheme,
    no_decode: bool,
    memory: Memory,
    header: bool,
    show: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Find duplicates, invalid IDs and disorder in files of IDs.

    Reads CSV, JSON Lines, Parquet, Arrow, or plain text with one ID per line; text also as .gz and
    .zst. FILE may be a folder or a glob. Files may be larger than memory; TMPDIR sets the folder
    for temporary files. Exit code 1 means that the files have duplicates, invalid IDs, or IDs of
    another deployment.

    Needs DuckDB and pyarrow; in a checkout: pip install ".[files]"

    \b
      frazil audit people.csv
      frazil audit monday.parquet tuesday.parquet --column order_id --prefix order_
      cut -f3 access.log | frazil audit - --scheme tsid
      frazil audit users.jsonl --column uuid --no-decode
    """
    check_extra()
    from frazil.cli.files.auditor import Auditor
    from frazil.cli.files.database import connect, fraction_read
    from frazil.cli.files.reading import Reading
    from frazil.cli.show.audit_report import as_json as json_report
    from frazil.cli.show.audit_report import as_text as text_report

    with (
        tempfile.TemporaryDirectory(prefix="frazil-audit-") as name,
        connect(memory.search_bytes, Path(name)) as database,
    ):
        auditor = Auditor(None if no_decode else scheme, database, show)
        for path in files_of(paths):
            kind = format_of(path, given, "text")
            key = column or ("1" if kind == "csv" and not header else "id")
            reading = Reading(
                [path], kind, Path(name), database, memory, header, hive=False, **options
            )
            with progress(f"reading {path}", seen=partial(fraction_read, database)):
                auditor.read(reading, key)
        auditor.finish()
        found: Any = json_report(auditor) if as_json else Facts(text_report(auditor))
    if as_json:
        click.echo(json.dumps(found, ensure_ascii=False))
    else:
        echo(found)
    click.get_current_context().exit(0 if auditor.clean else 1)
