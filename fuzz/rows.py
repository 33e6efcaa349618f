"""The tables of ``frazil stamp``: CSV and JSON Lines, written again with one more column.

The bits of the first byte choose the format read, the format written, and the place of the column.
The rest is the file. The standard library reads the output, which is compared with the input row by
row.
"""

import csv
import io
import json
from pathlib import Path
from typing import Any

from frazil.cli.files.chunks import Table
from frazil.cli.files.csv_table import CsvTable
from frazil.cli.files.streams import Source
from frazil.cli.files.tables import open_table
from frazil.cli.files.writers import open_writer
from fuzz.accepted import accepted
from fuzz.files import kept

__all__ = ["check_rows"]

_COLUMN = "new id"


def check_rows(data: bytes) -> None:
    """Every row is written unchanged, with its ID; or the whole file is refused."""
    choice, content = data[:1] or b"\0", data[1:]
    to_json, from_json, last, headless = (bool(choice[0] >> bit & 1) for bit in range(4))
    kind, kind_out = ("csv", "jsonl")[from_json], ("csv", "jsonl")[to_json]
    with kept(content) as path:
        done = accepted(_stamped, path, kind, kind_out, last=last, header=not headless)
    if done is None:
        return
    table, written, ids = done
    text = content.decode("utf-8", "surrogateescape")
    if content[:2] == b"\x1f\x8b":  # the same library would decompress it here
        return
    text = text.removeprefix("\ufeff")
    output = written.decode("utf-8", "surrogateescape")
    if table.source.has_bom:  # a mark after blank lines is part of a field
        output = output.removeprefix("\ufeff")
    before = _records(text, kind, table)
    if kind == kind_out == "csv" and not headless:
        ids = [_COLUMN, *ids]
    after = _records(output, kind_out, table if kind == kind_out else None)
    if kind == kind_out == "csv":
        pairs = zip(before, ids, strict=True)
        assert after == [[*row, n] if last else [n, *row] for row, n in pairs]
        return
    _compare_values(before, after, ids, table, headless=headless)


def _stamped(
    path: Path, kind: str, kind_out: str, *, last: bool, header: bool
) -> tuple[Table, bytes, list[str]]:
    output = io.BytesIO()
    ids: list[str] = []
    with Source(str(path)) as source:
        table = open_table(source, kind, header=header, delimiter=None)
        with open_writer(kind_out, output, table, _COLUMN, last=last, numeric=False) as write:
            for chunk in table.chunks():
                some = [f"id{len(ids) + i}" for i in range(len(chunk.numbers))]
                write(chunk, some)
                ids += some
    return table, output.getvalue(), ids


def _records(text: str, kind: str, table: Table | None) -> list[Any]:
    """The rows of a file, as the standard library reads them."""
    if kind == "jsonl":
        return [json.loads(line) for line in text.split("\n") if line and not line.isspace()]
    delimiter = table.delimiter if isinstance(table, CsvTable) else ","
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    return [row for row in rows if row]


def _compare_values(
    before: list[Any], after: list[Any], ids: list[str], table: Table, *, headless: bool
) -> None:
    """As mappings, in either format, the rows are equal except for the ID; texts are unchanged."""
    if isinstance(table, CsvTable):
        before = [dict(zip(table.names, row, strict=True)) for row in before[not headless :]]
    if after and isinstance(after[0], list):
        names = after[0]
        rows = [dict(zip(names, row, strict=True)) for row in after[1:]]
    else:
        rows = after
    assert [row.pop(_COLUMN) for row in rows] == ids
    for one, other in zip(before, rows, strict=True):
        for name, value in one.items():
            kept = other[name]
            if isinstance(value, str) or isinstance(after[0], dict):
                assert repr(kept) == repr(value), name
        assert other.keys() >= one.keys()
