"""Columns of IDs: what one ID is, a column is too; what damages IDs is refused, by its element."""

import random

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from frazil.errors import CodecError, ConfigError, LayoutError, Misuse
from frazil.schemes.arrays import WIDE, from_ints
from frazil.schemes.codec import Codec
from frazil.schemes.scheme import Scheme, names, scheme
from frazil.schemes.shuffle import Shuffle


def preset(name: str) -> Scheme:
    return scheme(name, epoch="2020-01-01" if name == "chibrary-time" else None)


def some(of: Scheme, count: int = 50) -> list[int]:
    """IDs with random values, and the extremes; moments within the years of datetime."""
    rng, fields = random.Random(of.name), [f for f in of.layout.fields if f.fixed is None]
    most = {f.name: f.limit if f.role != "time" else min(f.limit, 1 << 47) for f in fields}
    drawn = [{name: rng.randint(0, m) for name, m in most.items()} for _ in range(count)]
    return [of.pack(**values) for values in (*drawn, dict.fromkeys(most, 0), most)]


@pytest.mark.parametrize("name", names())
def test_a_column_is_what_its_ids_are(name: str) -> None:
    of = preset(name)
    ids = some(of)
    column = from_ints(ids, of.bits)
    texts = of.format_many(column)
    assert texts.tolist() == [of.format(n) for n in ids]
    for same in (texts, texts.tolist(), pa.array(texts), pl.Series(texts), pd.Series(texts)):
        assert (of.parse_many(same) == column).all()
    alone = [of.unpack(n) for n in ids]
    for found in (of.unpack_many(column), of.unpack_many(ids)):
        roles = ("time", "run", "node", "sequence")
        assert list(found) == [role for role in roles if of.layout.bits_of(role)]
        for role, values in found.items():
            if role == "time":
                assert values.dtype == "datetime64[us]"
                assert values.astype("int64").tolist() == [v.moment_us for v in alone]
            else:
                assert values.dtype == np.int64
                assert values.tolist() == [v[role] for v in alone]


@pytest.mark.parametrize("name", names())
def test_constants_are_a_mask_and_a_value(name: str) -> None:
    of = preset(name)
    mask, value = of.constants
    assert all(n & mask == value for n in some(of))
    rng = random.Random(name)
    for n in (rng.getrandbits(of.bits) for _ in range(100)):
        assert (n & mask == value) == (not of.unpack(n).foreign)


@pytest.mark.parametrize(
    ("column", "error", "words"),
    [
        (np.array([1.0]), Misuse, "53 bits"),
        (pd.Series([1, None]), Misuse, "53 bits"),
        (pl.Series([1, None], dtype=pl.Float64), Misuse, "53 bits"),
        (pd.Series(["1", None]), CodecError, "not str"),
        (pl.Series(["1", None]), CodecError, "not str"),
        (pa.array(["1"]), CodecError, "not str"),
        (pa.array([1, None]).cast(pa.decimal128(20, 0)), CodecError, "not Decimal"),
        (1, Misuse, "not int"),
        (np.array([1, -1]), CodecError, "element 1"),
        ([1, -1], CodecError, "element 1"),
        ([1, 2.0], CodecError, "element 1"),
        ("12", CodecError, "whole number"),
    ],
)
def test_what_damages_ids_is_refused(column: object, error: type[Exception], words: str) -> None:
    for read in (scheme("icicle").unpack_many, scheme("icicle").format_many):
        with pytest.raises(error, match=words):
            read(column)


ID = 1425280783861415937


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([ID, None, ID], dtype="Int64"),
        pd.array([ID, None, ID], dtype="UInt64"),
        pd.Series([ID, None, ID], dtype="int64[pyarrow]"),
        pd.Series([ID, None, ID], dtype=object),
        pl.Series([ID, None, ID]),
        pl.Series([ID, None, ID], dtype=pl.Int128),
        pa.array([ID, None, ID]),
        pa.chunked_array([[ID], [None], [ID]]),
        np.ma.array([ID, 5, ID], mask=[False, True, False]),
        np.array([ID, None, ID], object),
        [ID, None, ID],
    ],
    ids=lambda column: f"{type(column).__module__} {getattr(column, 'dtype', '')}",
)
def test_missing_values_stay_missing(column: object) -> None:
    """It said float64, which nobody had written, or another package's error."""
    of = scheme("icicle")
    found = of.unpack_many(column)
    assert np.isnat(found["time"]).tolist() == [False, True, False]
    assert found["sequence"].tolist() == [1, None, 1]
    for table in (pl.DataFrame(found), pl.from_arrow(pa.table(found))):
        assert table["time"].null_count() == table["node"].null_count() == 1
    assert pd.DataFrame(found)["sequence"].isna().tolist() == [False, True, False]
    with pytest.raises(Misuse, match="element 1 has no value"):
        of.format_many(column)


def test_values_that_no_column_holds() -> None:
    wide = scheme("globalid-128")
    for time in (1 << 64, 1 << 70, 1 << 62):
        ids = [wide.pack(time=0, node=0, sequence=0), wide.pack(time=time, node=0, sequence=0)]
        with pytest.raises(LayoutError, match="element 1"):
            wide.unpack_many(ids)


def test_dtypes() -> None:
    of = scheme("icicle")
    for name in ("int64", np.int64, np.dtype("int64")):
        assert of.array_dtype(name) == "int64"
    for name in ("uint64", np.uint64, np.dtype("uint64")):
        assert of.array_dtype(name) == scheme("tsid").array_dtype(name) == "uint64"
    for wrong in ("float64", float, "int32", int, None, 5):
        with pytest.raises(ConfigError, match="does not hold IDs"):
            of.array_dtype(wrong)
    for name in ("tsid", "discord", "globalid-128"):
        with pytest.raises(ConfigError, match="BIGINT"):
            scheme(name).array_dtype("int64")


def test_one_id_may_be_a_number_of_numpy() -> None:
    for name in ("icicle", "chibrary"):
        of = preset(name)
        n = some(of)[0]
        assert dict(of.unpack(np.uint64(n))) == dict(of.unpack(n))
        assert of.format(np.uint64(n)) == of.format(n)
        assert of.read(np.uint64(n)) == n
        values = {k: np.int64(v) for k, v in of.unpack(n).items() if k not in of.layout.fixed}
        assert of.pack(**values) == n
        assert type(of.pack(**values)) is int
        for wrong in (np.float64(n), np.bool_(True), True):
            with pytest.raises(LayoutError):
                of.unpack(wrong)


def test_a_column_wider_or_narrower_than_the_text() -> None:
    codec = Codec("hex", 8)
    assert codec.decode_array(np.array([b"07", b"ff"], "S20")).tolist() == [7, 255]
    assert codec.decode_array(np.array(["07", "ff"], ">U20")).tolist() == [7, 255]
    assert codec.decode_array(np.array([b"07x", b"ff"])[1:]).tolist() == [255]
    assert codec.decode_array(np.array([b"07", b"xx", b"ff"])[::2]).tolist() == [7, 255]
    with pytest.raises(CodecError) as error:
        codec.decode_array(np.array([b"7", b"f"]))
    assert (error.value.facts["index"], error.value.facts["position"]) == (0, 1)


@pytest.mark.parametrize(
    "numbers",
    [
        [1, 2],
        np.array([1.0]),
        np.array([True]),
        np.array(["1"]),
        np.array([1], object),
        np.array([[1]]),
        np.array(1),
        np.array([(0, 1)], WIDE),
    ],
    ids=repr,
)
def test_arguments_that_are_not_arrays_of_numbers(numbers: object) -> None:
    for call in (Codec("hex", 8).encode_array, Shuffle((1, 0)).apply_array):
        with pytest.raises(Misuse, match="uint64"):
            call(numbers)  # type: ignore[arg-type]
    with pytest.raises(Misuse, match="'hi'"):
        Codec("hex", 65).encode_array(np.array([1]))


@pytest.mark.parametrize("texts", ["07", b"07", np.array([["07"]]), np.array("07")], ids=repr)
def test_arguments_that_are_not_lists_of_texts(texts: object) -> None:
    with pytest.raises(Misuse, match="list"):
        Codec("hex", 8).decode_array(texts)  # type: ignore[arg-type]


@pytest.mark.parametrize("numbers", [np.array([0, 256], np.uint64), np.array([255, -1])])
def test_the_first_number_out_of_range_is_named(numbers: np.ndarray) -> None:
    with pytest.raises(CodecError) as error:
        Codec("hex", 8).encode_array(numbers)
    facts = {"index": 1, "value": int(numbers[1]), "limit": 255}
    assert error.value.facts == facts
    with pytest.raises(LayoutError) as shuffled:
        Shuffle(tuple(range(8))).apply_array(numbers)
    assert shuffled.value.facts == {"field": "ID", **facts}
