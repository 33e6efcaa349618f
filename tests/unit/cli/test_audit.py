"""``frazil audit`` finds planted faults, in every format and at every size."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import frazil
from frazil.cli import main
from frazil.cli.files import auditor, tables
from frazil.schemes.scheme import Scheme
from tests.needs import needs

ROWS = 30_000
ICICLE = frazil.scheme()
WIDE = "time:60 node:16 sequence:20 @1ms since 2025-01-01T00:00:00Z"


def audit(*args: object, data: bytes | None = None) -> Result:
    return CliRunner().invoke(main, ["audit", *map(str, args)], input=data)


def found(*args: object, data: bytes | None = None) -> dict[str, Any]:
    result = audit(*args, "--json", data=data)
    assert result.exit_code in (0, 1), result.stderr
    told: dict[str, Any] = json.loads(result.stdout)
    assert told["clean"] == (result.exit_code == 0)
    return told


def ids(count: int, scheme: Scheme = ICICLE) -> list[int]:
    """Different IDs from two nodes, in time order."""
    tick = scheme.layout.tick_at(1_760_000_000_000_000)
    return [scheme.pack(time=tick + i // 8, node=i % 2, sequence=i % 8) for i in range(count)]


def write(folder: Path, kind: str, texts: list[Any]) -> Path:
    """A file in a format, with these IDs and another column."""
    path = folder / f"ids.{'txt' if kind == 'text' else kind}"
    if kind == "parquet":
        needs("pyarrow", "auditing Parquet")
        import pyarrow as pa
        from pyarrow.parquet import write_table

        table = pa.table({"n": range(len(texts)), "id": texts})
        write_table(table, path, row_group_size=10_000)
    elif kind == "csv":
        path.write_text("n,id\n" + "".join(f"{i},{n}\n" for i, n in enumerate(texts)))
    elif kind == "jsonl":
        rows = ({"n": i, "id": n} for i, n in enumerate(texts))
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        path.write_text("".join(f"{n}\n" for n in texts))
    return path


UNIT_AND_FIRST = {
    "csv": ("line", 2),
    "jsonl": ("line", 1),
    "parquet": ("row", 1),
    "text": ("line", 1),
}


@pytest.mark.parametrize(
    ("kind", "numbers"),
    [("csv", True), ("jsonl", True), ("jsonl", False), ("parquet", True), ("parquet", False),
     ("text", True)],
)  # fmt: skip
def test_planted_duplicate_is_found(tmp_path, kind, numbers):
    """One copy is at the beginning and one at the end."""
    made: list[Any] = [n if numbers else str(n) for n in ids(ROWS)]
    clean = found(write(tmp_path, kind, made))
    assert clean["duplicates"] == {"count": 0, "first": []}
    assert clean["clean"]

    made[-1] = made[1]
    made[-2] = made[20_000]
    path = write(tmp_path, kind, made)
    told = found(path)
    unit, first = UNIT_AND_FIRST[kind]

    def pair(at: int, again: int) -> dict[str, Any]:
        here = {"file": str(path)}
        return {
            "id": str(made[at]),
            "first": here | {unit: at + first},
            "again": here | {unit: again + first},
        }

    assert told["duplicates"] == {"count": 2, "first": [pair(20_000, ROWS - 2), pair(1, ROWS - 1)]}


def test_line_numbers_are_those_of_the_file(tmp_path):
    a, b = ids(2)
    path = tmp_path / "odd.csv"
    path.write_text(f'note,id\n"two\nlines",{a}\n\nx,{b}\n"\n\n",{a}\n')
    (one,) = found(path)["duplicates"]["first"]
    assert (one["first"]["line"], one["again"]["line"]) == (2, 6)


def test_rows_that_the_reader_loses_are_an_error(tmp_path, monkeypatch):
    path = write(tmp_path, "csv", ids(3))
    rows = tables._csv_rows
    monkeypatch.setattr(tables, "_csv_rows", lambda *args: f"FROM ({rows(*args)} LIMIT 2)")
    result = audit(path)
    assert result.exit_code == 2
    assert "DuckDB has read 2 rows of 3" in result.stderr


@pytest.mark.parametrize("together", [1, 64])
@pytest.mark.parametrize("scheme", ["icicle", "tsid", WIDE])
def test_duplicates_are_found_in_parts(tmp_path, monkeypatch, scheme, together):
    """More keys than fit the memory are counted in parts, and shown in the order of the rows."""
    monkeypatch.setattr(auditor, "_KEY_BYTES", 1 << 25)
    made = frazil.scheme(scheme)
    tick = made.layout.tick_at(1_760_000_000_000_000)
    ticks = ((tick + i // together, i % together) for i in range(320))
    numbers = [made.pack(time=time, node=1, sequence=i) for time, i in ticks][::-1]
    texts = [frazil.scheme(scheme).format(n) for n in numbers]
    texts += texts[:9]
    report = found(write(tmp_path, "csv", texts), "--scheme", scheme, "--show", "5")
    shown = [(one["id"], one["again"]["line"]) for one in report["duplicates"]["first"]]
    assert shown == [(text, 322 + i) for i, text in enumerate(texts[:5])]
    assert report["duplicates"]["count"] == 9


def test_several_files_are_one_audit(tmp_path):
    made = ids(4)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first = write(tmp_path / "a", "csv", made[2:])
    second = write(tmp_path / "b", "jsonl", [*map(str, made[:2]), str(made[3])])
    told = found(first, second)
    (one,) = told["duplicates"]["first"]
    assert one["first"] == {"file": str(first), "line": 3}
    assert one["again"] == {"file": str(second), "line": 3}
    assert told["rows"] == 5
    assert told["order"]["late"] == 0  # each file is in order
    result = audit(first, second)
    assert result.exit_code == 1
    words = " ".join(result.stdout.split())
    assert "line 3, and" in words


def test_report_of_a_clean_file(tmp_path):
    result = audit(write(tmp_path, "csv", ids(16)))
    assert result.exit_code == 0
    pairs = [line.split(maxsplit=1) for line in result.stdout.splitlines() if line[0] != " "]
    lines = dict(pair for pair in pairs if len(pair) == 2)
    assert lines["IDs"] == "16 valid of scheme icicle, in 16 rows"
    assert lines["duplicates"] == "none"
    assert lines["order"] == "sorted by time"
    assert lines["time"] == "2025-10-09T08:53:20Z to 2025-10-09T08:53:20.001Z (1ms)"
    assert lines["nodes"] == "0 (8 IDs), 1 (8 IDs)"


def test_late_ids_are_counted_and_the_worst_is_shown(tmp_path):
    tick = ICICLE.layout.tick_at(1_760_000_000_000_000)
    ticks = [0, 5, 5, 4, 9, 2, 8, 9, 10]
    made = [ICICLE.pack(time=tick + t, node=0, sequence=i) for i, t in enumerate(ticks)]
    path = write(tmp_path, "text", made)
    told = found(path)
    assert told["clean"]  # an ID may be late
    assert told["order"] == {
        "late": 3,
        "worst_us": 7000,
        "worst_at": {"file": str(path), "line": 6},
    }
    assert "3 IDs late, by up to 7ms (line 6)" in audit(path).stdout


def test_late_ids_are_found_across_chunks(tmp_path):
    made = ids(40_000)
    made[16_384] = made[3] + 2048  # the first row of the second chunk, of the first tick
    told = found(write(tmp_path, "text", made))
    assert told["order"]["late"] == 1
    assert told["order"]["worst_us"] == 16_383 // 8 * 1000


@pytest.mark.parametrize(
    "text", ["", "007", "-1", "12a", " 5", "1e3", "९", str(1 << 64), "9" * 500]
)
def test_invalid_text_is_shown(tmp_path, text):
    path = tmp_path / "in.csv"
    n = ids(1)[0]
    path.write_text(f"id,x\n{n},1\n{text},2\n")
    told = found(path)
    assert told["invalid"]["count"] == 1
    (bad,) = told["invalid"]["first"]
    assert bad["line"] == 3
    assert bad["text"][:20] == text[:20]
    assert bad["reason"]
    assert told["rows"] == 2
    assert audit(path).exit_code == 1


@pytest.mark.parametrize("value", ["null", "1.5", "true", "[1]", "-1", str(1 << 64)])
def test_invalid_json_value_is_shown(tmp_path, value):
    path = tmp_path / "in.jsonl"
    path.write_text(f'{{"id": "5"}}\n{{"other": 1}}\n{{"id": {value}}}\n')
    told = found(path)
    assert [bad["line"] for bad in told["invalid"]["first"]] == [2, 3]


def test_foreign_constants_are_found(tmp_path):
    scheme = frazil.scheme("uniqueid-spread", fields={"cluster": 3})
    tick = scheme.layout.tick_at(1_760_000_000_000_000)
    texts = [scheme.format(scheme.pack(time=tick + i, node=5, sequence=0)) for i in range(4)]
    path = write(tmp_path, "text", texts)
    assert found(path, "--scheme", "uniqueid-spread", "--field", "cluster=3")["clean"]
    told = found(path, "--scheme", "uniqueid-spread")
    assert told["foreign"] == {
        "count": 4,
        "fields": {"cluster": 4},
        "first": {"file": str(path), "line": 1},
    }
    assert told["nodes"] == {"5": 4}
    assert told["order"]["late"] == 0  # the time is reversed, and read as it is meant
    result = audit(path, "--scheme", "uniqueid-spread")
    assert result.exit_code == 1
    assert "4 IDs with another cluster (4)" in result.stdout


@pytest.mark.parametrize(
    "name", [name for name in frazil.schemes.scheme.names() if name != "chibrary-time"]
)
def test_fields_equal_those_of_unpack(tmp_path, name):
    scheme = frazil.scheme(name, prefix="x_")
    layout = scheme.layout
    end = 1 << scheme.bits
    numbers = [12345, end // 3, 67890 % end, end // 5, end - 1]
    path = write(tmp_path, "text", [scheme.format(n) for n in numbers])
    told = found(path, "--scheme", name, "--prefix", "x_")
    values = [scheme.unpack(n) for n in numbers]
    assert told["foreign"]["count"] == sum(bool(value.foreign) for value in values)
    if layout.bits_of("node"):
        assert told["nodes"].keys() == {str(value["node"]) for value in values}
    moments = [value.moment_us for value in values if value.moment_us is not None]
    if moments:
        late = [max(moments[: i + 1]) - moment for i, moment in enumerate(moments)]
        assert told["order"]["worst_us"] == max(late)
        assert told["order"]["late"] == sum(by > 0 for by in late)
    else:
        assert told["order"] is None


def test_opaque_values_are_compared_as_texts(tmp_path):
    path = tmp_path / "in.jsonl"
    texts = ["6e7e8f1c", "6E7E8F1C", 17, "a\nb", "17", "a\nb", None, 1.5]
    path.write_text("".join(json.dumps({"uuid": text}) + "\n" for text in texts))
    told = found(path, "--column", "uuid", "--no-decode")
    assert [(one["id"], one["again"]["line"]) for one in told["duplicates"]["first"]] == [
        ("17", 5),
        ("a\nb", 6),
    ]
    assert [bad["line"] for bad in told["invalid"]["first"]] == [7, 8]
    assert told["scheme"] is None
    assert "nodes" not in told


def test_only_the_first_are_shown(tmp_path):
    made = ids(50)
    path = write(tmp_path, "text", ["x", "y", *made, *made, "z"])
    told = found(path, "--show", "2")
    assert told["duplicates"]["count"] == 50
    assert [one["again"]["line"] for one in told["duplicates"]["first"]] == [53, 54]
    assert (told["invalid"]["count"], len(told["invalid"]["first"])) == (3, 2)
    words = audit(path, "--show", "2").stdout
    assert "50 rows, the first 2:" in words
    assert found(path, "--show", "0")["duplicates"] == {"count": 50, "first": []}


def test_standard_input_is_plain_text(tmp_path):
    a, b = ids(2)
    told = found("-", data=f"{a}\r\n{b}\r\n\r\n{a}".encode())
    assert told["duplicates"]["first"][0]["again"] == {"file": "standard input", "line": 4}


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_two_columns_of_one_name_are_an_error(tmp_path, name, refused):
    path = tmp_path / name
    if name == "a.csv":
        path.write_text("id,id\n7,7\n")
    else:
        import pyarrow as pa
        from pyarrow import parquet

        parquet.write_table(pa.table([[7], [7]], names=["id", "id"]), path)
    assert "has two columns 'id'; rename" in refused(2, "audit", str(path))


def test_unknown_column_is_an_error(tmp_path):
    path = write(tmp_path, "csv", ids(1))
    result = audit(path, "--column", "key")
    assert result.exit_code == 2
    assert "choose one of n, id with --column" in result.stderr
    assert found(path, "--no-header", "--column", "2")["invalid"]["first"][0]["text"] == "id"
    assert found(path, "--no-header")["rows"] == 2


def test_wrong_scheme_has_a_next_step(tmp_path):
    path = write(tmp_path, "text", ["0JYQ3XG6J0000", "0JYQ3XG6J0001"])
    assert "--scheme" in audit(path).stdout
    assert found(path, "--scheme", "tsid")["clean"]


@pytest.mark.parametrize("size", ["12", "1KiB", "511MiB", "1 TB", "-5MiB"])
def test_memory_must_be_a_size(tmp_path, size):
    result = audit(write(tmp_path, "text", ids(1)), "--memory", size)
    assert result.exit_code == 2
    assert "4GiB" in result.stderr


def test_empty_file_is_clean(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text("")
    assert found(path)["rows"] == 0
    assert audit(path).exit_code == 0


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_output_of_stamp_is_clean(tmp_path, kind):
    if kind == "parquet":
        needs("pyarrow", "stamping to Parquet")
    source, out = tmp_path / "in.csv", tmp_path / f"out.{kind}"
    source.write_text("n\n" + "".join(f"{i}\n" for i in range(40_000)))
    args = ["stamp", str(source), "-o", str(out), "--url", "memory:"]
    assert CliRunner().invoke(main, args).exit_code == 0
    told = found(out)
    assert told["clean"]
    assert told["rows"] == 40_000


def columns_of(folder: Path, values: dict[str, Any]) -> Path:
    import pyarrow as pa
    from pyarrow.parquet import write_table

    path = folder / "ids.parquet"
    write_table(pa.table(values), path)
    return path


@pytest.mark.parametrize("scheme", ["uuid7", None])
def test_uuids_of_bytes(tmp_path, scheme):
    import pyarrow as pa

    made = frazil.scheme("uuid7")
    ids = [made.pack(time=1_760_000_000_000 + i, node=i % 2, sequence=7) for i in range(9000)]
    ids[8000] = ids[3]
    data = [None, *(n.to_bytes(16, "big") for n in ids)]
    plain = pa.array(data, pa.binary(16))
    logical = pa.ExtensionArray.from_storage(pa.uuid(), plain)
    path = columns_of(tmp_path, {"id": logical, "plain": plain})
    for column in ("id", "plain"):
        options = ("--scheme", scheme) if scheme else ("--no-decode",)
        told = found(path, "--column", column, *options)
        assert told["rows"] == 9001
        assert [bad["row"] for bad in told["invalid"]["first"]] == [1]
        (one,) = told["duplicates"]["first"]
        assert one["id"] == made.format(ids[3])
        assert (one["first"]["row"], one["again"]["row"]) == (5, 8002)


def test_decimals_without_a_fraction(tmp_path):
    import pyarrow as pa

    wide = [n << 70 for n in range(1, 5)]
    made = ids(4)
    path = columns_of(
        tmp_path,
        {
            "id": pa.array([*made[:3], made[0]], pa.decimal128(20, 0)),
            "wide": pa.array(wide, pa.decimal128(38, 0)),
            "odd": pa.array([-5, None, 7, 7], pa.decimal128(38, 0)),
        },
    )
    (one,) = found(path)["duplicates"]["first"]
    assert (one["first"]["row"], one["again"]["row"]) == (1, 4)
    assert found(path, "--column", "wide", "--scheme", "globalid-128")["invalid"]["count"] == 0
    odd = found(path, "--column", "odd")
    assert (odd["invalid"]["count"], odd["duplicates"]["count"]) == (2, 1)


def test_duplicate_is_found_across_a_file_without_ids(tmp_path):
    """No ID is larger than those of the file before the last, which has none."""
    paths = []
    for name, rows in (("a", ids(9)[8:]), ("b", ["x", "y"]), ("c", ids(9)[8:])):
        (tmp_path / name).mkdir()
        paths.append(write(tmp_path / name, "text", rows))
    told = found(*paths)
    assert told["duplicates"]["count"] == 1
