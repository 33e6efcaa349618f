"""The beginning of a CSV file: its delimiter, its header, and the names of its columns.

Without a header, columns are named by their numbers, from 1. A delimiter that is not given is the
one that cuts the first lines into equally many fields, as many as possible.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from frazil.cli.files.formats import packing_of
from frazil.cli.files.rows import Rows, split_csv
from frazil.cli.files.streams import Source
from frazil.errors import ConfigError

__all__ = ["CsvHead", "open_csv"]

_BOM = b"\xef\xbb\xbf"
_DELIMITERS = ",\t;|"
_SNIFFED_LINES = 20


@dataclass(frozen=True)
class CsvHead:
    """What a CSV file begins with. ``header`` is the text of the header row, or None."""

    delimiter: str
    names: tuple[str, ...]
    header: bytes | None
    bom: bytes


def open_csv(
    source: Source, *, header: bool, delimiter: str | None
) -> tuple[CsvHead, Iterator[Rows]]:
    """The beginning of a file, and its rows without the header; blank rows are among them.

    Raises ConfigError for an empty file.
    """
    blocks = source.blocks()
    first = next(blocks, b"")
    while len(first) < len(_BOM) and (more := next(blocks, b"")):
        first += more
    bom = _BOM if first.startswith(_BOM) else b""
    blocks = chain([first[len(bom) :]], blocks)
    if delimiter is None:
        delimiter = _guess_delimiter(source.path, first[len(bom) :])
    rows = split_csv(source, blocks, delimiter)
    for some in rows:
        filled = (some.bodies > some.starts).nonzero()[0]
        if not len(filled):
            continue
        at = int(filled[0])
        text = some.row(at)
        (record,) = csv.reader(_lines(text), delimiter=delimiter)
        rest = chain([some.after(at + 1 if header else at)], rows)
        names = record if header else [str(i + 1) for i in range(len(record))]
        return CsvHead(delimiter, tuple(names), text if header else None, bom), rest
    raise ConfigError(
        f"{source.name} is empty; a CSV file needs at least a header", path=source.path
    )


def _lines(data: bytes) -> io.StringIO:
    return io.StringIO(data.decode("utf-8", "surrogateescape"), newline="")


def _guess_delimiter(path: str, start: bytes) -> str:
    name = path.lower()
    if packing_of(name):
        name = name.rpartition(".")[0]
    if name.endswith(".tsv"):
        return "\t"
    lines = list(islice(_lines(start[: 1 << 16]), _SNIFFED_LINES))
    return max(_DELIMITERS, key=lambda delimiter: _score(lines, delimiter))


def _score(lines: Sequence[str], delimiter: str) -> tuple[bool, int]:
    try:
        widths = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
    except csv.Error:
        return False, 0
    complete = widths[:-1] or widths or [0]  # the last row may continue below these lines
    return min(complete) == max(complete) > 1, complete[0]
