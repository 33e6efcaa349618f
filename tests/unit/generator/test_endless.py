"""Code that takes a generator for a collection gets an error at once."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import frazil
from frazil.errors import ConfigError

TRAPS = {
    "set": set,
    "list": list,
    "for": lambda ids: [n for n in ids],  # noqa: C416
    "pandas.Series": pd.Series,
    "pandas.Series of a length": lambda ids: pd.Series(ids, index=range(3)),
    "pandas.DataFrame": lambda ids: pd.DataFrame({"a": [1, 2], "id": ids}),
    "pandas column": lambda ids: pd.DataFrame({"a": [1, 2]}).__setitem__("id", ids),
    "polars.Series": pl.Series,
    "polars.DataFrame": lambda ids: pl.DataFrame({"id": ids}),
    "polars.lit": pl.lit,
    "pyarrow.array": pa.array,
    "pyarrow.table": lambda ids: pa.table({"id": ids}),
    "numpy.array": np.array,
    "numpy.asarray": lambda ids: np.asarray(ids, np.uint64),
    "numpy.fromiter": lambda ids: np.fromiter(ids, np.uint64, count=3),
}


@pytest.mark.parametrize("trap", TRAPS.values(), ids=list(TRAPS))
def test_a_generator_is_not_a_column(trap):
    with frazil.open("memory:endless") as ids, pytest.raises(TypeError):
        trap(ids)


def test_signed_arrays():
    with frazil.open("memory:endless") as ids:
        first, array = ids(), ids.array(10_000, dtype="int64")
        assert array.dtype == np.int64
        assert first < array[0]
        assert (np.diff(array) > 0).all()
        assert ids.array(3, np.dtype("uint64")).dtype == np.uint64
        for wrong in ("float64", float, "int32"):
            with pytest.raises(ConfigError, match="does not hold IDs"):
                ids.array(3, wrong)
        with (
            frazil.open("memory:endless", "tsid", namespace="t") as wide,
            pytest.raises(ConfigError),
        ):
            wide.array(3, "int64")
