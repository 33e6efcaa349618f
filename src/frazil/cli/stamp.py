"""``frazil stamp``: add a column of new IDs to files.

Rows that were written without IDs need them when they are merged, loaded or shared. A notebook
needs memory for the whole table, loses quoting and types, and gives the rows of each file the same
numbers. Here rows stream from files to a file, and the IDs come from a generator, as in any other
process.

Files are read faster than the clock advances: a layout of 4,096 IDs per millisecond needs a quarter
of a second for a million rows. So by default timestamps may run ahead of the clock by up to 1 s, or
by the registry's horizon if that is less.
"""

import json
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from frazil.cli._file_options import file_options
from frazil.cli._options import is_default, json_option, request_options
from frazil.cli.files.paths import (
    FORMATS,
    Memory,
    check_extra,
    files_of,
    format_of,
    same_format,
)
from frazil.cli.files.streams import open_output
from frazil.cli.show import terminal
from frazil.cli.show.progress import progress
from frazil.errors import ConfigError
from frazil.generator.request import OpenRequest
from frazil.tables.new_column import opened

_FORMAT = click.Choice([kind for kind in FORMATS if kind != "text"])
_LEAD_US = 1_000_000


@click.command
@click.argument("paths", metavar="INPUT...", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    default="-",
    type=click.Path(allow_dash=True),
    metavar="FILE",
    help="The output; standard output by default.",
)
@click.option("--force", is_flag=True, help="Replace the output if it exists.")
@click.option("--column", default="id", show_default=True, help="The name of the new column.")
@click.option("--last", is_flag=True, help="Add it as the last column, not the first.")
@click.option(
    "--format", "given", type=_FORMAT, help="The input's format, instead of that by its ending."
)
@click.option("--to", type=_FORMAT, help="The output's format, instead of that by its ending.")
@click.option(
    "--time-column",
    metavar="NAME",
    help="A column of moments: each row gets an ID of its own moment, which is past. The past must "
    "be declared (frazil claims --declare-past-from), and a run uses up that of one node number.",
)
@file_options
@click.option(
    "--types",
    "infer",
    is_flag=True,
    help="Infer the types of CSV columns from all rows; they are text otherwise.",
)
@request_options
@click.option(
    "--lead",
    metavar="DURATION",
    help="How far timestamps may run ahead of the clock; 0 for not at all.  "
    "[default: 1s, or the registry's horizon if less]",
)
@json_option
def command(
    *,
    paths: tuple[str, ...],
    output: str,
    force: bool,
    given: str | None,
    to: str | None,
    request: OpenRequest,
    as_json: bool,
    **options: Any,
) -> None:
    """Copy a table, with a new ID as the first column of each row.

    Reads and writes CSV, JSON Lines (with IDs as strings), Parquet and Arrow, by the ending of the
    file's name; text also as .gz and .zst. INPUT may be several files, a folder or a glob, and
    folders like year=2026 become columns. Files may be larger than memory, and - is standard input
    or output. The output file appears when it is complete.

    Needs DuckDB and pyarrow; in a checkout: pip install ".[files]"

    \b
      frazil stamp people.csv -o people.parquet
      frazil stamp 'events/*/*.parquet' --memory 2GiB -o stamped.parquet
      frazil stamp orders.jsonl.gz --column order_id --prefix order_ -o stamped.jsonl.gz
      frazil stamp orders.parquet --time-column created_at -o stamped.parquet
      zcat log.csv.gz | frazil stamp - --format csv --delimiter ';' > stamped.csv
    """
    check_extra()
    files = files_of(paths)
    kind = same_format(files, given)
    kind_out = format_of(output, to, kind, option="--to")
    if "text" in (kind, kind_out):
        raise ConfigError("plain text has no columns; use --format csv --no-header", path=files[0])
    if kind_out in ("parquet", "arrow") and output == "-" and sys.stdout.isatty():
        raise ConfigError(f"cannot write {kind_out} to a terminal; use -o FILE")
    began_s = time.monotonic()
    if is_default("lead"):
        request = replace(request, lead_us=_default_lead_us(request))
    found = _stamp(files, kind, output, kind_out, request, force=force, **options)
    found |= {
        "seconds": round(time.monotonic() - began_s, 3),
        "scheme": request.scheme.name,
        "output": output,
    }
    _report(found, as_json=as_json)


def _stamp(
    files: list[str],
    kind: str,
    output: str,
    kind_out: str,
    request: OpenRequest,
    *,
    force: bool,
    column: str,
    last: bool,
    time_column: str | None,
    memory: Memory,
    **options: Any,
) -> dict[str, Any]:
    """Write the output, and return how many rows it has and its first and last ID."""
    from frazil.cli.files.database import connect
    from frazil.cli.files.reading import Reading
    from frazil.cli.files.stamping import Place, stamp
    from frazil.cli.new_ids import Ids

    with (
        tempfile.TemporaryDirectory(prefix="frazil-stamp-") as folder,
        open_output(output, files, force=force) as file,
        opened(request, time_column) as generator,
        connect(memory.database_bytes, Path(folder)) as database,
        progress("stamping") as update,
    ):
        reading = Reading(files, kind, Path(folder), database, memory, **options)
        ids = Ids(generator, time_column)
        stamp(reading, Place(column, last), kind_out, file, ids, update)
    return {"rows": ids.count, "first": ids.first, "last": ids.last}


def _default_lead_us(request: OpenRequest) -> int:
    """A lead that the maker of the IDs accepts."""
    if request.url.opened_by.maker == "service":
        return 0  # the service has its own lead
    if request.url.opened_by.maker == "icicle":
        return _LEAD_US

    terms = request.connect().terms
    return min(_LEAD_US, terms.horizon_ticks * terms.tick_us) if terms.timed else 0


def _report(found: dict[str, Any], *, as_json: bool) -> None:
    output = found["output"]
    if as_json:
        # Standard output may contain the table.
        click.echo(json.dumps(found, ensure_ascii=False), err=output == "-")
        return
    ids = f", {found['first']} to {found['last']}" if found["rows"] else ""
    where = "standard output" if output == "-" else output
    rows = terminal.counted(found["rows"], "row")
    text = f"{rows} in {found['seconds']:.1f} s{ids}, to {where}"
    click.echo(terminal.wrapped(text), err=True)
