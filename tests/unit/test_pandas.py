"""pandas: an ID for each row, in a column of signed integers."""

import numpy as np
import pandas as pd
import pytest

import frazil
from frazil.errors import ConfigError
from frazil.pandas import stamp

__all__: list[str] = []


def test_stamp() -> None:
    frame = pd.DataFrame({"a": range(5000)}, index=range(7, 5007))
    with frazil.open("memory:", lead="1s") as ids:
        stamped = stamp(frame, "id", ids)
        assert list(frame.columns) == ["a"]
        assert list(stamped.columns) == ["a", "id"]
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
