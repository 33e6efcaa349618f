"""A row as a text, in SQL: what CSV and JSON Lines are written from.

Values have the simplest form that reads back the same. In CSV null is an empty field, and lists and
objects are JSON. In JSON Lines dates and decimals are texts, and NaN and infinity are null, at
every depth. There an ID is a text, because a reader that takes JSON numbers as doubles would change
it.

The text stands after the ID, or before it if the new column is the last one, so that one step joins
all IDs of a batch with their rows.
"""

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from frazil.cli.files.reading import Place
from frazil.cli.files.tables import column, literal
from frazil.errors import ConfigError

__all__ = ["copied_json", "csv_header", "frame", "row_text"]


def frame(kind: str, place: Place) -> tuple[str, str]:
    """What stands before and after an ID, beside the text of the row."""
    if kind == "csv":
        return ("", "\n") if place.last else ("", "")
    key = json.dumps(place.column, ensure_ascii=False)
    if place.last:
        return f'{key}: "', '"}\n'
    return f'{{{key}: "', ""


def csv_header(names: Sequence[str], delimiter: str) -> bytes:
    """The header of CSV."""
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerow(names)
    return text.getvalue().encode()


def row_text(
    kind: str,
    names: Sequence[str],
    types: Sequence[Any],
    delimiter: str,
    *,
    last: bool,
    plain: bool = False,
) -> str:
    """The SQL of a row's text. Raises ConfigError for a column that the format cannot hold.

    plain: whether no field of CSV needs quotes.
    """
    for name, each in zip(names, types, strict=True):
        if _has_bytes(each):
            raise ConfigError(
                f"cannot write the column {name!r} as text, because it holds bytes; remove that "
                "column, or write Parquet",
                column=name,
            )
    parts: list[str] = []
    if kind == "csv":
        return _csv_row(types, literal(delimiter), last=last, plain=plain)
    doubled = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if doubled is not None:
        raise ConfigError(
            f"cannot write two columns {doubled!r} to JSON; rename one of them", column=doubled
        )
    for i, (name, each) in enumerate(zip(names, types, strict=True)):
        key = json.dumps(name, ensure_ascii=False) + ": "
        before = ("{" if last else ", ") + key if not (last and i) else f", {key}"
        value = f"coalesce(CAST(to_json({_json_value(column(i), each)}) AS VARCHAR), 'null')"
        parts += [literal(before), value]
    whole = [*parts, "', '"] if parts else ["'{'"]
    if not last:
        whole = ["'\"'", *parts, "'}' || chr(10)"]
    return f"concat({', '.join(whole)})"


def copied_json(place: Place) -> str:
    """The SQL of a JSON object's text with room for the ID; null if it is no such object.

    Every value stays as it was written.
    """
    key = "/" + place.column.replace("~", "~0").replace("/", "~1")
    fits = f"json_type(json) = 'OBJECT' AND NOT json_exists(json, {literal(key)})"
    if place.last:
        inner = "rtrim(json[2:-2], ' \t\r')"
        text = f"concat('{{', {inner}, CASE WHEN {inner} <> '' THEN ', ' ELSE '' END)"
    else:
        inner = "ltrim(json[2:], ' \t\r')"
        comma = f"CASE WHEN starts_with({inner}, '}}') THEN '' ELSE ', ' END"
        text = f"concat('\"', {comma}, {inner}, chr(10))"
    return f"CASE WHEN {fits} THEN {text} END"


def _children(kind: Any) -> list[tuple[str, Any]]:
    return list(kind.children) if kind.id in ("list", "array", "struct", "map", "union") else []


def _has_bytes(kind: Any) -> bool:
    return kind.id in ("blob", "bit") or any(
        _has_bytes(each) for name, each in _children(kind) if name != "size"
    )


def _csv_row(types: Sequence[Any], mark: str, *, last: bool, plain: bool) -> str:
    """The SQL of a row of CSV. Few rows need quotes, so all texts of a row are checked at once."""
    fields = [_csv_text(column(i), kind) for i, kind in enumerate(types)]
    texts = [
        text for text, kind in zip(fields, types, strict=True) if _children(kind) or _is_text(kind)
    ]

    def whole(parts: Sequence[str]) -> str:
        marked = [each for part in parts for each in ((part, mark) if last else (mark, part))]
        marked += [] if last else ["chr(10)"]
        return f"concat({', '.join(marked or [literal('')])})"

    if plain or not texts:
        return whole(fields)
    quoted = [
        f"CASE WHEN {_odd(text, mark)} THEN "
        f"concat('\"', replace({text}, '\"', '\"\"'), '\"') ELSE {text} END"
        if text in texts
        else text
        for text in fields
    ]
    row = f"concat({', '.join(texts)})"
    return f"CASE WHEN {_odd(row, mark)} THEN {whole(quoted)} ELSE {whole(fields)} END"


def _odd(text: str, mark: str) -> str:
    """Whether a text needs quotes."""
    return " OR ".join(f"contains({text}, {each})" for each in ("'\"'", mark, "chr(10)", "chr(13)"))


def _is_text(kind: Any) -> bool:
    return kind.id in ("varchar", "enum", "interval")


def _csv_text(value: str, kind: Any) -> str:
    if _children(kind):
        return f"CAST(to_json({_json_value(value, kind)}) AS VARCHAR)"
    return value if kind.id == "varchar" else f"CAST({value} AS VARCHAR)"


def _json_value(value: str, kind: Any, depth: int = 0) -> str:
    """A value that ``to_json`` writes without a loss."""
    if not _children(kind):
        return _json_leaf(value, kind)
    if not _changes(kind):
        return value
    inner, x = dict(_children(kind)), f"x{depth}"
    if kind.id in ("list", "array"):
        child = _json_value(x, inner["child"], depth + 1)
        return f"list_transform({value}, lambda {x}: {child})"
    if kind.id == "map":
        child = _json_value(f"{x}.value", inner["value"], depth + 1)
        key = f"CAST({x}.key AS VARCHAR)"
        entries = f"list_transform(map_entries({value}), lambda {x}: {{'k': {key}, 'v': {child}}})"
        return f"CASE WHEN {value} IS NOT NULL THEN map_from_entries({entries}) END"
    parts = []
    for name, each in _children(kind):
        part = _json_value(f"struct_extract({value}, {literal(name)})", each, depth + 1)
        quoted = '"' + name.replace('"', '""') + '"'
        parts.append(f"{quoted} := {part}")
    return f"CASE WHEN {value} IS NOT NULL THEN struct_pack({', '.join(parts)}) END"


def _changes(kind: Any) -> bool:
    """Whether a value of this type has a part that ``to_json`` would change."""
    if not _children(kind):
        return _json_leaf("", kind) != ""
    return any(_changes(each) for name, each in _children(kind) if name != "size")


def _json_leaf(value: str, kind: Any) -> str:
    if kind.id in ("float", "double"):
        return f"CASE WHEN isfinite({value}) THEN {value} END"
    if kind.id.startswith(("time", "date", "interval", "decimal", "hugeint", "uhugeint")):
        return f"CAST({value} AS VARCHAR)"
    return value
