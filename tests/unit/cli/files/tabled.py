"""Tables in a test: make a file, read it, and stamp it."""

import io
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from frazil.cli.files.database import connect
from frazil.cli.files.paths import Memory
from frazil.cli.files.reading import Reading
from frazil.cli.files.stamping import Place, stamp

__all__ = ["Counting", "put", "stamped"]

MEMORY = Memory(1 << 30)
_COUNT = count()


class Counting:
    """The IDs 1, 2, … in place of new ones."""

    time_column = None

    def __init__(self, numeric: bool) -> None:
        self.numeric = numeric
        self.count = 0

    def numbers(self, count: int, moments: Any = None) -> Any:
        self.count += count
        return pa.array(np.arange(self.count - count + 1, self.count + 1))

    def texts(self, count: int, moments: Any = None) -> Any:
        return self.numbers(count).cast(pa.string())


def put(folder: Path, text: str | bytes, name: str = "in") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


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
    skip: int | None = None,
) -> bytes:
    """The table written with the IDs 1, 2, …"""
    out = io.BytesIO()
    paths = path if isinstance(path, list) else [path]
    folder = paths[0].parent / f".temporary-{next(_COUNT)}"
    folder.mkdir()
    names = [str(each) for each in paths]
    ids: Any = Counting(numeric)
    with connect(MEMORY.database_bytes, folder) as database:
        options = header, delimiter, charset, skip, infer
        reading = Reading(names, kind, folder, database, MEMORY, *options)
        stamp(reading, Place("id", last), to, out, ids, lambda _bytes, _rows: None)
    return out.getvalue()
