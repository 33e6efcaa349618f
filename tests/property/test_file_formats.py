"""Random tables in every pair of formats: every value arrives, or an error names the column."""

import csv
import datetime as dt
import io
import itertools
import json
import tempfile
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from frazil.errors import ConfigError
from tests.property.file_values import UNIT_NS, listed, same
from tests.unit.cli.files.tabled import stamped

FORMATS = ["csv", "jsonl", "parquet", "arrow"]
slow = settings(max_examples=settings().max_examples // 10, suppress_health_check=list(HealthCheck))

names = st.sampled_from(["", "a", "A", "b", "a,b", 'q"x', "two\nlines", "é", "0", "1", "ID", "x'y"])
texts = st.text(
    st.sampled_from("aZ09 ,;\"'\\\n\r\t\0é😀\u2028{}[]:.-"), max_size=6
) | st.sampled_from(["null", "NaN", "007", "1.50", "true", "2026-01-02", '""', "#", "NULL"])


def integers(bits: int, *, signed: bool) -> st.SearchStrategy[int]:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return st.integers(low, high) | st.sampled_from([low, high, 0])


def plain(kind: Any) -> st.SearchStrategy[Any]:
    """The values of a type that is not nested."""
    types = pa.types
    if types.is_integer(kind):
        return integers(kind.bit_width, signed=types.is_signed_integer(kind))
    if types.is_floating(kind):
        return st.floats(width=kind.bit_width)
    if types.is_decimal(kind):
        most = 10**kind.precision - 1
        return st.integers(-most, most).map(lambda n: Decimal(n).scaleb(-kind.scale, _CONTEXT))
    if types.is_timestamp(kind):
        second = UNIT_NS["s"] // UNIT_NS[kind.unit]
        return st.integers(-2_000_000_000 * second, 7_000_000_000 * second)
    if types.is_date(kind):
        return st.dates(dt.date(1, 1, 1))
    if types.is_time(kind):
        day = 86_400 * UNIT_NS["s"] // UNIT_NS[kind.unit]
        return st.integers(0, day - 1)
    if types.is_duration(kind):
        most = 10**14 // UNIT_NS[kind.unit]
        return st.integers(-most, most)
    if types.is_boolean(kind):
        return st.booleans()
    if types.is_fixed_size_binary(kind):
        return st.binary(min_size=kind.byte_width, max_size=kind.byte_width)
    if types.is_binary(kind) or types.is_binary_view(kind):
        return st.binary(max_size=4)
    return texts


_CONTEXT = Context(prec=60)
PLAIN = [
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32()),
    *(pa.uint64(), pa.float32(), pa.float64(), pa.decimal128(38, 0), pa.decimal128(20, 5)),
    *(pa.timestamp(unit, zone) for unit in UNIT_NS for zone in (None, "UTC", "Europe/Berlin")),
    *(pa.duration(unit) for unit in UNIT_NS),
    *(pa.date32(), pa.time32("ms"), pa.time64("us"), pa.time64("ns"), pa.bool_()),
    *(pa.string(), pa.large_string(), pa.string_view()),
]
BYTES = [pa.binary(), pa.large_binary(), pa.binary(4), pa.binary_view()]
INNER = [pa.int64(), pa.uint64(), pa.float64(), pa.string(), pa.decimal128(9, 2), pa.date32()]


@st.composite
def columns(draw: Any, rows: int) -> Any:
    """An array of any type."""

    def some(values: Any) -> Any:
        return draw(st.lists(st.none() | values, min_size=rows, max_size=rows))

    how = draw(st.sampled_from(["plain"] * 6 + ["bytes", "list", "struct", "map"] * 2 + ["odd"]))
    if how in ("plain", "bytes"):
        kind = draw(st.sampled_from(PLAIN if how == "plain" else BYTES))
        return pa.array(some(plain(kind)), kind)
    inner = draw(st.sampled_from(INNER))
    values = st.none() | plain(inner)
    if how == "list":
        return pa.array(some(st.lists(values, max_size=3)), pa.list_(inner))
    if how == "struct":
        names = draw(st.lists(st.sampled_from(["x", "y z", 'q"', "é"]), min_size=1, unique=True))
        kind = pa.struct([(name, inner) for name in names])
        return pa.array(some(st.fixed_dictionaries(dict.fromkeys(names, values))), kind)
    if how == "map":
        entries = st.dictionaries(texts, values, max_size=3).map(lambda each: list(each.items()))
        return pa.array(some(entries), pa.map_(pa.string(), inner))
    if draw(st.booleans()):
        return pa.array(some(texts), pa.string()).dictionary_encode()
    if draw(st.booleans()):
        return pa.nulls(rows)
    return pa.compute.run_end_encode(pa.array(some(st.sampled_from(["a", "b"])), pa.string()))


@st.composite
def tables(draw: Any) -> Any:
    rows = draw(st.sampled_from([0, 1, 3]))
    count = draw(st.integers(1, 3))
    arrays = [draw(columns(rows)) for _ in range(count)]
    chosen = draw(st.lists(names, min_size=count, max_size=count))
    return pa.table(arrays, names=chosen)


def written(folder: Path, kind: str, table: Any) -> Path:
    """A file of Parquet or Arrow."""
    path = folder / f"in.{kind}"
    if kind == "parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table)
    return path


def read(kind: str, source: Any) -> Any:
    """The table in a file of Parquet or Arrow, as pyarrow reads it."""
    return (
        pq.ParquetFile(source).read() if kind == "parquet" else pa.ipc.open_file(source).read_all()
    )


class Pairs(list[Any]):
    """The keys and values of an object, in order, equal keys too."""


def plain_json(value: Any) -> Any:
    """Pairs as a dictionary, in the values of a row."""
    if isinstance(value, Pairs):
        return {key: plain_json(each) for key, each in value}
    return [plain_json(each) for each in value] if isinstance(value, list) else value


def found_in(data: bytes, kind: str, names: list[str]) -> tuple[list[str], list[list[Any]]]:
    """The head of what is written, and its rows. names: those of a file of JSON without rows."""
    if kind == "csv":
        head, *lines = csv.reader(io.StringIO(data.decode(), newline=""))
        return head, lines
    if kind == "jsonl":
        objects = data.decode().split("\n")[:-1]
        pairs = [json.loads(line, object_pairs_hook=Pairs) for line in objects]
        head = [key for key, _ in pairs[0]] if pairs else ["id", *names]
        return head, [[plain_json(value) for _, value in row] for row in pairs]
    table = read(kind, pa.BufferReader(data))
    values = (column.to_pylist() for column in table.columns)
    return table.column_names, [list(row) for row in zip(*values, strict=True)]


def attempt(path: Path, kind: str, to: str, names: list[str]) -> bytes | None:
    """What is written; None if it is refused with the name of a column."""
    try:
        return stamped(path, kind, to, numeric=True)
    except ConfigError as error:
        named = error.facts.get("column")
        told = named in names or any(repr(name) in str(error) for name in names)
        assert told, error  # noqa: PT017
        return None


@pytest.mark.long
@slow
@given(st.data())
@pytest.mark.parametrize(
    ("kind", "to"), list(itertools.product(["parquet", "arrow"], FORMATS)), ids=lambda each: each
)
def test_typed_tables(kind: str, to: str, data: Any) -> None:
    table = data.draw(tables())
    with tempfile.TemporaryDirectory() as name:
        try:
            path = written(Path(name), kind, table)
        except pa.ArrowException:  # not in Parquet
            assume(False)
        original = read(kind, str(path))
        out = attempt(path, kind, to, table.column_names)
    if out is None:
        return
    if to in ("parquet", "arrow"):
        found = read(to, pa.BufferReader(out))
        assert found.column_names == ["id", *original.column_names]
        kept = found.remove_column(0)
        if kind == "arrow" and to == "parquet":
            sink = pa.BufferOutputStream()
            pq.write_table(original, sink)
            original = read("parquet", pa.BufferReader(sink.getvalue()))
        assert kept.schema.types == original.schema.types
        assert kept.schema.metadata == original.schema.metadata
        assert repr(kept.to_pylist()) == repr(original.to_pylist())
        for one, other in zip(kept.columns, original.columns, strict=True):
            assert repr(listed(one)) == repr(listed(other))
        return
    head, rows = found_in(out, to, original.column_names)
    assert head == ["id", *original.column_names]
    assert [str(row[0]) for row in rows] == [str(i + 1) for i in range(original.num_rows)]
    for i, column in enumerate(original.columns):
        for value, row in zip(listed(column), rows, strict=True):
            pair = value, row[i + 1], column.type
            assert same(*pair, in_csv=to == "csv"), pair


@pytest.mark.long
@slow
@given(
    st.lists(names, min_size=1, max_size=3).flatmap(
        lambda head: st.tuples(
            st.just(head),
            st.lists(st.lists(texts, min_size=len(head), max_size=len(head)), max_size=4),
        )
    ),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
@pytest.mark.parametrize("to", FORMATS)
def test_texts_of_csv(to: str, made: Any, end: str, infer: bool) -> None:
    head, rows = made
    assume(len(head) > 1 or all(row[0] for row in rows))
    assume(any(head))
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator=end, quoting=csv.QUOTE_ALL)
    writer.writerows([head, *rows])
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "in.csv"
        path.write_text(text.getvalue(), newline="")
        try:
            out = stamped(path, "csv", to, delimiter=",", skip=0, infer=infer)
        except ConfigError as error:
            doubled = len(set(head)) < len(head)
            told = to == "jsonl" and doubled and error.facts["column"] in head
            assert told, error  # noqa: PT017
            return
    names_found, found = found_in(out, to, head)
    assert names_found == ["id", *head]
    assert [row[0] for row in found] == [str(i + 1) for i in range(len(rows))]
    for before, after in zip(rows, found, strict=True):
        for value, kept in zip(before, after[1:], strict=True):
            if not infer or isinstance(kept, str):
                assert kept == value or (infer and to == "csv"), (value, kept)
            else:
                assert value == "" if kept is None else str(kept).lower() in value.lower()


numbers = (
    st.integers(-(1 << 70), 1 << 70)
    | st.sampled_from([0, -1, 1 << 53, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 1425150623912820737])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([1.0, 1.5, 1.4e18, -0.5])
)
scalars = st.none() | st.booleans() | texts.filter(lambda t: "\0" not in t) | numbers
keys = st.sampled_from(["a", "b", "q'x", "é", "a b"])
values = numbers | st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=2),
    max_leaves=4,
)


def exact(value: Any) -> Any:
    """A JSON value that compares by its digits."""
    if isinstance(value, dict):
        return {key: exact(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [exact(each) for each in value]
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        return Decimal(repr(value) if isinstance(value, float) else value)
    return value


def means(value: Any, found: Any) -> bool:
    """Whether a value of a row is what a typed column, or a text, holds."""
    if value is None:
        return found in (None, "", "null")
    if isinstance(value, list) and isinstance(found, list):
        return all(means(one, other) for one, other in zip(value, found, strict=True))
    if isinstance(value, dict) and isinstance(found, dict):
        return all(means(value.get(key), each) for key, each in found.items())
    value = exact(value)
    if not isinstance(found, str):
        return bool(exact(found) == value)
    if found == value:
        return True
    try:
        return bool(exact(json.loads(found, parse_float=Decimal)) == value)
    except ValueError:
        return False


@pytest.mark.long
@slow
@given(st.lists(st.dictionaries(keys, values, max_size=3), max_size=4))
@pytest.mark.parametrize("to", FORMATS)
def test_objects_of_json(to: str, rows: list[dict[str, Any]]) -> None:
    assume(any(rows) or not rows or to == "jsonl")
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "in.jsonl"
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        out = attempt(path, "jsonl", to, [key for row in rows for key in row])
    if out is None:
        return
    if to == "jsonl":
        found = [json.loads(line) for line in out.decode().split("\n")[:-1]]
        assert [row.pop("id") for row in found] == [str(i + 1) for i in range(len(rows))]
        assert repr(found) == repr(rows)
        return
    head, kept = found_in(out, to, [])
    for row, after in zip(rows, kept, strict=True):
        for key, value in zip(head, after, strict=True):
            if key != "id":
                assert means(row.get(key), value), (key, row.get(key), value)
