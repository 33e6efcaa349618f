"""``frazil stamp``: add a column of new IDs to a file.

Rows that were written without IDs need them when they are merged, loaded or shared. A notebook
needs memory for the whole table, loses quoting and types, and numbers the rows of every file alike.
Here rows stream from one file to the other in chunks, their text is copied if the format stays the
same, and the IDs come from a generator, as in any other process.

Files are read faster than the clock advances: a layout of 4,096 IDs per millisecond needs a quarter
of a second for a million rows. So by default timestamps may run ahead of the clock by up to 1 s, or
by the registry's horizon if that is less.
"""

import importlib.util
import json
import sys
import time
from dataclasses import replace
from typing import Any

import click

import frazil
from frazil.cli._options import is_default, json_option, request_options
from frazil.cli.files.streams import Source, open_output
from frazil.cli.files.tables import FORMATS, format_of, open_table
from frazil.cli.files.writers import open_writer
from frazil.cli.show.progress import progress
from frazil.errors import ConfigError
from frazil.generator.local import registry_of
from frazil.generator.request import Request
from frazil.opening import open_request
from frazil.schemes.scheme import Scheme

__all__ = ["command", "delimiter_option", "header_option"]

_FORMAT = click.Choice([kind for kind in FORMATS if kind != "text"])
_LEAD_US = 1_000_000


def _delimiter(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    text = {"tab": "\t", "\\t": "\t"}.get(value or "", value)
    # An ID or a prefix may contain these characters, and the quote has another meaning.
    if text is not None and (len(text) != 1 or text.isalnum() or text in '_*~$="\r\n'):
        raise click.BadParameter(
            f"{value!r} cannot separate fields; write one character, like ';', or tab", ctx, param
        )
    return text


delimiter_option = click.option(
    "--delimiter",
    callback=_delimiter,
    metavar="CHARACTER",
    help="The separator of CSV fields, or tab; detected by default.",
)
header_option = click.option(
    "--header/--no-header", default=True, help="Whether the first row of a CSV file is a header."
)


@click.command
@click.argument("path", metavar="INPUT", type=click.Path(allow_dash=True))
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
@delimiter_option
@header_option
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
    path: str,
    output: str,
    force: bool,
    column: str,
    last: bool,
    given: str | None,
    to: str | None,
    delimiter: str | None,
    header: bool,
    request: Request,
    as_json: bool,
) -> None:
    """Copy a table, with a new ID as the first column of each row.

    Reads and writes CSV, JSON Lines (with IDs as strings) and Parquet, by the ending of the file's
    name, also as .gz. Files may be larger than memory, and - is standard input or output. The
    output file appears when it is complete.

    \b
      frazil stamp people.csv -o people.parquet
      frazil stamp orders.jsonl.gz --column order_id --prefix order_ -o stamped.jsonl.gz
      zcat log.csv.gz | frazil stamp - --format csv --delimiter ';' > stamped.csv
    """
    kind = format_of(path, given)
    kind_out = format_of(output, to, kind, option="--to")
    if "text" in (kind, kind_out):
        raise ConfigError("plain text has no columns; use --format csv --no-header", path=path)
    if kind_out == "parquet" and output == "-" and sys.stdout.isatty():
        raise ConfigError("cannot write Parquet to a terminal; use -o FILE")
    began_s = time.monotonic()
    if is_default("lead"):
        request = replace(request, lead_us=_default_lead_us(request))
    with (
        Source(path) as source,
        open_output(output, source, force=force) as file,
        open_request(request) as generator,
        progress("stamping", source.size) as update,
    ):
        table = open_table(source, kind, header=header, delimiter=delimiter)
        numeric = kind_out == "parquet" and _is_number(request.scheme)
        rows, first, final = 0, None, None
        with open_writer(kind_out, file, table, column, last=last, numeric=numeric) as write:
            for chunk in table.chunks():
                ids = _issue(generator, len(chunk.numbers), numeric=numeric)
                write(chunk, ids)
                rows += len(ids)
                first, final = ids[0] if first is None else first, ids[-1]
                update(table.bytes_read())
    found: dict[str, Any] = {
        "rows": rows,
        "first": None if first is None else str(first),
        "last": None if final is None else str(final),
        "seconds": round(time.monotonic() - began_s, 3),
        "scheme": request.scheme.name,
        "output": output,
    }
    _report(found, as_json=as_json)


def _default_lead_us(request: Request) -> int:
    """A lead that the maker of the IDs accepts."""
    if request.url.maker == "service":
        return 0  # the service has its own lead
    if request.url.maker == "icicle":
        return _LEAD_US
    terms = registry_of(request).terms
    return min(_LEAD_US, terms.horizon_ticks * terms.tick_us) if terms.timed else 0


def _is_number(scheme: Scheme) -> bool:
    """Whether every ID of the scheme is a number that fits a signed column of 64 bits."""
    narrow = scheme.layout.signed_safe and (scheme.shuffle is None or scheme.bits < 64)
    return narrow and scheme.encoding == "decimal" and not scheme.prefix


def _issue(generator: frazil.Generator, count: int, *, numeric: bool) -> list[Any]:
    """The next IDs, as text or as ints."""
    scheme = generator.scheme
    if numeric:
        return generator.take(count)
    if scheme.encoding == "decimal" and not scheme.prefix:
        return list(map(str, generator.take(count)))
    if importlib.util.find_spec("numpy") is None:
        return list(map(scheme.format, generator.take(count)))
    texts: list[str] = scheme.codec.encode_array(generator.array(count)).astype(str).tolist()
    return texts


def _report(found: dict[str, Any], *, as_json: bool) -> None:
    output = found["output"]
    if as_json:
        # Standard output may contain the table.
        click.echo(json.dumps(found, ensure_ascii=False), err=output == "-")
        return
    ids = f", {found['first']} to {found['last']}" if found["rows"] else ""
    where = "standard output" if output == "-" else output
    click.echo(f"{found['rows']:,} rows in {found['seconds']:.1f} s{ids}, to {where}", err=True)
