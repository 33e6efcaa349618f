"""Parquet: a copy keeps everything, other formats get types, and rows that do not fit fail."""

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pytest

from frazil.errors import ConfigError
from tests.needs import needs
from tests.unit.cli.files.tabled import put, stamped


@pytest.fixture
def arrow() -> Any:
    needs("pyarrow", "tables in Parquet")
    import pyarrow.compute
    import pyarrow.ipc
    import pyarrow.parquet

    return pyarrow


def table_of(arrow: Any, data: bytes) -> Any:
    return arrow.parquet.read_table(arrow.BufferReader(data))


def test_parquet_keeps_schema_metadata_and_compression(tmp_path, arrow):
    fields = [
        arrow.field("n", arrow.int16(), nullable=False, metadata={"unit": "m"}),
        ("when", arrow.timestamp("us", "UTC")),
        ("list", arrow.list_(arrow.decimal128(10, 2))),
        ("kind", arrow.dictionary(arrow.int32(), arrow.string())),
    ]
    schema = arrow.schema(fields, metadata={"made": "by hand"})
    rows = [
        {"n": i % 100, "when": None, "list": [Decimal("1.50")] * (i % 3), "kind": f"k{i % 5}"}
        for i in range(70_000)
    ]
    before = arrow.Table.from_pylist(rows, schema=schema)
    path = tmp_path / "in.parquet"
    arrow.parquet.write_table(before, path, compression="zstd", row_group_size=30_000)
    before = table_of(arrow, path.read_bytes())  # Parquet has its own name for items of lists
    data = stamped(path, "parquet", "parquet", numeric=True)
    after = table_of(arrow, data)
    assert after.schema.remove(0).equals(before.schema, check_metadata=True)
    assert after.schema.field(0).equals(arrow.field("id", arrow.int64()))
    assert after.column("id").to_pylist() == list(range(1, 70_001))
    assert after.drop_columns("id").equals(before)
    group = arrow.parquet.ParquetFile(arrow.BufferReader(data)).metadata.row_group(0)
    assert {group.column(i).compression for i in range(group.num_columns)} == {"ZSTD"}
    last = table_of(arrow, stamped(path, "parquet", "parquet", last=True))
    assert last.schema.names[-1] == "id"
    assert last.schema.field("id").type == arrow.string()


def test_parquet_keeps_a_compression_and_a_dictionary_for_each_column(tmp_path, arrow):
    path = tmp_path / "in.parquet"
    made = arrow.table({"a": [1, 1], "b": [[1], [1]], "c": ["x", "x"]})
    packed = {"a": "gzip", "b.list.element": "none", "c": "snappy"}
    arrow.parquet.write_table(made, path, compression=packed, use_dictionary=["b.list.element"])
    data = stamped(path, "parquet", "parquet")
    group = arrow.parquet.ParquetFile(arrow.BufferReader(data)).metadata.row_group(0)
    columns = [group.column(i) for i in range(4)]
    assert [each.has_dictionary_page for each in columns] == [False, False, True, False]
    assert [each.compression for each in columns[1:]] == ["GZIP", "UNCOMPRESSED", "SNAPPY"]


def test_only_the_ids_have_no_dictionary(tmp_path, arrow):
    rows = "".join(f"{i},{i % 7}\n" for i in range(20_000))
    data = stamped(put(tmp_path, "a,b\n" + rows), "csv", "parquet", numeric=True)
    group = arrow.parquet.ParquetFile(arrow.BufferReader(data)).metadata.row_group(0)
    columns = [group.column(i) for i in range(3)]
    found = {column.path_in_schema: column.has_dictionary_page for column in columns}
    assert found == {"id": False, "a": True, "b": True}
    assert table_of(arrow, data)["b"].to_pylist() == [str(i % 7) for i in range(20_000)]


def test_csv_and_json_to_parquet(tmp_path, arrow):
    out = table_of(arrow, stamped(put(tmp_path, "a,b\n1,\n"), "csv", "parquet", numeric=True))
    assert out.to_pylist() == [{"id": 1, "a": "1", "b": ""}]
    text = '{"a": 1, "never": null}\n{"b": {"c": [1.5]}}\n'
    out = table_of(arrow, stamped(put(tmp_path, text), "jsonl", "parquet"))
    assert out.schema.field("never").type == arrow.string()
    assert out.to_pylist() == [
        {"id": "1", "a": 1, "never": None, "b": None},
        {"id": "2", "a": None, "never": None, "b": {"c": [1.5]}},
    ]
    for text, kind in [("", "jsonl"), ("a\n", "csv")]:
        out = table_of(arrow, stamped(put(tmp_path, text), kind, "parquet"))
        assert out.num_rows == 0
        assert "id" in out.schema.names


def test_later_rows_of_json_define_columns_too(tmp_path, arrow):
    path = put(tmp_path, '{"a": 1}\n' * 30_000 + '{"a": "x", "new": 2}\n')
    out = table_of(arrow, stamped(path, "jsonl", "parquet"))
    assert out.num_rows == 30_001
    assert out.column("new").to_pylist()[-2:] == [None, 2]
    assert out.column("a").to_pylist()[-2:] == ["1", '"x"']  # mixed types keep their JSON


def test_parquet_to_text(tmp_path, arrow):
    path = tmp_path / "in.parquet"
    day = dt.date(2025, 1, 2)
    columns = {"d": [day], "x": [float("nan")], "m": [Decimal("1.10")], "z": [None], "t": [True]}
    arrow.parquet.write_table(arrow.table(columns), path)
    assert json.loads(stamped(path, "parquet", "jsonl")) == {
        "id": "1",
        "d": "2025-01-02",
        "x": None,
        "m": "1.10",
        "z": None,
        "t": True,
    }
    assert stamped(path, "parquet", "csv") == b"id,d,x,m,z,t\n1,2025-01-02,nan,1.10,,true\n"


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_invalid_file_is_an_error(tmp_path, arrow, kind):
    with pytest.raises(ConfigError, match=f"is not {kind.capitalize()}"):
        stamped(put(tmp_path, "a,b\n"), kind, "csv")


@pytest.mark.parametrize("to", ["csv", "parquet"])
def test_a_damaged_batch_is_an_error(tmp_path, arrow, to):
    """DuckDB reads the batches for text, and shows Python's traceback."""
    path = tmp_path / "in.arrow"
    table = arrow.table({"a": range(100_000)})
    with arrow.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=1_000)
    data = path.read_bytes()
    middle = len(data) // 2
    path.write_bytes(data[:middle] + bytes(20_000) + data[middle + 20_000 :])
    with pytest.raises(ConfigError, match=r"cannot read .* to its end") as caught:
        stamped(path, "arrow", to)
    assert "Traceback" not in str(caught.value)


def test_parquet_files_with_other_columns_are_matched_by_name(tmp_path, arrow):
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    arrow.parquet.write_table(arrow.table({"n": [1]}), paths[0])
    arrow.parquet.write_table(arrow.table({"m": ["x"], "n": [2]}), paths[1])
    out = table_of(arrow, stamped(paths, "parquet", "parquet", numeric=True))
    assert out.to_pylist() == [{"id": 1, "n": 1, "m": None}, {"id": 2, "n": 2, "m": "x"}]


def test_a_type_that_has_no_text_is_an_error(tmp_path, arrow):
    path = tmp_path / "in.parquet"
    arrow.parquet.write_table(arrow.table({"h": arrow.array([1.5], arrow.float16())}), path)
    with pytest.raises(ConfigError, match=r"'h'"):
        stamped(path, "parquet", "csv")
    assert table_of(arrow, stamped(path, "parquet", "parquet")).column("h").to_pylist() == [1.5]


@pytest.mark.parametrize("to", ["csv", "jsonl"])
def test_nanoseconds_of_a_duration_are_not_lost(tmp_path, arrow, to):
    """DuckDB drops them without a word, in every kind of column."""
    kind, ns = arrow.duration("ns"), 1_500
    each = arrow.array([None, ns], kind)
    pairs = arrow.map_(arrow.string(), kind)
    lists = arrow.list_(kind), arrow.list_view(kind), arrow.list_(kind, 1)
    columns = [
        each,
        each.dictionary_encode(),
        arrow.compute.run_end_encode(each),
        *(arrow.array([None, [ns]], each) for each in lists),
        arrow.array([None, [("a", ns)]], pairs),
        arrow.array([None, {"x": [ns]}], arrow.struct([("x", arrow.list_(kind))])),
        arrow.array([None, arrow.MonthDayNano([1, 2, ns])]),
    ]
    path = tmp_path / "in.arrow"
    for column in columns:
        table = arrow.table({"d": column})
        with arrow.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table)
        with pytest.raises(
            ConfigError, match=r"'d' as text, .* microseconds of a duration"
        ) as caught:
            stamped(path, "arrow", to)
        assert caught.value.facts["column"] == "d"


@pytest.mark.parametrize("within", [False, True])
def test_views_of_bytes_and_bytes_in_a_struct_cannot_become_text_either(tmp_path, arrow, within):
    path = tmp_path / "in.arrow"
    bytes_view = arrow.array([b"a,b"], arrow.binary_view())
    within_struct = arrow.array([{"size": b"a,b"}], arrow.struct({"size": arrow.binary()}))
    made = arrow.table({"raw": within_struct if within else bytes_view})
    with arrow.ipc.new_file(str(path), made.schema) as writer:
        writer.write_table(made)
    for to in ("csv", "jsonl"):
        with pytest.raises(ConfigError, match=r"column 'raw' .*bytes"):
            stamped(path, "arrow", to)


@pytest.mark.parametrize("kind", ["run_end_encoded", "interval", "empty_struct", "nested"])
def test_a_type_that_parquet_does_not_have_is_an_error(tmp_path, arrow, kind):
    types = {
        "run_end_encoded": arrow.run_end_encoded(arrow.int32(), arrow.string()),
        "interval": arrow.month_day_nano_interval(),
        "empty_struct": arrow.struct([]),
        "nested": arrow.list_(arrow.struct([])),
    }
    path = tmp_path / "in.arrow"
    made = arrow.table({"a": [1], "odd": arrow.nulls(1, types[kind])})
    with arrow.ipc.new_file(str(path), made.schema) as writer:
        writer.write_table(made)
    with pytest.raises(ConfigError, match="cannot write the column 'odd' to Parquet") as caught:
        stamped(path, "arrow", "parquet")
    assert caught.value.column == "odd"
    assert stamped(path, "arrow", "arrow")


def test_dictionaries_that_arrow_cannot_hold_are_an_error_of_the_output(tmp_path, arrow):
    """A stream may replace a dictionary, and a file may not."""
    kind = arrow.dictionary(arrow.int8(), arrow.string())
    schema = arrow.schema([("name", kind)])
    with arrow.ipc.new_stream(tmp_path / "in.arrow", schema) as writer:
        for names in (["a", "b"], ["c", "a"]):
            column = arrow.DictionaryArray.from_arrays(arrow.array([0, 1], arrow.int8()), names)
            writer.write(arrow.record_batch([column], schema=schema))
    with pytest.raises(ConfigError, match=r"cannot write these rows to Arrow: .*; write Parquet"):
        stamped(tmp_path / "in.arrow", "arrow", "arrow")
    found = table_of(arrow, stamped(tmp_path / "in.arrow", "arrow", "parquet"))
    assert found.column("name").to_pylist() == ["a", "b", "c", "a"]


def test_a_zero_in_a_key_of_json_is_kept(tmp_path, arrow):
    """The name of a field ends there in DuckDB, so the object stays a text."""
    path = put(tmp_path, '{"o": {"x\\u0000y": 1.5, "x": 2}}\n')
    (value,) = table_of(arrow, stamped(path, "jsonl", "parquet")).column("o").to_pylist()
    assert json.loads(value) == {"x\0y": 1.5, "x": 2}


def test_times_beyond_pythons_years_are_kept(tmp_path, arrow):
    times = arrow.array([1 << 60, -(1 << 60)]).cast(arrow.timestamp("us"))
    arrow.parquet.write_table(arrow.table({"when": times}), tmp_path / "in")
    found = table_of(arrow, stamped(tmp_path / "in", "parquet", "parquet"))
    assert found.column("when").cast("int64").to_pylist() == [1 << 60, -(1 << 60)]
    text = stamped(tmp_path / "in", "parquet", "csv").decode()
    assert "38504-08-17 21:30:06.846976" in text
