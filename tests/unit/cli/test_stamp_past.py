"""``frazil stamp --time-column``: each row of any format gets an ID of its own moment."""

from datetime import UTC, datetime

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet

import frazil
from frazil.registries import connect

MOMENTS = ["2020-05-01T12:00:00Z", "2019-01-01 00:00:00", "2020-05-01 17:30:00.5+05:30"]
TABLE = {"made": MOMENTS, "note": ["a", 'b "c"', "d"]}
US = [1588334400_000_000, 1546300800_000_000, 1588334400_500_000]
TIMES = [datetime.fromtimestamp(us / 1e6, UTC).replace(tzinfo=None) for us in US]


@pytest.fixture
def url(tmp_path):
    url = f"sqlite://{tmp_path}/claims.db"
    frazil.init(url, new=True)
    frazil.declare_past(url, start="2017-01-01")
    return url


def write(path):
    """The table; of the type of moments where the format has one."""
    made = pa.array(US, pa.timestamp("us", "Asia/Tokyo")) if path.suffix == ".parquet" else MOMENTS
    rows = pa.table(TABLE | {"made": made})
    if path.suffix == ".parquet":
        parquet.write_table(rows, path)
    else:
        form = {".csv": "csv, header", ".jsonl": "json"}[path.suffix]
        duckdb.connect().execute(f"copy (from rows) to '{path}' (format {form})")


def ids_in(path):
    return [int(n) for (n,) in duckdb.connect().execute(f"select id from '{path}'").fetchall()]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("to", ["csv", "jsonl", "parquet"])
def test_each_format(call, url, tmp_path, kind, to):
    source, out = tmp_path / f"in.{kind}", tmp_path / f"out.{to}"
    write(source)
    result = call("stamp", str(source), "--time-column", "made", "-o", str(out), "--url", url)
    assert result.exit_code == 0, result.stderr
    ids = ids_in(out)
    assert len(set(ids)) == 3
    assert frazil.scheme().unpack_many(ids)["time"].tolist() == TIMES


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("to", ["csv", "parquet"])
def test_a_column_that_is_not_there(call, url, tmp_path, kind, to):
    source = tmp_path / f"in.{kind}"
    write(source)
    out = str(tmp_path / f"out.{to}")
    result = call("stamp", str(source), "--time-column", "when", "-o", out, "--url", url)
    assert "the table has no column 'when'; it has made, note" in " ".join(result.stderr.split())
    found = connect(url, "default", frazil.scheme()).look()
    assert found.holdings == ()  # no past is used up


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (
            ["2020-01-01"] * 100_000 + ["yesterday"],
            "row 100,001, column 'made': 'yesterday' is not a moment; write it in ISO 8601",
        ),
        (
            ["2020-01-01", "2112-09-17"],
            "row 2, column 'made': 2112-09-17T00:00:00Z is outside of this history",
        ),
    ],
)
def test_what_has_no_moment(call, url, tmp_path, column, words):
    parquet.write_table(pa.table({"made": column}), tmp_path / "in.parquet")
    result = call("stamp", str(tmp_path / "in.parquet"), "--time-column", "made", "--url", url)
    assert words in " ".join(result.stderr.split())


def test_two_columns_of_one_name(call, url, tmp_path):
    (tmp_path / "in.csv").write_text("made,made\n2020-01-01,2019-01-01\n")
    result = call("stamp", str(tmp_path / "in.csv"), "--time-column", "made", "--url", url)
    assert "the table has 2 columns 'made'" in " ".join(result.stderr.split())


def test_a_past_that_is_unknown(call, tmp_path):
    write(tmp_path / "in.csv")
    url = f"sqlite://{tmp_path}/claims.db"
    frazil.init(url, new=True)
    result = call("stamp", str(tmp_path / "in.csv"), "--time-column", "made", "--url", url)
    assert "--declare-past-from" in result.stderr
