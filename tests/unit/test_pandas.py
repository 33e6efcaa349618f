"""pandas: an ID for each row, in a column of signed integers."""

import numpy as np
import pandas as pd
import pytest

import frazil
from frazil.errors import ConfigError, LayoutError, Misuse
from frazil.pandas import stamp, unpack


def test_stamp() -> None:
    frame = pd.DataFrame({"a": range(5000)}, index=range(7, 5007))
    with frazil.open("memory:", lead="1s") as ids:
        stamped = stamp(frame, "id", ids)
        assert list(frame.columns) == ["a"]
        assert list(stamped.columns) == ["id", "a"]
        assert stamped["id"].dtype == np.int64
        assert stamped["id"].is_unique
        assert (stamped.index == frame.index).all()
        texts = stamp(frame, "id", ids, text=True)["id"]
        assert ids.scheme.parse_many(texts)[0] > stamped["id"].max()
        for wrong in (lambda: stamp(frame, "a", ids), lambda: stamp(frame, "id", ids())):
            with pytest.raises(ConfigError):
                wrong()
    with frazil.open("memory:", "tsid", namespace="t", lead="1s") as wide:
        assert stamp(frame, "id", wide)["id"].dtype == np.uint64


@pytest.mark.parametrize("kind", ["Int64", "int64[pyarrow]"])
def test_what_is_no_id_is_missing(kind: str) -> None:
    n = frazil.scheme().pack(time=330_000_000_000, node=5, sequence=0)
    found = unpack(pd.Series([n, None, -1, n | 1 << 62, 0], dtype=kind))
    assert found["node"].tolist()[::4] == [5, 0]
    assert found["time"].isna().tolist() == [False, True, True, False, False]
    assert found["node"].isna().tolist() == [False, True, True, False, False]
    foreign = unpack(pd.Series([1 << 60, 1 << 10]), "uniqueid-sequential")
    assert foreign.isna().all(axis=None)
    with pytest.raises(Misuse, match="53 bits"):
        unpack(pd.Series([1.5]))
    with pytest.raises(LayoutError, match="128 bits"):
        unpack(pd.Series([1]), "globalid-128")


def test_rows_of_the_past() -> None:
    frame = pd.DataFrame({"made": pd.to_datetime(["2020-05-01", "2019-01-01"], utc=True)})
    frazil.declare_past("memory:", namespace="pandas", start="2017-01-01")
    with frazil.history("memory:", namespace="pandas") as past:
        stamped = stamp(frame, "id", past, time_column="made")
        assert stamped["id"].dtype == np.int64
        assert (unpack(stamped["id"])["time"] == frame["made"]).all()
        assert list(stamp(frame, "id", past, text=True, time_column="made")["id"].str.len())
        with pytest.raises(ConfigError, match="no column 'other'; it has made"):
            stamp(frame, "id", past, time_column="other")
        with pytest.raises(ConfigError, match="name the column of the rows' moments"):
            stamp(frame, "id", past)
    with (
        frazil.open("memory:") as ids,
        pytest.raises(ConfigError, match=r"must be a history of frazil\.history"),
    ):
        stamp(frame, "id", ids, time_column="made")
