"""Tables in a test: make a file, read it, and stamp it."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from frazil.cli.files.copies import Place
from frazil.cli.files.csv_head import open_csv
from frazil.cli.files.memory import Memory
from frazil.cli.files.reading import Reading
from frazil.cli.files.rows import split_lines
from frazil.cli.files.stamping import stamp
from frazil.cli.files.streams import Source

__all__ = ["Counting", "put", "read", "stamped"]

MEMORY = Memory(1 << 30)


class Counting:
    """The IDs 1, 2, … in place of new ones."""

    def __init__(self, numeric: bool) -> None:
        self.numeric = numeric
        self.count = 0

    def numbers(self, count: int) -> Any:
        self.count += count
        return pa.array(np.arange(self.count - count + 1, self.count + 1))

    def texts(self, count: int) -> Any:
        return self.numbers(count).cast(pa.string())


def put(folder: Path, text: str | bytes, name: str = "in") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def read(
    path: Path, kind: str, *, header: bool = True, delimiter: str | None = None
) -> tuple[list[int], list[Any], tuple[str, ...]]:
    """The lines of the rows, the rows, and for CSV the names of its columns."""
    with Source(str(path)) as source:
        names: tuple[str, ...] = ()
        if kind == "csv":
            head, blocks = open_csv(source, header=header, delimiter=delimiter)
            names = head.names
        else:
            blocks = split_lines(source, source.blocks())
        numbers, records = [], []
        for rows in blocks:
            for i in range(len(rows.ends)):
                text = rows.row(i).decode("utf-8", "surrogateescape")
                if text.strip("\r\n"):
                    numbers.append(int(rows.lines[i]))
                    records.append(text)
        if kind == "csv":
            texts = (io.StringIO(text, newline="") for text in records)
            records = [row for text in texts for row in csv.reader(text, delimiter=head.delimiter)]
        return numbers, records, names


def stamped(
    path: Path | list[Path],
    kind: str,
    to: str,
    *,
    last: bool = False,
    numeric: bool = False,
    header: bool = True,
    delimiter: str | None = None,
    charset: str | None = None,
    infer: bool = False,
) -> bytes:
    """The table written with the IDs 1, 2, …"""
    out = io.BytesIO()
    paths = path if isinstance(path, list) else [path]
    folder = paths[0].parent / ".temporary"
    folder.mkdir(exist_ok=True)
    names = [str(each) for each in paths]
    reading = Reading(names, kind, header, delimiter, charset, MEMORY, folder, infer)
    ids: Any = Counting(numeric)
    stamp(reading, Place("id", last), to, out, ids, lambda _bytes, _rows: None)
    return out.getvalue()
