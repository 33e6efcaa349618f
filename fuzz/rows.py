"""The copies of ``frazil stamp``: CSV and JSON Lines, written again with one more column.

The bits of the first byte choose the format, the place of the column, and whether there is a
header. The rest is the file. The standard library reads the output, which is compared with the
input row by row.
"""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from frazil.cli.files.copies import Cut, Place, cut_csv
from frazil.cli.files.csv_head import CsvHead, open_csv
from frazil.cli.files.json_lines import cut_json
from frazil.cli.files.streams import Source
from fuzz.accepted import accepted
from fuzz.files import kept

__all__ = ["check_rows"]

_COLUMN = "new id"
_BLOCK_BYTES = 64  # so that rows cross the ends of blocks


class _Source(Source):
    """A source of small blocks."""

    def blocks(self) -> Any:
        for block in super().blocks():
            for i in range(0, len(block), _BLOCK_BYTES):
                yield block[i : i + _BLOCK_BYTES]


def check_rows(data: bytes) -> None:
    """Every row is written unchanged, with its ID; or the whole file is refused."""
    choice, content = data[:1] or b"\0", data[1:]
    is_json, last, headless = (bool(choice[0] >> bit & 1) for bit in range(3))
    if content[:4] == b"\x28\xb5\x2f\xfd" or content[:2] == b"\x1f\x8b":
        return  # the same library would decompress it here
    with kept(content) as path:
        done = accepted(_stamped, path, is_json=is_json, last=last, header=not headless)
    if done is None:
        return
    head, written, ids = done
    before = _records(content, head)
    after = _records(written, head)
    if is_json:
        assert [row.pop(_COLUMN) for row in after] == ids
        assert repr(after) == repr(before)
        return
    if not headless:
        ids = [_COLUMN, *ids]
    pairs = zip(before, ids, strict=True)
    assert after == [[*row, n] if last else [n, *row] for row, n in pairs]


def _stamped(
    path: Path, *, is_json: bool, last: bool, header: bool
) -> tuple[CsvHead | None, bytes, list[str]]:
    place, files = Place(_COLUMN, last), [str(path)]
    head = None
    if is_json:
        cuts = cut_json(files, _Source, place)
    else:
        with _Source(str(path)) as source:
            head, _ = open_csv(source, header=header, delimiter=None)
        cuts = cut_csv(files, _Source, place, header=header, delimiter=head.delimiter)
    output = io.BytesIO()
    ids: list[str] = []
    for cut in cuts:
        some = [f"id{len(ids) + i}" for i in range(len(cut.at))]
        ids += some
        write(output, cut, some)
    return head, output.getvalue(), ids


def write(output: io.BytesIO, cut: Cut, ids: list[str]) -> None:
    """Write the rows of a cut with these IDs."""
    output.writelines(cut.joined(pa.array(ids, pa.string())))


def _records(data: bytes, head: CsvHead | None) -> list[Any]:
    """The rows of a file, as the standard library reads them."""
    text = data.decode("utf-8", "surrogateescape")
    if head is None:
        return [json.loads(line) for line in text.split("\n") if line and not line.isspace()]
    text = text.removeprefix("\ufeff") if head.bom else text
    csv.field_size_limit(1 << 30)
    return [
        row for row in csv.reader(io.StringIO(text, newline=""), delimiter=head.delimiter) if row
    ]
