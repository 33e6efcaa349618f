"""An audit of the IDs in files: DuckDB reads each row, and counts.

One query for each file reads the IDs' fields in the order of the rows. A second one, over all
files, looks for duplicates; if every ID is larger than the one before, there are none. What does
not fit the memory goes to DuckDB's temporary files. Only the first few invalid rows and duplicates
are read, by queries of their own, if there are any.

Numbers and decimal texts are read by SQL alone. For another text form DuckDB calls the codec with
some thousand texts at a time. A position is one number: the file's index above 48 bits of line or
row number.
"""

from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import duckdb

from frazil.cli.files.database import lines_of, printable, text_problem, unreadable
from frazil.cli.files.formats import shown
from frazil.cli.files.reading import Reading
from frazil.cli.files.survey import Fields, Survey
from frazil.cli.files.tables import audited
from frazil.errors import CodecError
from frazil.schemes.scheme import Scheme

_NUMBER_BITS = 48
_SHOWN_CHARACTERS = 60  # of a text that is not an ID
_ROWS = 1 << 14  # of the result of a query that are read in one step


class Place(NamedTuple):
    """The file of a row, and its line or row number."""

    file: str
    unit: str
    number: int


class Invalid(NamedTuple):
    """A row without a valid ID, and the reason."""

    position: int
    text: str
    reason: str


class Duplicate(NamedTuple):
    """A key and the positions of its first copy and of this repeat."""

    key: int | str
    first: int
    again: int


class Auditor:
    """An audit of the files passed to ``read``. Without a scheme, values are compared as text.

    kept_max: how many invalid rows and how many duplicates to keep.
    """

    def __init__(
        self, scheme: Scheme | None, database: duckdb.DuckDBPyConnection, kept_max: int
    ) -> None:
        self.scheme = scheme
        self.survey = Survey()
        self.kept_max = kept_max
        self.names: list[str] = []
        """The files."""
        self.first_invalid: list[Invalid] = []
        self.duplicates = 0
        """Rows with the ID of an earlier row."""
        self.first_duplicates: list[Duplicate] = []
        self._database = database
        self._readings: list[Reading] = []
        self._sources: list[tuple[str, str]] = []
        self._lines: dict[int, int] = {}
        if scheme is not None and not _is_plain(scheme):
            _register(database, scheme)

    @property
    def clean(self) -> bool:
        """Whether the audit found no invalid row, no duplicate and no foreign ID."""
        return not (self.survey.invalid or self.duplicates or self.survey.foreign_ids)

    def read(self, reading: Reading, column: str) -> None:
        """Audit a file."""
        try:
            self._read(reading, column)
        except duckdb.Error as error:
            raise unreadable(reading, error) from None

    def finish(self) -> None:
        """Search for duplicates, and for the lines of what was found."""
        try:
            # Without a scheme, keys are texts, which seldom increase.
            if self.survey.rows > 1 and not (self.survey.increasing and self.scheme):
                self._search()
            self._find_lines()
        except duckdb.Error as error:
            raise unreadable(self._readings[0], error) from None

    def place(self, position: int) -> Place:
        """The file and line of a position."""
        file = position >> _NUMBER_BITS
        number = self._lines.get(position, position & ((1 << _NUMBER_BITS) - 1))
        return Place(self.names[file], self._sources[file][1] or "line", number)

    def text(self, key: int | str) -> str:
        """The text of an ID."""
        return self.scheme.format(key) if isinstance(key, int) and self.scheme else str(key)

    def _read(self, reading: Reading, column: str) -> None:
        index = len(self._sources)
        self._sources.append(audited(reading, column, self._database, index))
        self._readings.append(reading)
        self.names.append(shown(reading.files[0]))
        keys = self._keys(index)
        fields = Fields(self.scheme)
        found = self._database.execute(fields.query(keys))
        invalid = self.survey.invalid
        if self.survey.add(
            chain.from_iterable(iter(partial(found.fetchmany, _ROWS), [])), fields.names
        ):
            self.survey.late_at = self._one(fields.latest(keys))
        if self.survey.invalid > invalid and len(self.first_invalid) < self.kept_max:
            self._add_invalid(keys)

    def _keys(self, index: int) -> str:
        """The position and the key of each row of a file, and its value; null if it is invalid."""
        query, unit = self._sources[index]
        base = index << _NUMBER_BITS
        numbered = f"SELECT {base} + row_number() OVER () AS nr, * FROM ({query})"
        rows = f"SELECT nr, {self._key()} AS key, n, t, raw, kind FROM ({numbered})"
        # A line of a text without anything is no row, but it has a number.
        return f"{rows} WHERE t IS NOT NULL" if unit == "line" else rows

    def _key(self) -> str:
        return "coalesce(t, CAST(n AS VARCHAR))" if self.scheme is None else _key(self.scheme)

    def _one(self, query: str) -> Any:
        return self._database.execute(query).fetchall()[0][0]

    def _add_invalid(self, keys: str) -> None:
        rows = self._database.execute(
            f"SELECT nr, n, t, raw, kind FROM ({keys}) WHERE key IS NULL ORDER BY nr LIMIT "
            f"{self.kept_max - len(self.first_invalid)}"
        ).fetchall()
        for position, number, text, raw, kind in rows:
            shown = printable(raw or "")
            if len(shown) > _SHOWN_CHARACTERS:
                shown = shown[:_SHOWN_CHARACTERS] + "..."
            reason = self._reason(number if text is None else text, raw, kind)
            self.first_invalid.append(Invalid(position, shown, reason))

    def _reason(self, value: int | str | None, raw: str | None, kind: str) -> str:
        """Why a value is not an ID."""
        if value is None:
            number = kind in ("ubigint", "bigint", "double")
            named = "number" if number else (kind or "value").lower()
            return "there is no value" if raw is None else f"a {named} is not an ID"
        try:
            if isinstance(value, str) and (problem := text_problem(value)):
                raise CodecError(problem)
            if self.scheme is not None:
                codec = self.scheme.codec
                _ = self.scheme.parse(value) if isinstance(value, str) else codec.checked(value)
        except CodecError as error:
            return str(error).partition("\n")[0]
        raise AssertionError(value)  # a key that SQL could not read

    def _search(self) -> None:
        """Count the rows with the ID of an earlier row, and find the first of them."""
        key = self._key()
        # Without positions DuckDB reads in any order, with all its threads.
        keys = " UNION ALL ".join(
            f"SELECT {key} AS key FROM ({query})" for query, _ in self._sources
        )
        distinct = f"SELECT DISTINCT key FROM ({keys}) WHERE key IS NOT NULL"
        self.duplicates = self.survey.valid - int(self._one(f"SELECT count(*) FROM ({distinct})"))
        if self.duplicates and self.kept_max:
            keys = " UNION ALL ".join(
                f"SELECT nr, key FROM ({self._keys(i)})" for i in range(len(self._sources))
            )
            keys = f"SELECT nr, key FROM ({keys}) WHERE key IS NOT NULL"
            found = self._database.execute(
                f"SELECT key, first, nr FROM ({keys}) JOIN (SELECT key, min(nr) AS first FROM "
                f"({keys}) GROUP BY key HAVING count(*) > 1) USING (key) WHERE nr > first "
                f"ORDER BY nr LIMIT {self.kept_max}"
            ).fetchall()
            self.first_duplicates = [Duplicate(*row) for row in found]

    def _find_lines(self) -> None:
        """Find the lines of the positions that are shown."""
        positions = {one.position for one in self.first_invalid}
        positions |= {each for one in self.first_duplicates for each in one[1:]}
        at = self.survey.late_at, self.survey.foreign_at
        positions |= {each for each in at if each is not None}
        for index, reading in enumerate(self._readings):
            base = index << _NUMBER_BITS
            rows = {each - base for each in positions if each >> _NUMBER_BITS == index}
            if rows and not self._sources[index][1]:
                file = reading.files[0]
                found = lines_of(reading, file, rows)
                self._lines |= {base + row: line for row, line in found.items()}


def _is_plain(scheme: Scheme) -> bool:
    """Whether SQL can read the texts: decimal numbers of at most 64 bits."""
    decimal = scheme.encoding == "decimal" and not (scheme.prefix or scheme.check or scheme.key)
    return decimal and scheme.bits <= 64


def _key(scheme: Scheme) -> str:
    """The ID in a row of ``n`` and ``t``, as SQL; null if it is none."""
    kind = "UBIGINT" if scheme.bits <= 64 else "UHUGEINT"
    most = f"{(1 << scheme.bits) - 1}::{kind}"
    number = f"TRY_CAST(n AS {kind})"
    if _is_plain(scheme):
        read = f"TRY_CAST(t AS {kind})"
        text = f"CASE WHEN CAST({read} AS VARCHAR) = t THEN {read} END"
    elif scheme.bits <= 64:
        text = "frazil_decode(t)"
    else:
        part = "frazil_decode(t)"
        text = f"((CAST({part}.hi AS UHUGEINT) << 64) | CAST({part}.lo AS UHUGEINT))"
    key = f"coalesce({number}, {text})"
    return f"CASE WHEN {key} <= {most} THEN {key} END"


def _register(database: duckdb.DuckDBPyConnection, scheme: Scheme) -> None:
    """Add the function that reads texts, a vector at a time."""
    import pyarrow as pa
    from duckdb.func import PythonUDFType

    from frazil.cli.files.id_column import as_arrow

    def decode(column: Any) -> Any:
        texts = [text or "" for text in column.to_pylist()]
        try:
            found, valid = scheme.codec.decode_array(texts), None
        except CodecError:
            found, valid = _decode_each(scheme, texts)
        if scheme.bits <= 64:
            return as_arrow(found, valid)
        halves = [as_arrow(found[half], valid) for half in ("hi", "lo")]
        return pa.StructArray.from_arrays(halves, ["hi", "lo"])

    kind: Any = "UBIGINT"
    if scheme.bits > 64:
        kind = duckdb.struct_type({"hi": "UBIGINT", "lo": "UBIGINT"})
    database.create_function("frazil_decode", decode, ["VARCHAR"], kind, type=PythonUDFType.ARROW)


def _decode_each(scheme: Scheme, texts: list[str]) -> tuple[Any, Any]:
    """The IDs of texts some of which are invalid, and which are valid."""
    import numpy as np

    from frazil.schemes import arrays

    numbers, valid = [0] * len(texts), np.zeros(len(texts), bool)
    for i, text in enumerate(texts):
        with suppress(CodecError):
            numbers[i], valid[i] = scheme.parse(text), True
    return arrays.from_ints(numbers, scheme.bits), valid
