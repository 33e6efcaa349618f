"""Tasks of an engine: their attempts, the files of these, and the stores that they may share."""

import pickle
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import frazil
from frazil.errors import ClaimLost, ConfigError
from frazil.generator.request import make_request
from frazil.tables.attempt import Attempt, make_attempt
from frazil.tables.new_column import check_kept
from frazil.tables.parts import make_parts
from frazil.tables.reach import check_reach, is_loopback


def attempt_of(path: Path, scheme: str = "icicle", *, text: bool = False) -> Attempt:
    made = make_attempt("id", path / "a.db", scheme, "x", one_host=True, text=text, unsigned=True)
    again: Attempt = pickle.loads(pickle.dumps(made))
    return again


def test_the_same_partition_twice_has_other_ids(tmp_path: Path) -> None:
    attempt = attempt_of(tmp_path)
    batch = pa.record_batch({"a": list(range(3000))})
    abandoned = attempt.arrow_batches(iter([batch] * 4))
    seen = next(abandoned)["id"].to_pylist()  # a worker that dies here keeps its claim
    whole = [n for b in attempt.arrow_batches(iter([batch, batch])) for n in b["id"].to_pylist()]
    table = attempt.arrow_table(pa.table({"a": range(3000)}))
    frame = attempt.frame(pd.DataFrame({"a": range(3000)}))
    seen += [*whole, *table["id"].to_pylist(), *frame["id"].tolist()]
    assert len(set(seen)) == len(seen) == 5 * 3000
    assert table.column_names == list(frame.columns) == ["id", "a"]
    assert str(frame["id"].dtype) == "int64"
    abandoned.close()


def test_a_sealed_attempt_makes_nothing(tmp_path: Path) -> None:
    made = make_attempt(
        "id", tmp_path / "a.db", "icicle", "x", one_host=True, text=False, unsigned=True,
        is_complete=lambda: True,
    )  # fmt: skip
    for work in (
        lambda: next(made.arrow_batches(iter([]))),
        lambda: made.arrow_table(pa.table({"a": [1]})),
        lambda: made.frame(pd.DataFrame({"a": [1]})),
    ):
        with pytest.raises(ClaimLost):
            work()


def test_rows_are_kept_in_one_way() -> None:
    check_kept(None, once=True)
    check_kept("table", once=False)
    with pytest.raises(ConfigError, match="pass one of them"):
        check_kept("table", once=True)


LOCAL = [
    "sqlite:",
    "sqlite:///tmp/a.db",
    "unix:///tmp/redis.sock",
    "redis://localhost",
    "redis://a.example,127.0.0.1:6379",
    "redis://:secret@[::1]:6379",
    "postgresql:///db",
    "etcd://127.0.0.2",
    "icicle://0.0.0.0:1",
    "http://LOCALHOST:8080/a",
]


@pytest.mark.parametrize("url", LOCAL)
def test_a_store_of_each_host_is_refused(url: str) -> None:
    request = make_request(url)
    check_reach(request, "Spark", one_host=True)
    with pytest.raises(ConfigError, match="another store on each host of Spark") as error:
        check_reach(request, "Spark", one_host=False)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("url", ["memory:", "static:7", "static:hostname"])
def test_never(url: str) -> None:
    for one_host in (True, False):
        with pytest.raises(ConfigError, match="cannot be shared"):
            check_reach(make_request(url), "Ray", one_host=one_host)


def test_addresses() -> None:
    here = ("127.0.0.1", "localhost:8786", "tcp://127.0.0.1:8786", "[::1]:5", "", "0.0.0.0")
    assert all(map(is_loopback, here))
    for away in ("10.0.0.1", "tcp://10.0.0.1:8786", "[fe80::1]:5", "ids.example:1", "localhosts"):
        assert not is_loopback(away)


def test_an_attempt_is_checked_when_it_is_made() -> None:
    def made(url: str, scheme: str, *, text: bool = False) -> str:
        return make_attempt(
            "id", url, scheme, "Spark", one_host=False, text=text, unsigned=False
        ).kind

    assert made("redis://a", "icicle") == "int64"
    assert made("redis://a", "globalid-128", text=True) == "text"
    with pytest.raises(ConfigError, match="text=True"):
        made("redis://a", "tsid")
    with pytest.raises(ConfigError, match="cannot be shared"):
        made("sqlite:", "icicle")


def test_a_late_attempt_changes_nothing(tmp_path: Path) -> None:
    parts = make_parts(tmp_path / "table")
    table = pa.table({"id": [1, 2]})

    def run() -> list[str]:
        parts.write(pa.table({"id": [8, 9]}))  # of an attempt that was declared dead
        return [parts.write(table)]

    parts.keep(run)
    assert parquet.read_table(parts.path).equals(table)
    with pytest.raises(FileNotFoundError):
        parts.write(pa.table({"id": [3]}))
    assert parquet.read_table(parts.path).equals(table)
    assert len(list(Path(parts.path).iterdir())) == 1


def test_what_is_there_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "some").write_text("rows")
    for path in (tmp_path, tmp_path / "some"):
        with pytest.raises(ConfigError, match="exists already"):
            make_parts(path)


def test_rows_of_the_past(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path}/a.db"
    frazil.init(url, new=True)
    frazil.declare_past(url, start="2017-01-01")
    made = make_attempt(
        "id", url, "icicle", "x", one_host=True, text=False, unsigned=True, time_column="when"
    )
    moments = pa.array([1588334400_000_000, 1546300800_000_000], pa.timestamp("us", "UTC"))
    batch = pa.record_batch({"when": moments})
    attempts = [list(made.arrow_batches(iter([batch, batch]))) for _ in range(2)]
    ids = [n for batches in attempts for each in batches for n in each["id"].to_pylist()]
    assert len(set(ids)) == 8
    assert frazil.scheme().unpack_many(ids)["time"].tolist()[:2] == [
        moment.replace(tzinfo=None) for moment in moments.to_pylist()
    ]
    with pytest.raises(ConfigError, match="has no claims of the past"):
        make_attempt(
            "id", "icicle://a", "icicle", "x", one_host=True, text=False, unsigned=True,
            time_column="when",
        )  # fmt: skip
