"""A row as a text, in SQL: what CSV and JSON Lines are written from.

Values have the simplest form that reads back the same. In CSV null is an empty field, and lists and
objects are JSON. In JSON Lines dates and decimals are texts, and NaN and infinity are null, at
every depth. There an ID is a text, because a reader that takes JSON numbers as doubles would change
it.

The text stands after the ID, or before it if the new column is the last one, so that one step joins
all IDs of a batch with their rows.
"""

import json
from collections.abc import Sequence
from itertools import compress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from frazil.cli.files.id_column import Place, one_text
from frazil.cli.files.reading import Reading
from frazil.cli.files.tables import column, literal, quoted
from frazil.errors import ConfigError

_TEXTS = ("varchar", "enum", "interval")
_LARGE_BYTES = 1 << 30  # a row's ID is added, and 32 bits count the bytes of a batch


def joined(rows: Any, ids: Any, kind: str, place: Place) -> memoryview:
    """The bytes of the texts of rows, each with its ID."""
    before, after = "", "\n" if place.last else ""
    if kind == "jsonl":
        key = json.dumps(place.column, ensure_ascii=False)
        before, after = (f'{key}: "', '"}\n') if place.last else (f'{{{key}: "', "")
    around = [before and one_text(before), ids, after and one_text(after)]
    parts = [part for part in ([rows, *around] if place.last else [*around, rows]) if part != ""]
    size = pa.large_string() if rows.nbytes > _LARGE_BYTES else pa.string()
    texts = pc.binary_join_element_wise(*(part.cast(size) for part in [*parts, one_text("")]))
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int64 if size == pa.large_string() else np.int32)
    return memoryview(data)[: int(ends[len(texts)])] if data else memoryview(b"")


def row_text(
    kind: str, reading: Reading, names: Sequence[str], types: Sequence[Any], *, last: bool
) -> str:
    """The SQL of a row's text. Raises ConfigError for a column that the format cannot hold."""
    for i, (name, each) in enumerate(zip(names, types, strict=True)):
        problem = ""
        if _has_bytes(each):
            problem = f"the column {name!r} as text, because it holds bytes; remove that column, or"
            problem += " write Parquet"
        elif kind == "jsonl" and name in names[:i]:
            problem = f"two columns {name!r} to JSON; rename one of them"
        if problem:
            raise ConfigError(f"cannot write {problem}", column=name)
    if kind == "csv":
        plain = reading.rows is not None and not reading.keys  # without a quote
        return _csv_row(types, literal(reading.head.delimiter), last=last, plain=plain)
    fields = []
    for i, (name, each) in enumerate(zip(names, types, strict=True)):
        key = literal(f"{json.dumps(name, ensure_ascii=False)}: ")
        value = f"CAST(to_json({_json_value(column(i), each)}) AS VARCHAR)"
        fields.append(f"{key}, coalesce({value}, 'null')")
    return _row("jsonl", fields, last=last)


def copied_json(place: Place) -> str:
    """The SQL of a JSON object's text with room for the ID; null if it is no such object.

    Every value stays as it was written.
    """
    key = "/" + place.column.replace("~", "~0").replace("/", "~1")
    fits = f"json_type(json) = 'OBJECT' AND NOT json_exists(json, {literal(key)})"
    inner = "trim(json[2:-2], ' \t\r')"
    empty, text = (_row("jsonl", fields, last=place.last) for fields in ([], [inner]))
    return f"CASE WHEN {fits} THEN CASE WHEN {inner} = '' THEN {empty} ELSE {text} END END"


def _row(kind: str, fields: Sequence[str], mark: str = "', '", *, last: bool) -> str:
    """A row's text with room for the ID. A field is one argument of ``concat``, or several."""
    parts = [f"{each}, {mark}" if last else f"{mark}, {each}" for each in fields]
    if last:
        parts.insert(0, "'{'" if kind == "jsonl" else "''")
    else:
        parts = ["'\"'", *parts, "'}'", "chr(10)"] if kind == "jsonl" else [*parts, "chr(10)"]
    return f"concat({', '.join(parts)})"


def _children(kind: Any) -> list[tuple[str, Any]]:
    return list(kind.children) if kind.id in ("list", "array", "struct", "map", "union") else []


def _has_bytes(kind: Any) -> bool:
    return kind.id in ("blob", "bit") or any(
        _has_bytes(each) for name, each in _children(kind) if name != "size"
    )


def _csv_row(types: Sequence[Any], mark: str, *, last: bool, plain: bool) -> str:
    """The SQL of a row of CSV. Few rows need quotes, so all texts of a row are checked at once."""
    fields = [_csv_text(column(i), kind) for i, kind in enumerate(types)]
    quotable = [bool(_children(each)) or each.id in _TEXTS for each in types]

    def odd(text: str) -> str:
        return " OR ".join(
            f"contains({text}, {each})" for each in ("'\"'", mark, "chr(10)", "chr(13)")
        )

    whole = _row("csv", fields, mark, last=last)
    if plain or not any(quotable):
        return whole
    safe = [
        f"CASE WHEN {odd(text)} THEN concat('\"', replace({text}, '\"', '\"\"'), '\"') "
        f"ELSE {text} END" if may else text
        for text, may in zip(fields, quotable, strict=True)
    ]  # fmt: skip
    row = f"concat({', '.join(compress(fields, quotable))})"
    return f"CASE WHEN {odd(row)} THEN {_row('csv', safe, mark, last=last)} ELSE {whole} END"


def _csv_text(value: str, kind: Any) -> str:
    if _children(kind):
        return f"CAST(to_json({_json_value(value, kind)}) AS VARCHAR)"
    return value if str(kind) == "VARCHAR" else f"CAST({value} AS VARCHAR)"


def _json_value(value: str, kind: Any, depth: int = 0) -> str:
    """A value that ``to_json`` writes without a loss; the same SQL if it has no such part."""
    inner, x = dict(_children(kind)), f"x{depth}"
    if kind.id in ("float", "double"):
        return f"CASE WHEN isfinite({value}) THEN {value} END"
    if kind.id.startswith(("time", "date", "interval", "decimal", "hugeint", "uhugeint")):
        return f"CAST({value} AS VARCHAR)"
    if not inner:
        return value
    if kind.id in ("list", "array"):
        child = _json_value(x, inner["child"], depth + 1)
        return value if child == x else f"list_transform({value}, lambda {x}: {child})"
    is_map = kind.id == "map"
    parts = {
        name: f"{x}.{name}" if is_map else f"struct_extract({value}, {literal(name)})"
        for name in inner
    }
    made = {name: _json_value(part, inner[name], depth + 1) for name, part in parts.items()}
    if made == parts:
        return value
    if is_map:
        entry = f"{{'k': CAST({x}.key AS VARCHAR), 'v': {made['value']}}}"
        whole = f"map_from_entries(list_transform(map_entries({value}), lambda {x}: {entry}))"
    else:
        fields = ", ".join(f"{quoted(name)} := {part}" for name, part in made.items())
        whole = f"struct_pack({fields})"
    return f"CASE WHEN {value} IS NOT NULL THEN {whole} END"
