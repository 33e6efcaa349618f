"""A number that is not an ID of the scheme: every library gives the same answer, null."""

from datetime import UTC, datetime
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pytest

import frazil
import frazil.polars
from frazil.duckdb import register
from frazil.pandas import unpack
from frazil.schemes.scheme import Scheme

SCHEMES = ["icicle", "tsid", "sonyflake", "uniqueid-sequential", "js53"]


def numbers(scheme: Scheme) -> list[int]:
    """IDs, and numbers that are none: negative, too large, or with another constant."""
    made = scheme.pack(time=1 << 30, node=3, sequence=1)
    mask, _ = scheme.constants
    odd = [-1, -(1 << 63), made - (1 << 62) * 2, (1 << 63) - 1, 1 << scheme.bits % 63, made ^ mask]
    return [made, 0, *(n for n in odd if -(1 << 63) <= n < 1 << 63)]


def wanted(scheme: Scheme, n: int) -> tuple[Any, ...]:
    try:
        scheme.read(n)
    except ValueError:
        return None, None, None, None
    values = scheme.unpack(n)
    return values.moment, values["node"], values["sequence"], scheme.format(n)


def by_duckdb(scheme: Scheme, column: list[int]) -> list[Any]:
    with (
        frazil.open("memory:", scheme, namespace=f"d{scheme.name}") as ids,
        duckdb.connect() as con,
    ):
        register(con, ids)
        con.execute("create table t as select unnest($1::bigint[]) as id", [column])
        rows = con.execute(
            "select frazil_time(id), frazil_node(id), frazil_sequence(id), frazil_text(id) from t"
        ).fetchall()
    return [(row[0] and row[0].astimezone(UTC), *row[1:]) for row in rows]


def by_polars(scheme: Scheme, column: list[int]) -> list[Any]:
    key = pl.col("id").frazil  # type: ignore[attr-defined]
    reads = {"t": key.time(scheme), "n": key.node(scheme), "s": key.sequence(scheme)}
    return pl.DataFrame({"id": column}).select(**reads, x=key.text(scheme)).rows()


@pytest.mark.parametrize("name", SCHEMES)
def test_null_everywhere(name: str) -> None:
    scheme = frazil.scheme(name)
    column = numbers(scheme)
    expected = [wanted(scheme, n) for n in column]
    assert expected[0][0] is not None
    assert any(row[0] is None for row in expected)
    assert by_duckdb(scheme, column) == expected
    assert by_polars(scheme, column) == expected
    frame = unpack(pd.Series(column), scheme)
    rows = [tuple(None if pd.isna(v) else v for v in row) for row in frame.itertuples(index=False)]
    assert rows == [row[:3] for row in expected]
    assert all(isinstance(row[0], datetime) for row in rows if row[0] is not None)
