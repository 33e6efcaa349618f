"""``frazil stamp``: every format, keyed text, its errors and its messages."""

import csv
import gzip
import io
import json
import re
import sys
from pathlib import Path
from uuid import uuid4

import pytest
from click.testing import CliRunner, Result

import frazil
from frazil.cli import main
from frazil.cli.show.progress import progress
from frazil.generator.local import open_request
from tests.needs import needs

needs("duckdb", "stamping tables")

CSV = 'name,note\nAda,"two\nlines"\nBob,"a ""b"""\n'


def stamp(*args: object, data: bytes | None = None) -> Result:
    url = () if "--url" in args else ("--url", "memory:", "--namespace", uuid4().hex)
    return CliRunner().invoke(main, ["stamp", *map(str, args), *url], input=data)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "in.csv"
    path.write_text(CSV)
    return path


def test_csv_to_standard_output(table):
    result = stamp(table)
    assert result.exit_code == 0
    rows = list(csv.reader(io.StringIO(result.stdout, newline="")))
    assert rows[0] == ["id", "name", "note"]
    ids = [int(row[0]) for row in rows[1:]]
    assert ids == sorted(set(ids))
    assert [row[1:] for row in rows[1:]] == [["Ada", "two\nlines"], ["Bob", 'a "b"']]
    told = rf"2 rows in [0-9.]+ s, {ids[0]} to {ids[1]}, to standard output\n"
    assert re.fullmatch(told, result.stderr)


def test_json_lines_have_ids_as_strings(table, tmp_path):
    out = tmp_path / "out.jsonl"
    result = stamp(table, "-o", out, "--column", "key")
    assert (result.exit_code, result.stdout) == (0, "")
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [list(row) for row in rows] == [["key", "name", "note"]] * 2
    assert all(type(row["key"]) is str for row in rows)
    assert rows[0]["note"] == "two\nlines"


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ((), "int64"),
        (("--prefix", "row_"), "string"),
        (("--scheme", "tsid"), "string"),
        (("--scheme", "globalid"), "string"),  # numbers of 64 bits
        (("--scheme", "js53"), "int64"),
    ],
)
def test_parquet_column_is_a_number_if_that_is_safe(table, tmp_path, options, kind):
    needs("pyarrow", "stamping to Parquet")
    from pyarrow.parquet import read_table

    out = tmp_path / "out.parquet"
    assert stamp(table, "-o", out, *options).exit_code == 0
    column = read_table(out).column("id")
    assert str(column.type) == kind
    assert len(set(column.to_pylist())) == 2


def test_parquet_from_a_pipe_to_a_pipe(table, tmp_path):
    needs("pyarrow", "stamping to Parquet")
    import pyarrow as pa
    from pyarrow.parquet import read_table

    result = stamp("-", "--format", "csv", "--to", "parquet", data=CSV.encode())
    assert result.exit_code == 0
    made = read_table(pa.BufferReader(result.stdout_bytes))
    assert made.column("name").to_pylist() == ["Ada", "Bob"]
    again = stamp("-", "--format", "parquet", "--column", "key", data=result.stdout_bytes)
    assert again.exit_code == 0
    assert read_table(pa.BufferReader(again.stdout_bytes)).drop_columns("key") == made


@pytest.mark.parametrize("scheme", ["tsid", "globalid-128", "uniqueid-spread", "discord"])
@pytest.mark.parametrize(
    "look",
    [
        {},
        {"encoding": "decimal", "group": 4, "check": True},
        {"encoding": "base32", "group": 4, "check": True},
        {"encoding": "base62", "key": "env:ROW_KEY"},
    ],
    ids=lambda look: look.get("encoding", "own"),
)
def test_ids_have_the_text_of_the_scheme(table, monkeypatch, scheme, look):
    monkeypatch.setenv("ROW_KEY", "2b7e151628aed2a6abf7158809cf4f3c")
    words = [word for name, value in look.items() for word in (f"--{name}", value)]
    result = stamp(
        table, "--scheme", scheme, "--prefix", "row_", *(w for w in words if w is not True)
    )
    assert result.exit_code == 0, result.stderr
    (_, *rows) = csv.reader(io.StringIO(result.stdout, newline=""))
    made = frazil.scheme(scheme, prefix="row_", **look)
    numbers = [made.parse(row[0]) for row in rows]
    assert numbers == sorted(set(numbers))
    assert [made.format(n) for n in numbers] == [row[0] for row in rows]


def test_gzip_in_and_out(tmp_path):
    (tmp_path / "in.csv.gz").write_bytes(gzip.compress(CSV.encode()))
    out = tmp_path / "out.csv.gz"
    assert stamp(tmp_path / "in.csv.gz", "-o", out, "--last").exit_code == 0
    rows = list(csv.reader(io.StringIO(gzip.decompress(out.read_bytes()).decode(), newline="")))
    assert rows[0] == ["name", "note", "id"]
    assert rows[1][:2] == ["Ada", "two\nlines"]


def test_delimiter_and_no_header(tmp_path):
    (tmp_path / "in.txt").write_text("a:b\nc:d\n")
    options = ("--format", "csv", "--delimiter", ":", "--no-header")
    result = stamp(tmp_path / "in.txt", *options, "--last")
    assert [line.split(":")[:2] for line in result.stdout.splitlines()] == [["a", "b"], ["c", "d"]]
    for wrong in ("7", "_", '"', "::", "x"):
        assert stamp(tmp_path / "in.txt", "--delimiter", wrong).exit_code == 2
    (tmp_path / "tabs.csv").write_text("a\tb, c\n1\t2\n")
    assert stamp(tmp_path / "tabs.csv", "--delimiter", "tab").stdout.startswith("id\ta\tb, c\n")


def test_existing_output_is_kept(table, tmp_path):
    out = tmp_path / "out.csv"
    out.write_text("precious")
    result = stamp(table, "-o", out)
    assert result.exit_code == 2
    assert "--force" in result.stderr
    assert out.read_text() == "precious"
    assert stamp(table, "-o", out, "--force").exit_code == 0
    assert out.read_text().startswith("id,name,note\n")


def test_existing_column_is_an_error(table):
    result = stamp(table, "--column", "note")
    assert result.exit_code == 2
    assert "'note'; name another with --column" in result.stderr


def test_plain_text_is_an_error(tmp_path):
    (tmp_path / "in.txt").write_text("a\n")
    result = stamp(tmp_path / "in.txt")
    assert result.exit_code == 2
    assert "--format csv --no-header" in result.stderr


def test_summary_as_json(table, tmp_path):
    out = tmp_path / "out.csv"
    result = stamp(table, "-o", out, "--json")
    told = json.loads(result.stdout)
    ids = [row[0] for row in csv.reader(io.StringIO(out.read_text(), newline=""))][1:]
    assert told.pop("seconds") >= 0
    assert told == {
        "rows": 2,
        "first": ids[0],
        "last": ids[1],
        "scheme": "icicle",
        "output": str(out),
    }
    result = stamp(table, "--json")
    assert json.loads(result.stderr)["rows"] == 2
    assert result.stdout.startswith("id,name")


def test_lead_is_a_second_or_the_horizon(table, tmp_path, monkeypatch):
    leads_us: list[int] = []

    def spy(request):
        leads_us.append(request.lead_us)
        return open_request(request)

    monkeypatch.setattr("frazil.tables.new_column.open_request", spy)
    short = f"sqlite://{tmp_path}/ids.db?horizon=200ms"
    for options in ((), ("--url", short), ("--lead", "0"), ("--lead", "5ms")):
        assert stamp(table, *options).exit_code == 0
    assert leads_us == [1_000_000, 200_000, 0, 5_000]
    assert stamp(table, "--lead", "1h").exit_code == 2


def test_progress_is_for_terminals(table, monkeypatch):
    assert "stamping" not in stamp(table).stderr
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr("frazil.cli.show.progress._is_terminal", lambda: True)
    shown = stamp(table).stderr
    assert "stamping" in shown
    assert re.search(r"[0-9,]+ rows/s", shown)


def test_progress_that_the_bar_asks_for(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr("frazil.cli.show.progress._is_terminal", lambda: True)
    with progress("reading", seen=lambda: 0.5):
        pass
    assert "50%" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["stamp", "audit"])
def test_without_the_packages_the_extra_is_named(table, command, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    done = CliRunner().invoke(main, [command, str(table)])
    assert done.exit_code == 2
    assert 'run: pip install ".[files]"' in done.stderr
