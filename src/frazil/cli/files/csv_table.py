"""CSV, read so that it can be written again as it was.

No two programs write CSV alike: commas or semicolons, quotes where they must be or everywhere, one
kind of line end or another. What Python's reader makes of a row has lost all that. So the reader
decides only where a row ends, which takes knowing about quotes, and the text it used up on the way
is kept beside the fields.

Limits: fields are quoted with ``"`` and have at most 16 Mi characters. Blank lines are no rows.
"""

import csv
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

from frazil.cli.files.chunks import Chunk, Lines
from frazil.cli.files.streams import Source
from frazil.errors import ConfigError

__all__ = ["CsvTable"]

_FIELD_CHARACTERS = 1 << 24
_DELIMITERS = ",\t;|"
_SNIFFED_LINES = 20


class CsvTable(Lines):
    """Delimited text. Without a header the columns are called by their numbers, from 1.

    ``header`` becomes the text of the header line, None where there is none.
    """

    def __init__(self, source: Source, *, header: bool, delimiter: str | None) -> None:
        super().__init__(source)
        csv.field_size_limit(_FIELD_CHARACTERS)
        lines = source.lines("")
        start = list(islice(lines, _SNIFFED_LINES))
        self.delimiter = delimiter or self._sniffed(start)
        rows = self._read(chain(start, lines))
        first = next(rows, None)
        if first is None:
            raise ConfigError(
                f"{source.name} is empty; a CSV file has at least a header", path=source.path
            )
        _, text, record = first
        self.header = text if header else None
        numbers = (str(i + 1) for i in range(len(record)))
        self.names = tuple(record if header else numbers)
        self._rows = rows if header else chain([first], rows)

    def chunks(self) -> Iterator[Chunk]:
        """See Table."""
        return self.cut(self._rows)

    def rows(self, chunk: Chunk) -> list[dict[str, Any]]:
        """See Table."""
        twice = [name for i, name in enumerate(self.names) if name in self.names[:i]]
        if twice:
            raise ConfigError(
                f"{self.source.name} has two columns called {twice[0]!r}; rename one, or write CSV",
                path=self.source.path,
            )
        width = len(self.names)
        for number, record in zip(chunk.numbers, chunk.records, strict=True):
            if len(record) != width:
                raise ConfigError(
                    f"{self.source.name}, line {number}: {len(record)} fields where the first line "
                    f"has {width}; correct it, or write CSV, where rows may differ",
                    path=self.source.path,
                    line=number,
                )
        return [dict(zip(self.names, record, strict=True)) for record in chunk.records]

    def values(self, chunk: Chunk, column: str) -> list[Any]:
        """See Table."""
        at = self.names.index(column)
        return [record[at] if at < len(record) else None for record in chunk.records]

    def _read(self, lines: Iterator[str]) -> Iterator[tuple[int, str, list[str]]]:
        taken: list[str] = []

        def feed() -> Iterator[str]:
            for line in lines:
                taken.append(line)
                yield line

        reader = csv.reader(feed(), delimiter=self.delimiter)
        number, after, text = 1, 1, ""
        try:
            for record in reader:
                text = "".join(taken)
                taken.clear()
                number, after = after, reader.line_num + 1
                if record:
                    yield number, text, record
        except csv.Error as error:
            raise self._broken(after, str(error)) from None
        self._check_end(number, text)

    def _check_end(self, number: int, text: str) -> None:
        """A quote that is never closed swallows the rest of the file; only the end shows it."""
        try:
            list(csv.reader([text], delimiter=self.delimiter, strict=True))
        except csv.Error as error:
            if "unexpected end" in str(error):
                raise self._broken(number, "a quote is never closed") from None

    def _broken(self, number: int, reason: str) -> ConfigError:
        return ConfigError(
            f"{self.source.name}: the row that begins on line {number} is no CSV: {reason}",
            path=self.source.path,
            line=number,
        )

    def _sniffed(self, lines: Sequence[str]) -> str:
        """The delimiter that cuts the first lines into the same number of fields, the most."""
        if self.source.path.lower().removesuffix(".gz").endswith(".tsv"):
            return "\t"

        def worth(delimiter: str) -> tuple[bool, int]:
            try:
                widths = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
            except csv.Error:
                return False, 0
            whole = widths[:-1] or widths or [0]  # the last one may go on below these lines
            return min(whole) == max(whole) > 1, whole[0]

        return max(_DELIMITERS, key=worth)
