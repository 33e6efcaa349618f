"""An audit of the IDs in files: DuckDB reads each row, and counts.

One query for each file reads the IDs' fields in the order of the rows, and keeps its counts in the
table ``found``, a row for each node. A second one, over all files, looks for duplicates; if every
ID is larger than the one before, there are none.

An ID is *late* if an earlier row of its file has a later moment. Two IDs of one tick are in order,
whichever comes first. An ID is *foreign* if a constant differs from the layout's: it is from
another deployment. A position is one number: the file's index above 48 bits of line or row number.
"""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from glob import escape
from typing import Any

import duckdb

from frazil.cli.files.database import check_rows, lines_of, text_problem, unreadable
from frazil.cli.files.paths import shown
from frazil.cli.files.reading import Reading
from frazil.cli.files.tables import column, json_rows, literal, numbered, table_of
from frazil.errors import CodecError, ConfigError
from frazil.layout.field import Role
from frazil.schemes.scheme import Scheme
from frazil.sql.parts import value_of

_NUMBER_BITS = 48
_SHOWN = 60  # characters of an invalid value
_KEY_BYTES = 4  # of DuckDB's memory for each different number, beside its temporary files
_FEW = 4 << 20  # keys that one thread of DuckDB counts as fast as two, with less of the processor
_DENSE = 4  # rows of a block from which its bits are counted faster than the rows
_UUID_BITS = 128
_NODES_MAX = 1 << 17
_TOTALS = (
    "coalesce(sum(rows), 0), coalesce(sum(valid), 0), coalesce(sum(rows - valid), 0), "
    "min(first_tick), max(last_tick), coalesce(sum(late), 0), coalesce(max(late_ticks), 0), "
    "coalesce(sum(blocks), 0), first(late_at ORDER BY late_ticks DESC, late_at), "
    "coalesce(sum(foreign_ids), 0), min(foreign_at)"
)
# The first row of a file has none before it, and one behind an invalid row neither.
_INCREASING = (
    "SELECT bool_and(ordered AND coalesce(low > highest, true)) FROM (SELECT *, max(high) OVER "
    "(ORDER BY file ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS highest FROM ("
    "SELECT file, bool_and(ordered) AND sum(rows - linked) <= 1 AS ordered, min(low) AS low, "
    "max(high) AS high FROM found GROUP BY file))"
)
_NODES = "SELECT node, sum(valid) FROM found WHERE node IS NOT NULL GROUP BY node ORDER BY node"


@dataclass
class Survey:
    """The rows of all files, and the fields of their IDs.

    valid, invalid: rows with an ID, and without. late_ticks: the worst lateness. foreign: IDs by
    the constant that differs. nodes: IDs by node, of the first 131,072 nodes. blocks: about how
    many blocks of 64 numbers have IDs. late_at, foreign_at: the positions of the latest and the
    first of them.
    """

    foreign: Counter[str]
    nodes: Counter[int]
    rows: int
    valid: int
    invalid: int
    first_tick: int | None
    last_tick: int | None
    late: int
    late_ticks: int
    blocks: int
    late_at: int | None
    foreign_ids: int
    foreign_at: int | None

    @property
    def uncounted(self) -> int:
        """IDs of nodes beyond the first 131,072."""
        return self.valid - sum(self.nodes.values()) if self.nodes else 0


class Auditor:
    """An audit of the files passed to ``read``. Without a scheme, values are compared as text.

    kept_max: how many invalid rows and how many duplicates to keep.
    """

    survey: Survey

    def __init__(
        self, scheme: Scheme | None, database: duckdb.DuckDBPyConnection, kept_max: int
    ) -> None:
        self.scheme, self.kept_max = scheme, kept_max
        self.names: list[str] = []
        """The files."""
        self.duplicates = 0
        """Rows with the ID of an earlier row."""
        self.first_invalid: list[tuple[int, str, str]] = []
        """Positions of rows without a valid ID, what they have, and why it is none."""
        self.first_duplicates: list[tuple[int | str, int, int]] = []
        """Keys, and the positions of their first copy and of a repeat."""
        self._database = database
        self._files: list[tuple[Reading, str]] = []
        self._lines: dict[int, int] = {}
        if scheme is not None and not _is_plain(scheme):
            _register(database, scheme)

    @property
    def clean(self) -> bool:
        """Whether the audit found no invalid row, no duplicate and no foreign ID."""
        return not (self.survey.invalid or self.duplicates or self.survey.foreign_ids)

    def read(self, reading: Reading, column: str) -> None:
        """Audit a file."""
        index = len(self._files)
        self.names.append(shown(reading.files[0]))
        try:
            self._files.append((reading, _audited(reading, column, index, self.scheme)))
            made = "INSERT INTO found" if index else "CREATE TEMP TABLE found AS"
            query = _fields_query(self.scheme, index, self._rows(index))
            self._database.execute(f"{made} {query}")
            check_rows(reading, self._count(index))
        except duckdb.Error as error:
            raise unreadable(reading, error) from None

    def finish(self) -> None:
        """Search for duplicates, and for the lines of what was found."""
        try:
            names = list(_foreign(self.scheme))
            sums = "".join(f", sum(foreign_{i})" for i in range(len(names)))
            ((*totals,),) = self._all(f"SELECT {_TOTALS}{sums} FROM found")
            ((increasing,),) = self._all(_INCREASING)
            nodes = Counter(dict(self._all(f"{_NODES} LIMIT {_NODES_MAX}")))
            of = len(totals) - len(names)
            foreign = Counter({name: n for name, n in zip(names, totals[of:], strict=True) if n})
            self.survey = Survey(foreign, nodes, *totals[:of])
            self._add_invalid()
            # Without a scheme, keys are texts, which seldom increase.
            if self.survey.rows > 1 and not (increasing and self.scheme):
                self._search()
            self._find_lines()
        except duckdb.Error as error:
            raise unreadable(self._files[0][0], error) from None

    def place(self, position: int) -> tuple[str, str, int]:
        """The file of a row, ``line`` or ``row``, and its number."""
        file = position >> _NUMBER_BITS
        number = self._lines.get(position, position & ((1 << _NUMBER_BITS) - 1))
        return self.names[file], "row" if self._files[file][0].typed else "line", number

    def text(self, key: int | str) -> str:
        """The text of an ID."""
        return self.scheme.format(key) if isinstance(key, int) and self.scheme else str(key)

    def _rows(self, index: int) -> str:
        """The position, the key and the value of each row of a file."""
        reading, column = self._files[index]
        # A line of plain text without anything is no row, but it has a number.
        condition = " WHERE raw IS NOT NULL" if reading.kind == "text" else ""
        return (
            f"SELECT * FROM (SELECT {index << _NUMBER_BITS} + row_number() OVER () AS nr, "
            f"{_key(self.scheme)} AS key, * FROM ({column})){condition}"
        )

    def _count(self, index: int) -> int:
        """The rows of a file."""
        count = self._all(f"SELECT coalesce(sum(rows), 0) FROM found WHERE file = {index}")
        return int(count[0][0])

    def _all(self, query: str) -> list[Any]:
        return self._database.execute(query).fetchall()

    def _add_invalid(self) -> None:
        for (index,) in self._all("SELECT DISTINCT file FROM found WHERE valid < rows ORDER BY 1"):
            found = self._all(
                f"SELECT nr, n, t, raw, kind FROM ({self._rows(index)}) WHERE key IS NULL "
                f"ORDER BY nr LIMIT {self.kept_max - len(self.first_invalid)}"
            )
            for position, number, text, raw, kind in found:
                reason = self._reason(number if text is None else text, raw, kind)
                begins = f"{raw[:_SHOWN]}..." if raw and len(raw) > _SHOWN else raw or ""
                self.first_invalid.append((position, begins, reason))

    def _reason(self, value: int | str | None, raw: str | None, kind: str) -> str:
        """Why a value is not an ID."""
        if raw is None:
            return "there is no value"
        if value is None:
            named = "number" if kind in ("ubigint", "bigint", "double") else kind or "value"
            return f"a {named.lower()} is not an ID"
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
        files = range(len(self._files))
        rows = " UNION ALL ".join(f"SELECT nr, key FROM ({self._rows(i)})" for i in files)
        value, count = "key", self.survey.valid
        # A query without positions is read by all threads of DuckDB.
        repeats = "SELECT count(*) - count(DISTINCT key) FROM ids"
        if self.scheme and self.survey.blocks * _DENSE < count:
            value, count = "key >> 6", self.survey.blocks * _DENSE
            repeats = (
                "SELECT coalesce(sum(again), 0) FROM (SELECT count(*) - bit_count(bit_or("
                "1::UBIGINT << CAST(key % 64 AS UBIGINT))) AS again FROM ids GROUP BY key >> 6)"
            )
        elif count < _FEW:
            self._database.execute("SET threads = 1")
        parts = []
        for some in self._parts(value, count):
            query = f"WITH ids AS NOT MATERIALIZED (FROM ({rows}) {some}) {repeats}"
            if again := int(self._all(query)[0][0]):
                self.duplicates += again
                parts.append(some)
        if parts and value != "key":
            parts = self._parts("key", self.survey.valid)
        for some in parts if self.kept_max else ():
            self.first_duplicates += self._all(
                f"WITH ids AS NOT MATERIALIZED (FROM ({rows}) {some}) SELECT key, first, nr "
                "FROM ids JOIN (SELECT key, min(nr) AS first FROM ids GROUP BY key HAVING "
                f"count(*) > 1) USING (key) WHERE nr > first ORDER BY nr LIMIT {self.kept_max}"
            )
        self.first_duplicates.sort(key=lambda found: found[2])
        del self.first_duplicates[self.kept_max :]

    def _parts(self, value: str, count: int) -> list[str]:
        """Conditions for parts of the rows with an ID; each fits the memory.

        value: what divides them; it has about ``count`` different ones.
        """
        size = _KEY_BYTES if self.scheme and self.scheme.bits <= 64 else 4 * _KEY_BYTES
        parts = 1 + count * size // self._files[0][0].memory.search_bytes
        some = (f" AND hash({value}, 0) % {parts} = {i}" for i in range(parts))
        return [f"WHERE key IS NOT NULL{each if parts > 1 else ''}" for each in some]

    def _find_lines(self) -> None:
        """Find the lines of the positions that are shown."""
        positions = {self.survey.late_at, self.survey.foreign_at} - {None}
        positions |= {position for position, _, _ in self.first_invalid}
        positions |= {each for _, *both in self.first_duplicates for each in both}
        for index, (reading, _) in enumerate(self._files):
            base = index << _NUMBER_BITS
            rows = {each - base for each in positions if each and each >> _NUMBER_BITS == index}
            if rows and reading.kind in ("csv", "jsonl"):
                found = lines_of(reading, rows, self._count(index))
                self._lines |= {base + row: line for row, line in found.items()}


def _is_plain(scheme: Scheme) -> bool:
    """Whether SQL can read the texts: decimal numbers of at most 64 bits."""
    return scheme.codec.plain and scheme.bits <= 64


def _key(scheme: Scheme | None) -> str:
    """The ID in a row, as SQL; null if it is none."""
    if scheme is None:
        return "coalesce(t, CAST(n AS VARCHAR))"
    kind = _key_type(scheme)
    if _is_plain(scheme):
        read = f"TRY_CAST(t AS {kind})"
        decoded = f"CASE WHEN CAST({read} AS VARCHAR) = t THEN {read} END"
    else:
        decoded = "frazil_decode(t)"
        if scheme.bits > 64:
            hi, lo = (f"CAST({decoded}.{half} AS UHUGEINT)" for half in ("hi", "lo"))
            decoded = f"(({hi} << 64) | {lo})"
    key = f"coalesce(TRY_CAST(n AS {kind}), {decoded})"
    if scheme.bits in (64, 128):
        return key
    return f"CASE WHEN {key} <= {(1 << scheme.bits) - 1}::{kind} THEN {key} END"


def _register(database: duckdb.DuckDBPyConnection, scheme: Scheme) -> None:
    """Add the function that reads texts, a vector at a time."""
    import numpy as np
    import pyarrow as pa
    from duckdb.func import PythonUDFType

    from frazil.cli.new_ids import as_arrow
    from frazil.schemes import arrays

    def decode(column: Any) -> Any:
        texts = [text or "" for text in column.to_pylist()]
        valid = None
        try:
            found = scheme.codec.decode_array(texts)
        except CodecError:
            numbers, valid = [0] * len(texts), np.zeros(len(texts), bool)
            for i, text in enumerate(texts):
                with suppress(CodecError):
                    numbers[i], valid[i] = scheme.parse(text), True
            found = arrays.from_ints(numbers, scheme.bits)
        if scheme.bits <= 64:
            return as_arrow(found, valid)
        halves = [as_arrow(found[half], valid) for half in ("hi", "lo")]
        return pa.StructArray.from_arrays(halves, ["hi", "lo"])

    kind: Any = "UBIGINT"
    if scheme.bits > 64:
        kind = duckdb.struct_type({"hi": "UBIGINT", "lo": "UBIGINT"})
    database.create_function("frazil_decode", decode, ["VARCHAR"], kind, type=PythonUDFType.ARROW)


# --- what is counted


def _fields_query(scheme: Scheme | None, file: int, rows: str) -> str:
    """What a file adds to ``found``. A row has a position ``nr``, and a ``key`` if it is valid."""
    conditions = _foreign(scheme).values()
    foreign = " OR ".join(conditions) or "false"
    differ = "".join(f", count_if({each}) AS foreign_{i}" for i, each in enumerate(conditions))
    blocks = "approx_count_distinct(key >> 6)" if scheme else "count(key)"
    return (
        f"SELECT {file} AS file, node, count(*) AS rows, count(key) AS valid, "
        "count(before) AS linked, coalesce(bool_and(key > before), true) AS ordered, "
        "min(key) AS low, max(key) AS high, min(tick) AS first_tick, max(tick) AS last_tick, "
        f"{blocks} AS blocks, count_if(tick < latest) AS late, max(latest - tick) AS late_ticks, "
        "arg_max(CASE WHEN tick < latest THEN nr END, latest - tick) AS late_at, "
        f"min(CASE WHEN {foreign} THEN nr END) AS foreign_at, "
        f"count_if({foreign}) AS foreign_ids{differ} FROM (SELECT *, lag(key) OVER () "
        "AS before, max(tick) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS "
        f"latest FROM (SELECT nr, key, {_role(scheme, 'time')} AS tick, {_role(scheme, 'node')} "
        f"AS node FROM ({rows}))) GROUP BY node"
    )


def _role(scheme: Scheme | None, role: Role) -> str:
    """The value of a field, as SQL."""
    if scheme is None or not scheme.layout.bits_of(role):
        return "NULL::BIGINT"
    value = value_of(scheme.positions(role), "key")  # unsigned, which takes a quarter longer
    return f"CAST({value} AS BIGINT)" if scheme.layout.bits_of(role) < 64 else value


def _foreign(scheme: Scheme | None) -> dict[str, str]:
    """For each constant field, the condition that an ID has another value."""
    found = {}
    for each in scheme.layout.fields if scheme else ():
        if scheme and each.fixed is not None:
            mask, value = each.pack(each.limit), each.pack(each.fixed)
            if scheme.shuffle is not None:
                mask, value = scheme.shuffle.apply(mask), scheme.shuffle.apply(value)
            kind = _key_type(scheme)
            found[each.name] = f"key & {mask}::{kind} <> {value}::{kind}"
    return found


def _key_type(scheme: Scheme) -> str:
    """The SQL type of an ID."""
    return "UBIGINT" if scheme.bits <= 64 else "UHUGEINT"


# --- the column


def _audited(reading: Reading, name: str, index: int, scheme: Scheme | None) -> str:
    """What the column of a file has, in the order of the rows, as SQL.

    raw: the value as text. n, t: the value if it is a number or a text. kind: its type, where it is
    neither. Raises ConfigError if there is no such column, or two.
    """
    file, database = reading.files[0], reading.database
    if reading.kind == "jsonl":
        pointer = literal("/" + name.replace("~", "~0").replace("/", "~1"))
        return (
            "SELECT raw, lower(kind) AS kind, CASE WHEN kind = 'VARCHAR' THEN raw END AS t, "
            "CASE WHEN kind <> 'VARCHAR' AND regexp_full_match(raw, '[0-9]+') THEN TRY_CAST(raw AS "
            "UHUGEINT) END AS n FROM (SELECT json_type(value) AS kind, CASE WHEN json_type(value) "
            "<> 'NULL' THEN json_extract_string(value, '$') END AS raw FROM (SELECT CASE WHEN "
            f"starts_with(json, '{{') THEN json_extract(json, {pointer}) ELSE error('not an "
            f"object') END AS value {json_rows(reading)}))"
        )
    if reading.kind == "arrow":
        import pyarrow as pa

        from frazil.cli.files.typed_files import direct

        batches = direct(reading)
        assert batches is not None
        at = _index(batches.schema.names, name, file)
        some = pa.schema([batches.schema.field(at)])
        one = replace(batches, schema=some, read=lambda: (b.select([at]) for b in batches.read()))
        database.register(f"arrow_{index}", one)
        rows, own = numbered(f"FROM arrow_{index}", 1), column(0)
    else:
        table = table_of(reading)
        hint = ", or use --no-header if its first line is a row" if reading.kind == "csv" else ""
        names = table.names
        if reading.kind == "parquet":  # DuckDB has another name for the second of two equal ones
            query = "FROM parquet_metadata(?) WHERE row_group_id = 0 AND path_in_schema = ?"
            same = database.execute(query, [escape(reading.source(file).path), name]).fetchall()
            names += [name] * (len(same) - 1)
        at = 0 if reading.kind == "text" else _index(names, name, file, hint)
        rows, own = f"FROM ({table.query})", column(at)
    raw, number, text, kind = own, "NULL::UBIGINT", own, ""
    if reading.typed:
        (found,) = database.sql(f"SELECT {own} {rows} LIMIT 0").types
        raw, text, kind = f"CAST({own} AS VARCHAR)", "NULL::VARCHAR", str(found)
        if found.id.endswith(("int", "integer")):
            number = own
        elif found.id == "decimal" and kind.endswith(",0)"):
            number = f"CAST({own} AS HUGEINT)"
        elif found.id == "blob":
            text = f"TRY(decode({own}))"
            if scheme is None or scheme.bits == _UUID_BITS:
                uuid = f"CAST(CAST(hex({own}) AS UUID) AS VARCHAR)"
                size = f"octet_length({own}) = {_UUID_BITS // 8}"
                text = f"CASE WHEN {size} THEN {uuid} ELSE {text} END"
        elif found.id in ("varchar", "enum", "uuid"):
            text = raw
    return f"SELECT {raw} AS raw, {number} AS n, {text} AS t, {literal(kind)} AS kind {rows}"


def _index(names: Sequence[str], name: str, file: str, hint: str = "") -> int:
    if names.count(name) == 1:
        return names.index(name)
    problem = f"has two columns {name!r}; rename the one without the IDs"
    if name not in names:
        problem = f"has no column {name!r}; choose one of {', '.join(names)} with --column{hint}"
    raise ConfigError(f"{shown(file)} {problem}", column=name)
