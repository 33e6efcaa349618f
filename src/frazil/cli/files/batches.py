"""Typed rows, in Arrow record batches, from files of any size.

Parquet and Arrow files of one schema are read by pyarrow, which keeps their types and metadata.
Everything else is read by DuckDB: text, files with different columns (matched by name; a missing
one is null), and Hive partitions, whose keys become columns.

CSV has no types, so its columns are text, and an empty field is an empty text; ``infer`` lets
DuckDB infer types from the first 20,480 rows. JSON has types, and one pass over all rows finds
them: a key is a column, a text stays a text, a number without a fraction is a BIGINT, a number
beyond 64 bits a double, and a column of mixed types keeps its JSON. DuckDB needs a file, so
standard input and other character sets are copied to a temporary one.
"""

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from frazil.cli.files.arrow_files import Batches, direct, opened
from frazil.cli.files.csv_head import open_csv
from frazil.cli.files.database import connect
from frazil.cli.files.formats import check_keys, hive_keys
from frazil.cli.files.json_lines import json_record
from frazil.cli.files.reading import Reading, temporary_in
from frazil.cli.files.rows import split_lines
from frazil.cli.files.streams import Source
from frazil.cli.files.utf8 import invalid_utf8_error, printable, text_problem
from frazil.errors import ConfigError

__all__ = ["open_batches"]

_LINE_BYTES = 16 << 20


def open_batches(reading: Reading, stack: ExitStack) -> Batches:
    """The rows of files; ``stack`` closes them. Raises ConfigError if one is not a table."""
    if reading.kind in ("parquet", "arrow"):
        files = [(file, opened(reading.kind, file)) for file in reading.files]
        schema = files[0][1].schema
        if not hive_keys(*reading.files) and all(schema.equals(each.schema) for _, each in files):
            return direct(reading, files)
        if reading.kind == "arrow":
            raise ConfigError(
                "Arrow files in Hive partitions, or with different columns, cannot be read "
                "together; stamp them one by one"
            )
        for file, each in files:
            check_keys(file, each.schema_arrow.names)
    return _by_duckdb(reading, stack)


def _by_duckdb(reading: Reading, stack: ExitStack) -> Batches:
    database = stack.enter_context(connect(reading.memory, reading.folder))
    stack.callback(database.interrupt)
    files = [_plain_file(reading, file) for file in reading.files]
    common = f"hive_partitioning = {str(bool(hive_keys(*reading.files))).lower()}"
    if reading.kind == "parquet":
        query: str | None = f"read_parquet($files, union_by_name = true, {common})"
    else:
        packings = {_packing(file) for file in files}
        common += f", compression = '{packings.pop() if len(packings) == 1 else 'auto'}'"
        text = _csv_query if reading.kind == "csv" else _json_query
        query = text(reading, files, common, database)
        if query is None:
            return Batches(pa.schema([]), iter(()))
    try:
        relation = database.sql(f"FROM {query}", params={"files": files})
        reader = relation.to_arrow_reader(reading.memory.batch_rows)
    except duckdb.Error as error:
        raise _unreadable(reading, error) from None

    def batches() -> Iterator[Any]:
        try:
            yield from reader
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            raise _unreadable(reading, error) from None

    def fraction() -> float:
        with suppress(duckdb.Error):
            return max(0.0, database.query_progress() / 100)
        return 0.0

    return Batches(reader.schema, batches(), fraction=fraction)


def _packing(file: str) -> str:
    with Source(file) as source:
        return source.packing() or "none"


def _plain_file(reading: Reading, file: str) -> str:
    """The file, or a copy of it that DuckDB can read. Raises ConfigError if it is truncated."""
    if file != "-" and reading.charset is None and Path(file).is_file():
        with reading.open(file) as source:
            if source.packing():  # DuckDB reads truncated zstd without an error
                deque(source.blocks(), maxlen=0)
        return file
    copy = reading.folder / f"input-{len(list(reading.folder.iterdir()))}"
    copy = copy.joinpath(
        *(part for part in Path(file).parts[:-1] if hive_keys(f"{part}/x")), "rows"
    )
    with temporary_in(reading.folder), reading.open(file) as source:
        copy.parent.mkdir(parents=True)
        with copy.open("wb") as target:
            target.writelines(source.blocks())
    return str(copy)


def _csv_query(
    reading: Reading, files: list[str], common: str, _database: duckdb.DuckDBPyConnection
) -> str:
    plain = _shown(reading, files)
    names: tuple[str, ...] = ()
    for file in files:
        with Source(file) as source:
            head, _ = open_csv(source, header=reading.header, delimiter=reading.delimiter)
        check_keys(plain[file], head.names)
        names = names or head.names
        if head.names != names:
            raise ConfigError(
                f"{plain[file]} has another header than the first file; stamp it by itself",
                path=plain[file],
            )
        _check_differ(names, plain[file], "CSV")
        if any("\udc80" <= letter <= "\udcff" for name in names for letter in name):
            raise _invalid_utf8(reading, file) or ConfigError(f"{plain[file]} is not UTF-8")
    mark = head.delimiter.replace("'", "''")
    options = (
        f"header = {str(reading.header).lower()}, delim = '{mark}', quote = '\"', escape = '\"', "
        f"max_line_size = {reading.memory.line_bytes}, buffer_size = {reading.memory.buffer_bytes}"
    )
    if reading.infer:
        return f"read_csv($files, {options}, {common})"
    quoted = [_quoted(name) for name in names]
    columns = ", ".join(f"{name}: 'VARCHAR'" for name in quoted)
    return (
        f"read_csv($files, auto_detect = false, columns = {{{columns}}}, {options}, "
        f"force_not_null = [{', '.join(quoted)}], {common})"
    )


def _check_differ(names: Iterable[str], file: str, kind: str) -> None:
    """Raise ConfigError if two columns have names that are equal in SQL."""
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise ConfigError(
                f"{file} has two columns named {printable(name)!r}, in upper or lower case; rename "
                f"one, or write {kind}",
                path=file,
            )
        seen.add(name.lower())


def _shown(reading: Reading, files: list[str]) -> dict[str, str]:
    """The name in errors of each file that DuckDB reads."""
    names = ("standard input" if file == "-" else file for file in reading.files)
    return dict(zip(files, names, strict=True))


def _json_query(
    reading: Reading, files: list[str], common: str, database: duckdb.DuckDBPyConnection
) -> str | None:
    options = f"format = 'newline_delimited', maximum_object_size = {_LINE_BYTES}, {common}"
    try:
        # One row of each structure, because the function keeps its rows in memory.
        found = database.execute(
            "SELECT json_group_structure(row) FROM (SELECT any_value(json) AS row FROM (SELECT "
            f"json, row_number() OVER () AS nr FROM read_json_objects($files, {options})) "
            "GROUP BY json_structure(json) ORDER BY min(nr))",
            {"files": files},
        ).fetchall()
    except duckdb.Error as error:
        raise _unreadable(reading, error) from None
    structure = json.loads(found[0][0] or "null")
    if structure in (None, "NULL"):  # no row
        return None
    if not isinstance(structure, dict):
        raise ConfigError(
            f"{_names(reading.files)}: a row is not a JSON object; JSON Lines has one per line"
        )
    if not structure:
        raise ConfigError(f"{_names(reading.files)}: no row has a key; write JSON Lines")
    _check_differ(structure, _names(reading.files), "JSON Lines")
    for file in reading.files:
        check_keys(file, structure)
    columns = ", ".join(f"{_quoted(name)}: '{_type(each)}'" for name, each in structure.items())
    return f"read_json($files, columns = {{{columns}}}, {options})"


def _type(structure: Any) -> str:
    """The SQL type of a structure that DuckDB found."""
    if isinstance(structure, dict):
        inner = ", ".join(
            f'"{name.replace(chr(34), chr(34) * 2)}" {_type(each)}'
            for name, each in structure.items()
        )
        return f"STRUCT({inner})".replace("'", "''") if inner else "JSON"
    if isinstance(structure, list):
        return f"{_type(structure[0])}[]" if structure else "JSON"
    return {"NULL": "VARCHAR", "UBIGINT": "BIGINT"}.get(structure, str(structure))


def _quoted(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"


def _names(files: list[str]) -> str:
    first = "standard input" if files[0] == "-" else files[0]
    return first if len(files) == 1 else f"{first} or one of the {len(files) - 1} files after it"


def _unreadable(reading: Reading, error: Exception) -> ConfigError:
    """The error for files that DuckDB cannot read: invalid UTF-8 with its place, or its reason."""
    if reading.kind in ("csv", "jsonl"):
        for file in reading.files:
            found = file != "-" and (_invalid_utf8(reading, file) or _invalid_json(reading, file))
            if found:
                return found
    reason = " ".join(str(error).split())
    reason = re.split(" (Possible|Try setting) ", reason)[0]  # options that stamp does not have
    return ConfigError(
        f"cannot read {_names(reading.files)}: {reason[:400]}",
        path=reading.files[0],
    )


def _invalid_json(reading: Reading, file: str) -> ConfigError | None:
    """The error for the first row that is not a JSON object; None for other formats."""
    if reading.kind != "jsonl":
        return None
    with reading.open(file) as source:
        for rows in split_lines(source, source.blocks()):
            for i in range(len(rows.ends)):
                try:
                    record = json_record(source, rows, i)
                except ConfigError as error:
                    return error
                if problem := text_problem(json.dumps(record, ensure_ascii=False)):
                    return source.error_at(int(rows.lines[i]), f"{problem}; correct it")
    return None


def _invalid_utf8(reading: Reading, file: str) -> ConfigError | None:
    with suppress(ConfigError), reading.open(file) as source:
        return invalid_utf8_error(source, source.name)
    return None
