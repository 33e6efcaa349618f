"""One attempt of a task: each has IDs of its own, whatever became of the one before."""

import pickle
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from frazil.errors import ClaimLost
from frazil.tables.attempt import Attempt, make_attempt


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
