"""DuckDB: one ID for each row, and macros that read what IDs hold."""

from collections.abc import Iterator
from datetime import UTC

import duckdb
import pytest

import frazil
from frazil.duckdb import register
from frazil.errors import ConfigError


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 2}) as connection:
        connection.execute("SET TimeZone = 'America/New_York'")  # times are moments all the same
        yield connection


@pytest.mark.parametrize("name", ["icicle", "sonyflake", "tsid", "uniqueid-spread", "globalid"])
def test_one_id_for_each_row(con: duckdb.DuckDBPyConnection, name: str) -> None:
    with frazil.open("memory:", name, namespace=name, lead="1s") as ids:
        register(con, ids)
        register(con, ids)
        con.execute("create table t as select frazil_id() as id from range(5000)")
    assert con.execute("select count(distinct id) from t").fetchall() == [(5000,)]
    n, moment = con.execute("select id, frazil_time(id) from t limit 1").fetchall()[0]
    assert moment.astimezone(UTC) == ids.scheme.unpack(n).moment
    kinds = con.execute("select distinct typeof(id) from t").fetchall()
    assert kinds[0][0] == ("BIGINT" if ids.scheme.signed_safe else "UBIGINT")


def test_as_a_default_and_in_another_name(con: duckdb.DuckDBPyConnection) -> None:
    with frazil.open("memory:", "globalid-128", namespace="w") as wide, frazil.open("memory:") as i:
        register(con, wide, name="wide", text=True)
        register(con, i, text=True)
        found = con.execute("select wide_id(), frazil_id() from range(3)").fetchall()
        assert len({w for w, _ in found} | {n for _, n in found}) == 6
        assert all(wide.scheme.parse(w) and i.scheme.parse(n) for w, n in found)
        with pytest.raises(ConfigError, match="text=True"):
            register(con, wide)
        with pytest.raises(ConfigError, match="is invalid; use letters"):
            register(con, i, name="x; drop table t")
        with pytest.raises(ConfigError, match="generator"):
            register(con, i())  # type: ignore[arg-type]


def test_rows_of_the_past():
    frazil.declare_past("memory:", namespace="duckdb", start="2017-01-01")
    with duckdb.connect() as con, frazil.history("memory:", namespace="duckdb") as past:
        register(con, past)
        con.execute("set timezone = 'UTC'")
        made = "timestamp '2020-05-01' + interval (i) second as made from range(5000) t(i)"
        con.execute(f"create table t as select frazil_at(made) as id, made from (select {made})")
        wrong = "count(*) filter (frazil_time(id) <> made::timestamptz)"
        assert con.sql(f"select count(distinct id), {wrong} from t").fetchall() == [(5000, 0)]
        assert con.sql("select frazil_time(frazil_at(max(made)::timestamptz)) = max(made) from t")
