"""CSV, read so that it can be written back unchanged.

Programs write CSV in different ways: with commas or semicolons, with quotes where needed or
everywhere, with different line ends. A row that Python's reader has parsed has lost this. So each
row also keeps the text that the reader consumed for it.

Limits: the quote is ``"``, and a field has at most 16 Mi characters. Blank lines are skipped.
"""

import csv
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

from frazil.cli.files.chunks import Chunk, LineTable
from frazil.cli.files.streams import Source
from frazil.errors import ConfigError

__all__ = ["CsvTable"]

_FIELD_CHARACTERS = 1 << 24
_DELIMITERS = ",\t;|"
_SNIFFED_LINES = 20


class CsvTable(LineTable):
    """Delimited text. Without a header, columns are named by their numbers, from 1.

    The attribute ``header`` is the text of the header line, or None.
    """

    def __init__(self, source: Source, *, header: bool, delimiter: str | None) -> None:
        super().__init__(source)
        csv.field_size_limit(_FIELD_CHARACTERS)
        lines = source.lines("")
        start = list(islice(lines, _SNIFFED_LINES))
        self.delimiter = delimiter or self._guess_delimiter(start)
        rows = self._read(chain(start, lines))
        first = next(rows, None)
        if first is None:
            raise ConfigError(
                f"{source.name} is empty; a CSV file needs at least a header", path=source.path
            )
        _, text, record = first
        self.header = text if header else None
        numbers = (str(i + 1) for i in range(len(record)))
        self.names = tuple(record if header else numbers)
        self._rows = rows if header else chain([first], rows)

    def chunks(self) -> Iterator[Chunk]:
        """See Table."""
        return self.chunked(self._rows)

    def rows(self, chunk: Chunk) -> list[dict[str, Any]]:
        """See Table."""
        repeated = [name for i, name in enumerate(self.names) if name in self.names[:i]]
        if repeated:
            raise ConfigError(
                f"{self.source.name} has two columns named {repeated[0]!r}; rename one, or write "
                "CSV",
                path=self.source.path,
            )
        width = len(self.names)
        for number, record in zip(chunk.numbers, chunk.records, strict=True):
            if len(record) != width:
                raise self.source.error_at(
                    number,
                    f"the row has {len(record)} fields and the first line {width}; correct it, or "
                    "write CSV, where rows may differ",
                )
        return [dict(zip(self.names, record, strict=True)) for record in chunk.records]

    def values(self, chunk: Chunk, column: str) -> list[Any]:
        """See Table."""
        index = self.names.index(column)
        return [record[index] if index < len(record) else None for record in chunk.records]

    def _read(self, lines: Iterator[str]) -> Iterator[tuple[int, str, list[str]]]:
        consumed: list[str] = []

        def feed() -> Iterator[str]:
            for line in lines:
                consumed.append(line)
                yield line

        reader = csv.reader(feed(), delimiter=self.delimiter)
        number, next_number, text = 1, 1, ""
        try:
            for record in reader:
                text = "".join(consumed)
                consumed.clear()
                number, next_number = next_number, reader.line_num + 1
                if record:
                    yield number, text, record
        except csv.Error as error:
            raise self._invalid(next_number, str(error)) from None
        self._check_end(number, text)

    def _check_end(self, number: int, text: str) -> None:
        """Raise ConfigError if a quote is never closed: the last row is then the rest of the file.

        The reader does not report this, unless it is strict.
        """
        try:
            list(csv.reader([text], delimiter=self.delimiter, strict=True))
        except csv.Error as error:
            if "unexpected end" in str(error):
                raise self._invalid(number, "a quote is never closed") from None

    def _invalid(self, number: int, reason: str) -> ConfigError:
        return ConfigError(
            f"{self.source.name}: the row that begins on line {number} is not CSV: {reason}",
            path=self.source.path,
            line=number,
        )

    def _guess_delimiter(self, lines: Sequence[str]) -> str:
        """The delimiter that cuts the first lines into equally many fields, as many as possible."""
        if self.source.path.lower().removesuffix(".gz").endswith(".tsv"):
            return "\t"

        def score(delimiter: str) -> tuple[bool, int]:
            try:
                widths = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
            except csv.Error:
                return False, 0
            complete = widths[:-1] or widths or [0]  # the last row may continue below these lines
            return min(complete) == max(complete) > 1, complete[0]

        return max(_DELIMITERS, key=score)
