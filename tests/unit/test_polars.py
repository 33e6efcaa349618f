"""Polars: an ID for each row, and expressions that read what IDs hold."""

import polars as pl
import pytest

import frazil
from frazil.errors import ConfigError, LayoutError
from frazil.polars import stamp

FRAME = pl.DataFrame({"a": range(5000)})


@pytest.mark.parametrize("name", ["icicle", "sonyflake", "tsid", "uniqueid-spread", "globalid"])
def test_stamp(name: str) -> None:
    with frazil.open("memory:", name, namespace=name, lead="1s") as ids:
        frame = stamp(FRAME, "id", ids)
        signed = ids.scheme.signed_safe
    assert frame.schema["id"] == (pl.Int64 if signed else pl.UInt64)
    assert frame["a"].to_list() == FRAME["a"].to_list()
    assert frame.columns == ["id", "a"]
    assert frame["id"].n_unique() == len(FRAME)
    text = pl.col("id").frazil.text(name)  # type: ignore[attr-defined]
    assert frame.lazy().select(text.frazil.parse(name)).collect()["id"].equals(frame["id"])


def test_text_needs_the_scheme_that_says_how_ids_are_shown() -> None:
    keyed = frazil.scheme(prefix="order_", key=bytes(range(16)))
    n = keyed.pack(time=330_000_000_000, node=5, sequence=0)
    read = pl.col("id").frazil  # type: ignore[attr-defined]
    for call in (read.text, read.parse):
        with pytest.raises(TypeError, match="'spec'"):
            call()
    text = pl.DataFrame({"id": [n]}).select(read.text(keyed))
    assert text["id"].to_list() == [keyed.format(n)]
    assert text.select(read.parse(keyed))["id"].to_list() == [n]


def test_what_stamp_refuses() -> None:
    with frazil.open("memory:") as ids:
        with pytest.raises(ConfigError, match="collect it first"):
            stamp(FRAME.lazy(), "id", ids)  # type: ignore[arg-type]
        with pytest.raises(ConfigError, match="already"):
            stamp(FRAME, "a", ids)
        with pytest.raises(ConfigError, match="generator"):
            stamp(FRAME, "id", ids())  # type: ignore[arg-type]
        assert stamp(FRAME, "id", ids, text=True).schema["id"] == pl.String
    with frazil.open("memory:", "globalid-128", namespace="w") as wide:
        with pytest.raises(ConfigError, match="text=True"):
            stamp(FRAME, "id", wide)
        assert stamp(FRAME[:10], "id", wide, text=True)["id"].n_unique() == 10


def test_fields_that_are_not_there() -> None:
    read = pl.col("id").frazil  # type: ignore[attr-defined]
    with pytest.raises(LayoutError, match="no time"):
        read.time("tickets")
    with pytest.raises(LayoutError, match="128 bits"):
        read.node("globalid-128")


def test_rows_of_the_past():
    frame = pl.DataFrame({"made": ["2020-05-01", "2019-01-01"]}).select(
        pl.col("made").str.to_datetime()
    )
    frazil.declare_past("memory:", namespace="polars", start="2017-01-01")
    with frazil.history("memory:", namespace="polars") as past:
        stamped = stamp(frame, "id", past, time_column="made")
        times = stamped.select(pl.col("id").frazil.time().dt.replace_time_zone(None))
        assert times["id"].to_list() == frame["made"].to_list()
