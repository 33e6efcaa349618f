"""``frazil stamp`` from CSV to CSV and from JSON Lines to JSON Lines.

The bits of the first byte choose the format, the place of the column, and whether there is a
header. The rest is the file. The standard library reads the output, which is compared with the
input value by value.
"""

import csv
import io
import json
import re
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa

from evidence.fuzz.accepted import accepted
from evidence.fuzz.files import kept
from frazil.cli.files.database import connect
from frazil.cli.files.paths import Memory
from frazil.cli.files.reading import Reading
from frazil.cli.files.stamping import Place, stamp

__all__ = ["check_rows"]

_COLUMN = "new id"
_MARKS = re.compile(rb"\A(\xef\xbb\xbf)+")
# Python's reader takes a quote after a space for a character, DuckDB for the begin of a text.
_UNLIKE = re.compile(rb'[ \t]"')


class _Ids:
    """The texts id0, id1, … as IDs."""

    numeric = False
    time_column = None
    count = 0

    def texts(self, count: int, _moments: Any) -> Any:
        """The next of them."""
        self.count += count
        numbers = range(self.count - count, self.count)
        return pa.array([f"id{number}" for number in numbers], pa.string())


def check_rows(data: bytes) -> None:
    """Every row is written unchanged, with its ID; or the whole file is refused."""
    choice, content = data[:1] or b"\0", data[1:]
    is_json, last, headless = (bool(choice[0] >> bit & 1) for bit in range(3))
    if content[:4] == b"\x28\xb5\x2f\xfd" or content[:2] == b"\x1f\x8b" or _UNLIKE.search(content):
        return  # the same library would decompress it here
    with kept(content) as path:
        kind = "jsonl" if is_json else "csv"
        done = accepted(_stamped, path, kind, last=last, header=not headless)
    if done is None:
        return
    mark, before, written, count = done
    ids = [f"id{number}" for number in range(count)]
    before, after = _records(_MARKS.sub(b"", content)[before:], mark), _records(written, mark)
    if is_json:
        assert [row.pop(_COLUMN) for row in after] == ids
        assert repr(after) == repr(before)
        return
    if not headless:
        ids = [_COLUMN, *ids]
    pairs = zip(before, ids, strict=True)
    assert after == [[*row, n] if last else [n, *row] for row, n in pairs]


def _stamped(path: Path, kind: str, *, last: bool, header: bool) -> tuple[str, int, bytes, int]:
    """The delimiter, the bytes before the table, what was written, and how many rows."""
    output, ids = io.BytesIO(), _Ids()
    memory = Memory(1 << 30)
    with (
        tempfile.TemporaryDirectory(prefix="frazil-fuzz-") as folder,
        connect(memory.database_bytes, Path(folder)) as database,
    ):
        reading = Reading([str(path)], kind, Path(folder), database, memory, header)
        mark, before = "", 0
        if kind == "csv":
            head = reading.source(str(path)).head
            mark, before = head.delimiter, head.before
        place: Any = Place(_COLUMN, last)
        made: Any = ids
        stamp(reading, place, kind, output, made, lambda *_: None)
    return mark, before, output.getvalue(), ids.count


def _records(data: bytes, mark: str) -> list[Any]:
    """The rows of a file, as the standard library reads them."""
    text = data.decode("utf-8", "surrogateescape")
    if not mark:
        return [json.loads(line) for line in text.split("\n") if line and not line.isspace()]
    csv.field_size_limit(1 << 30)
    return [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=mark) if row]
