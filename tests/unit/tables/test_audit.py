"""An audit of parts equals the audit of the whole.

A number that is not an ID of the scheme is null, in each library.
"""

from datetime import UTC, datetime
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import frazil
import frazil.polars
from frazil.duckdb import register
from frazil.errors import ConfigError
from frazil.pandas import unpack
from frazil.schemes.scheme import Scheme, scheme
from frazil.tables.audit import Audit, check_audited, counted, joined


def test_what_is_counted() -> None:
    of = scheme("icicle")
    good = [of.pack(time=t, node=n, sequence=0) for t, n in ((5, 1), (9, 1), (7, 2))]
    found = counted(pa.array([*good, good[0], -1, -1, 2**63 - 1]), 3, of)
    last = of.unpack(2**63 - 1)
    assert found == Audit(
        rows=10,
        missing=3,
        invalid=2,
        distinct=5,
        repeated=2,
        examples=(-1, good[0]),
        nodes={1: 3, 2: 1, 1023: 1},
        first_us=of.unpack(good[0]).moment_us,
        last_us=last.moment_us,
    )
    assert not found.good


@pytest.mark.parametrize("name", ["icicle", "tsid", "uniqueid-spread"])
def test_parts_add_up(name: str) -> None:
    with frazil.open("memory:", name, namespace=name, lead="1s") as ids:
        array = ids.array(1000)
    whole = counted(array, 0, ids.scheme)
    parts = joined(counted(array[i::3], 0, ids.scheme) for i in range(3))
    assert parts == whole == Audit.from_json(whole.to_json())
    assert whole.good
    assert (whole.rows, whole.distinct) == (1000, 1000)
    assert whole.first == ids.scheme.unpack(int(array[0])).moment
    assert whole.first <= whole.last


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("string", "has the type string, and an engine audits integers; write the table as"),
        ("object", "run 'frazil audit FOLDER --column id', which reads text as well"),
        ("decimal(20,0)", "has the type decimal"),
        ("float64", "float64, which damages IDs; read the table again with an integer type"),
        ("double", "double, which damages IDs"),
    ],
)
def test_other_columns_are_refused_with_what_to_do(kind: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_audited("id", {"id": kind})
    assert said in str(caught.value)


def test_a_column_that_is_not_there() -> None:
    with pytest.raises(ConfigError, match="no column 'id'; it has k, v"):
        check_audited("id", {"k": "int64", "v": "int64"})


SCHEMES = [
    "icicle",
    "tsid",
    "sonyflake",
    "uniqueid-sequential",
    "uniqueid-spread",
    "js53",
    "globalid",
]


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
