"""Parquet: a copy keeps everything, other formats get types, and rows that do not fit fail."""

import datetime as dt
import json
import sys
from decimal import Decimal
from typing import Any

import pytest

from frazil.errors import ConfigError
from tests.needs import needs
from tests.unit.cli.files.tabled import put, read, stamped

__all__: list[str] = []


@pytest.fixture
def arrow() -> Any:
    needs("pyarrow", "tables in Parquet")
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


def test_parquet_keeps_a_compression_for_each_column(tmp_path, arrow):
    path = tmp_path / "in.parquet"
    made = arrow.table({"a": [1], "b": ["x"]})
    arrow.parquet.write_table(made, path, compression={"a": "gzip", "b": "none"})
    data = stamped(path, "parquet", "parquet")
    group = arrow.parquet.ParquetFile(arrow.BufferReader(data)).metadata.row_group(0)
    found = {group.column(i).path_in_schema: group.column(i).compression for i in range(3)}
    assert found["a"] == "GZIP"
    assert found["b"] == "UNCOMPRESSED"


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


@pytest.mark.parametrize("late", ['{"a": "x"}', '{"a": 1, "new": 2}', '{"a": 1e400}'])
def test_later_rows_that_do_not_fit_are_an_error(tmp_path, arrow, late):
    path = put(tmp_path, '{"a": 1}\n' * 20_000 + late)
    with pytest.raises(ConfigError, match="to 20001: "):
        stamped(path, "jsonl", "parquet")


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


@pytest.mark.parametrize("to", ["csv", "jsonl"])
def test_bytes_cannot_become_text(tmp_path, arrow, to):
    path = tmp_path / "in.parquet"
    arrow.parquet.write_table(arrow.table({"raw": [b"\xff"]}), path)
    with pytest.raises(ConfigError, match=r"row 1: .*bytes"):
        stamped(path, "parquet", to)


def test_invalid_parquet_is_an_error(tmp_path, arrow):
    with pytest.raises(ConfigError, match="is not Parquet"):
        read(put(tmp_path, "a,b\n"), "parquet")


def test_parquet_without_pyarrow_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigError, match=r'pip install "frazil\[parquet\]"'):
        read(put(tmp_path, "x"), "parquet")
