"""An audit of parts equals the audit of the whole."""

import numpy as np
import pyarrow as pa
import pytest

import frazil
from frazil.schemes.scheme import scheme
from frazil.tables.audit import Audit, counted, joined

__all__: list[str] = []


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


def test_without_rows_and_without_time() -> None:
    assert joined([]) == counted(np.array([], np.int64), 0, scheme("icicle")) == Audit()
    counter = counted(np.array([1, 2, 2]), 0, scheme("tickets"))
    assert (counter.first, counter.nodes, counter.examples) == (None, {}, (2,))
