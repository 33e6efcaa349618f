"""Numbers and moments keep every digit, or their column stays text."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.unit.cli.files.tabled import put, stamped

ID = 1425150623912820737
FAR = 30_000  # rows; an engine's sample is 20,480


def parquet(data: bytes) -> Any:
    return pq.ParquetFile(pa.BufferReader(data)).read()


@pytest.mark.parametrize(
    ("usual", "odd"),
    [
        ("1", "2.7"),
        ("1", "007"),
        ("1", "0x10"),
        ("1", "1_000"),
        ("1", " 5"),
        ("1", "+5"),
        ("2026-01-02", "2026-01-02 10:11:12"),
        ("2026-01-02", "02.01.2026"),
        ("2026-01-02 10:11:12", "2026-01-02 10:11:12.123456789"),
        ("true", "yes"),
        (str(ID), "NaN"),
        (str(ID), "1.5"),
        (str(ID), f"{ID}.0"),
        ("0.5", "0.12345678901234567891"),
        ("1e3", "1e400"),
    ],
)
def test_types_are_decided_by_all_rows(tmp_path: Path, usual: str, odd: str) -> None:
    text = "a\n" + f"{usual}\n" * FAR + f"{odd}\n"
    found = parquet(stamped(put(tmp_path, text), "csv", "parquet", infer=True))["a"]
    values = found[0].as_py(), found[FAR].as_py()
    if (usual, odd) == ("1", "2.7"):
        assert values == (1.0, 2.7)
    else:
        assert values == (usual, odd)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "", "-5"], pa.int64()),
        (["1", str((1 << 64) - 1)], pa.uint64()),
        (["-1", str((1 << 64) - 1)], pa.decimal128(38, 0)),
        (["1", "2.50", "1e5", "0.30000000000000004"], pa.float64()),
        (["nan", "1.5", "-inf"], pa.float64()),
        (["true", "False"], pa.bool_()),
        (["2026-01-02"], pa.date32()),
        (["2026-01-02 10:11:12", "2026-01-02T10:11"], pa.timestamp("us")),
        (["2026-01-02T10:11:12Z", "2026-01-02 10:11:12.5+02:00"], pa.timestamp("us", "UTC")),
        (["2026-02-30"], pa.string()),
        (["", ""], pa.string()),
    ],
)
def test_types(tmp_path: Path, values: list[str], kind: Any) -> None:
    text = "a,b\n" + "".join(f"{value},x\n" for value in values)
    found = parquet(stamped(put(tmp_path, text), "csv", "parquet", infer=True))
    assert found["a"].type == kind
    assert found["b"].type == pa.string()


def of_json(folder: Path, rows: list[str], to: str = "parquet") -> list[Any]:
    path = put(folder, "".join(f"{row}\n" for row in rows))
    data = stamped(path, "jsonl", to)
    return list(parquet(data).to_pylist()) if to == "parquet" else data.decode().splitlines()


@pytest.mark.parametrize("other", ["1.5", "1.0", "1.4e18", "12345678901234567890123", "0.1"])
@pytest.mark.parametrize("nested", ["{}", '{{"x": {}}}', "[{}]", '[{{"x": [{}]}}]'])
def test_an_id_beside_another_number_keeps_its_digits(
    tmp_path: Path, other: str, nested: str
) -> None:
    rows = [f'{{"id_": {nested.format(n)}}}' for n in (ID, other, ID + 1)]
    found = [json.dumps(row["id_"], default=str) for row in of_json(tmp_path, rows)]
    assert str(ID) in found[0]
    assert str(ID + 1) in found[2]
    csv = of_json(tmp_path, rows, "csv")
    assert str(ID) in csv[1]
    assert str(ID + 1) in csv[3]


def test_many_ids_beside_one_fraction(tmp_path: Path) -> None:
    rows = [f'{{"a": {ID + i}}}' for i in range(60_000)]
    found = of_json(tmp_path, [*rows, '{"a": 1.5}'])
    assert len({row["a"] for row in found}) == 60_001


def test_small_numbers_beside_fractions_are_doubles(tmp_path: Path) -> None:
    """As JavaScript writes a column of doubles."""
    found = of_json(tmp_path, ['{"a": 10}', '{"a": 10.5}', '{"a": 1e-7}'])
    assert [row["a"] for row in found] == [10.0, 10.5, 1e-7]


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([1, (1 << 63) - 1], [1, (1 << 63) - 1]),
        ([1, 1 << 63, (1 << 64) - 1], [1, 1 << 63, (1 << 64) - 1]),
        ([-1, (1 << 64) - 1], [-1, (1 << 64) - 1]),
        ([1 << 64, 10**37], [1 << 64, 10**37]),
        ([10**40 + 7, 1], [str(10**40 + 7), "1"]),
    ],
)
def test_integers_of_every_size(tmp_path: Path, values: list[int], wanted: list[Any]) -> None:
    rows = [f'{{"a": {n}, "b": [{n}]}}' for n in values]
    found = of_json(tmp_path, rows)
    assert [row["a"] for row in found] == wanted
    assert [row["b"] for row in found] == [[n] for n in wanted]
    assert [line.split(",")[1] for line in of_json(tmp_path, rows, "csv")[1:]] == list(
        map(str, values)
    )


@pytest.mark.parametrize("row", ['{"b": {"": 1}}', '{"b": {"x": 1, "X": 2}}'])
def test_names_that_sql_does_not_have_keep_their_json(tmp_path: Path, row: str) -> None:
    (found,) = of_json(tmp_path, [row])
    assert json.loads(found["b"]) == json.loads(row)["b"]


def test_nan_is_null_at_every_depth(tmp_path: Path) -> None:
    odd = [float("nan"), float("inf"), 1.5]
    table = pa.table(
        {
            "list": pa.array([odd]),
            "object": pa.array([{"x": odd[0], "y": [odd[1]]}]),
            "map": pa.array([[("k", odd[0])]], pa.map_(pa.string(), pa.float64())),
        }
    )
    pq.write_table(table, tmp_path / "in.parquet")
    assert json.loads(stamped(tmp_path / "in.parquet", "parquet", "jsonl")) == {
        "id": "1",
        "list": [None, None, 1.5],
        "object": {"x": None, "y": [None]},
        "map": {"k": None},
    }
