"""The column of an audit, as SQL: which values are numbers, and which are texts."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import duckdb

from frazil.cli.files.formats import printable, shown
from frazil.cli.files.reading import Reading
from frazil.cli.files.tables import json_rows, numbered, table_of
from frazil.cli.files.value_types import literal
from frazil.errors import ConfigError

_UUID_BYTES = 16
_INTEGERS = {"tinyint", "smallint", "integer", "bigint", "hugeint"}
_INTEGERS |= {f"u{kind}" for kind in _INTEGERS}


class Audited(NamedTuple):
    """Rows in the order of the file, and what a row has, each as SQL.

    raw: the value as text. number, text: the value if it is one. kind: its type, where it is
    neither. unit: ``line`` (one without anything is no row, but it has a number) or ``row``; empty
    where the lines of the rows are found later. lines: as in ``Table``.
    """

    rows: str
    raw: str
    text: str = "NULL::VARCHAR"
    number: str = "NULL::UBIGINT"
    kind: str = "''"
    unit: str = ""
    lines: int | None = None


def audited(reading: Reading, name: str, index: int) -> Audited:
    """The column of a file. Raises ConfigError if there is none, or two of that name."""
    file, database = reading.files[0], reading.database
    if reading.kind == "jsonl":
        pointer = literal("/" + name.replace("~", "~0").replace("/", "~1"))
        value = f"CASE WHEN starts_with(json, '{{') THEN json_extract(json, {pointer}) "
        value += "ELSE error('not an object') END"
        rows = (
            "FROM (SELECT json_type(value) AS kind, CASE WHEN json_type(value) <> 'NULL' THEN "
            f"json_extract_string(value, '$') END AS raw FROM (SELECT {value} AS value "
            f"{json_rows(reading)}))"
        )
        number = "CASE WHEN kind <> 'VARCHAR' AND regexp_full_match(raw, '[0-9]+') THEN "
        number += "TRY_CAST(raw AS UHUGEINT) END"
        text = "CASE WHEN kind = 'VARCHAR' THEN raw END"
        return Audited(rows, "raw", text, number, "lower(kind)")
    if reading.kind in ("csv", "text"):
        table = table_of(reading)
        rows = f"FROM ({table.query})"
        if reading.kind == "text":
            return Audited(rows, '"0"', '"0"', unit="line")
        hint = ", or use --no-header if its first line is a row"
        own = f'"{_index(table.names, name, file, hint)}"'
        return Audited(rows, own, own, lines=table.lines)
    if reading.kind == "arrow":
        from frazil.cli.files.typed_files import direct

        batches = direct(reading)
        at = _index(batches.schema.names, name, file)
        database.register(f"arrow_{index}", batches.column(at))
        rows, own = numbered(f"FROM arrow_{index}", 1), '"0"'
        uuid = str(batches.schema.field(at).type) == "fixed_size_binary[16]"
    else:
        path = literal(reading.plain(file)[0])
        try:
            schema = database.execute(
                f"SELECT name, num_children, type_length FROM parquet_schema({path})"
            ).fetchall()
        except duckdb.Error as error:
            raise ConfigError(f"{file} is not Parquet: {error}", path=file) from None
        columns = list(_children(schema))
        at = _index([each for each, _ in columns], name, file)
        rows = f"FROM read_parquet({path}, hive_partitioning = false)"
        rows, own = numbered(rows, len(columns)), f'"{at}"'
        uuid = columns[at][1] == _UUID_BYTES
    (kind,) = database.sql(f"SELECT {own} {rows} LIMIT 0").types
    return _typed(rows, own, kind, uuid=uuid)


def _index(names: Sequence[str], name: str, file: str, hint: str = "") -> int:
    problem = ""
    if name not in names:
        known = ", ".join(map(printable, names))
        problem = f"has no column {name!r}; choose one of {known} with --column{hint}"
    elif names.count(name) > 1:
        problem = f"has two columns {name!r}; rename the one without the IDs"
    if problem:
        raise ConfigError(f"{shown(file)} {problem}", column=name)
    return names.index(name)


def _children(schema: Sequence[Any]) -> Iterator[tuple[str, int | None]]:
    """The columns of Parquet and the lengths of their values, without the parts of nested ones."""
    inside = 0
    for name, children, length in schema[1:]:
        if not inside:
            yield name, None if children or length is None else int(length)
        inside += (children or 0) - bool(inside)


def _typed(rows: str, own: str, kind: Any, *, uuid: bool) -> Audited:
    raw = f"CAST({own} AS VARCHAR)"
    found = Audited(rows, raw, kind=literal(str(kind)), unit="row")
    if kind.id in _INTEGERS:
        return found._replace(number=own)
    if kind.id == "decimal" and str(kind).endswith(",0)"):
        return found._replace(number=f"CAST({own} AS HUGEINT)")
    if kind.id in ("varchar", "enum", "uuid"):
        return found._replace(text=raw)
    if kind.id == "blob" and uuid:
        return found._replace(text=f"CAST(CAST(hex({own}) AS UUID) AS VARCHAR)")
    return found._replace(text=f"TRY(decode({own}))") if kind.id == "blob" else found
