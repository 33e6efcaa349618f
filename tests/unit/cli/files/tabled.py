"""Tables in a test: make a file, read it, and stamp it."""

import io
from pathlib import Path
from typing import Any

from frazil.cli.files.streams import Source
from frazil.cli.files.tables import open_table
from frazil.cli.files.writers import open_writer

__all__ = ["put", "read", "stamped"]


def put(folder: Path, text: str | bytes, name: str = "in") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def read(path: Path, kind: str, **options: Any) -> tuple[list[int], list[Any], tuple[str, ...]]:
    with Source(str(path)) as source:
        table = open_table(source, kind, **options)
        numbers: list[int] = []
        records: list[Any] = []
        for chunk in table.chunks():
            numbers += chunk.numbers
            records += chunk.records
        return numbers, records, table.names


def stamped(
    path: Path, kind: str, to: str, *, last: bool = False, numeric: bool = False, **options: Any
) -> bytes:
    """The table written with the IDs 1, 2, …"""
    out = io.BytesIO()
    with Source(str(path)) as source:
        table = open_table(source, kind, **options)
        at = 0
        with open_writer(to, out, table, "id", last=last, numeric=numeric) as write:
            for chunk in table.chunks():
                ids = range(at + 1, at + 1 + len(chunk.numbers))
                write(chunk, list(ids) if numeric else list(map(str, ids)))
                at += len(ids)
    return out.getvalue()
