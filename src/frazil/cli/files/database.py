"""A DuckDB in memory, within the bound, and its errors with the file and the line.

DuckDB counts rows and not lines, says little about bytes that are not text, and names the wrong
line of JSON. So a file with a fault is read once more, by Python.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import dropwhile, islice
from pathlib import Path
from typing import Any

import duckdb

from frazil.cli.files.paths import shown
from frazil.cli.files.reading import Reading, records
from frazil.errors import ConfigError

_THREAD_BYTES = 96 << 20  # with less for each thread, a sort beyond the memory fails
_INTERRUPTED = "Query interrupted"  # what DuckDB says after Ctrl-C in the main thread
_CHARSET = "; name the character set, like --charset latin-1"
_FIRST, _LAST = "\udc80", "\udcff"  # the surrogates that represent bytes


@contextmanager
def connect(memory_bytes: int, folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database that keeps the order of rows, and is closed at the end of the block.

    Ctrl-C in the block is KeyboardInterrupt, also where DuckDB raises an error of its own.
    """
    temporary = str(folder / "duckdb")
    limit = f"{memory_bytes >> 20}MiB"
    database = duckdb.connect(config={"memory_limit": limit, "temp_directory": temporary})
    threads = max(1, memory_bytes // _THREAD_BYTES)
    try:
        database.execute(
            "SET enable_progress_bar = true; SET enable_progress_bar_print = false; "
            f"SET TimeZone = 'UTC'; SET threads = least({threads}, current_setting('threads'))"
        )
        yield database
    except RuntimeError as error:
        if str(error) == _INTERRUPTED:
            raise KeyboardInterrupt from None
        raise
    finally:
        database.interrupt()  # what still reads ahead after an error
        database.close()


def fraction_read(database: duckdb.DuckDBPyConnection) -> float:
    """How much of a query's input has been read, 0 to 1; another thread may ask."""
    with suppress(duckdb.Error):
        return max(0.0, database.query_progress() / 100)
    return 0.0


def unreadable(reading: Reading, error: Exception) -> ConfigError:
    """The error for files that DuckDB cannot read. Raises one that names the line if it can."""
    # Without the options of DuckDB, which frazil does not have.
    text = " ".join(str(error).split())
    said = re.split(r" ?(Possible|Try setting|This can happen|LINE 1:|Detail:) ?", text)[0][:400]
    if "IO Error" in text and ("write" in text or "temp" in text.lower()):
        return ConfigError(f"cannot write temporary files in {reading.folder.parent}: {said}")
    check_text(reading, text)
    others = " or a file after it" if len(reading.files) > 1 else ""
    problem = f"cannot read {shown(reading.files[0])}{others}: {said}"
    return ConfigError(problem, path=reading.files[0])


def check_text(reading: Reading, said: str = "") -> None:
    """Raise ConfigError for the first row that is not text, no JSON object, or not of its table.

    said: the error of DuckDB, if there is one.
    """
    for file in [] if reading.typed else reading.files:
        for number, problem in _problems(reading, file, said):
            where = f"{shown(file)}, line {number}"
            raise ConfigError(f"{where}: {problem}", path=file, line=number)


def lines_of(reading: Reading, rows: set[int], count: int) -> dict[int, int]:
    """On which line each of some of the ``count`` rows begins.

    Rows count from 1, without the header and blank lines.
    """
    if count == reading.rows:  # no line is blank
        before = reading.head.lines + reading.header
        return {row: before + row for row in rows}
    numbers = islice(_numbers(reading), max(rows))
    return {row: number for row, number in enumerate(numbers, 1) if row in rows}


def check_rows(reading: Reading, rows: int) -> None:
    """Raise ConfigError if DuckDB has read another number of rows than the text has.

    Where a row may have several lines, only "no rows" is checked.
    """
    doubtful = not rows if reading.rows is None else rows != reading.rows
    if doubtful and not reading.typed:
        known = sum(1 for _ in _numbers(reading))
        if known and known != rows:
            problem = f"DuckDB has read {rows} rows of {known}; please report this"
            raise ConfigError(f"{shown(reading.files[0])}: {problem}", path=reading.files[0])


def _numbers(reading: Reading) -> Iterator[int]:
    """The lines on which the rows begin."""
    for file in reading.files:
        if reading.kind == "csv":
            with suppress(ConfigError):
                yield from (number for number, row in _records(reading, file) if row)
        else:
            yield from (number for number, row in reading.source(file).lines() if row.strip())


def _problems(reading: Reading, file: str, said: str) -> Iterator[tuple[int, str]]:
    """The lines with a fault: first of all those whose text is wrong, then those of odd rows."""
    source, other_ends = reading.source(file), set()
    for number, line in source.lines():
        text = line.decode("utf-8", "surrogateescape")
        other_ends.add(line.endswith(b"\r"))
        if problem := text_problem(text):
            yield number, problem + ("; correct it" if "half" in problem else _CHARSET)
        elif reading.kind == "jsonl" and (problem := _json_problem(text, said)):
            yield number, problem
        elif "state machine" in said and len(other_ends) > 1:
            yield number, "it has another line end than the first; make them equal, with dos2unix"
    if reading.kind == "csv":
        width = len(source.head.names)
        for number, row in _records(reading, file, strict=True):
            if row and len(row) != width:
                yield number, f"the row has {len(row)} fields instead of {width}"


def _records(reading: Reading, file: str, *, strict: bool = False) -> Iterator[tuple[int, Any]]:
    """The rows of CSV behind the header, each with the line on which it begins."""
    source = reading.source(file)
    texts = (line.decode("utf-8", "surrogateescape") + "\n" for _, line in source.lines())
    rows = records(file, texts, source.head.delimiter, source.head.lines, strict=strict)
    return islice(dropwhile(lambda found: not found[1], rows), int(reading.header), None)


def _json_problem(text: str, said: str) -> str:
    if not text.strip():
        return ""
    try:
        record = json.loads(text, object_pairs_hook=_unique if "duplicate key" in said else None)
        problem = "" if isinstance(record, dict) else f"it is a {type(record).__name__}"
    except (ValueError, RecursionError) as error:
        problem = str(error)
    if problem:
        return f"not a JSON object ({problem}); JSON Lines has one per line"
    problem = text_problem(json.dumps(record, ensure_ascii=False))
    return problem and f"{problem}; correct it"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    for key in (key for key in keys if keys.count(key) > 1):
        raise ValueError(f"the key {key!r} stands twice in an object")
    return dict(pairs)


def text_problem(text: str) -> str:
    """The first byte or surrogate that makes a text invalid, as a message; "" for a valid text."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        found = text[error.start]
        if not _FIRST <= found <= _LAST:
            return f"\\u{ord(found):04x} is half of a character"
        number = len(text[: error.start].encode()) + 1
        return f"byte {number} is not UTF-8 (0x{ord(found) & 0xFF:02X})"
    return ""
