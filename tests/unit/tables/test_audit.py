"""An audit of parts equals the audit of the whole."""

import pyarrow as pa
import pytest

import frazil
from frazil.errors import ConfigError
from frazil.schemes.scheme import scheme
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
