"""Layouts and fields against the published numbers, and every way in which one can be wrong."""

import copy
import pickle
from datetime import UTC, datetime
from typing import Any

import pytest

from frazil.errors import LayoutError
from frazil.layout.field import Piece, fields_of
from frazil.layout.layout import Layout

TEXTS = {
    "icicle": "sign:1=0 time:41 node:10 sequence:12 @1ms since 2016-02-18T09:43:20.316Z",
    "discord": "time:42 node.worker:5 node.process:5 sequence:12 @1ms since 2015-01-01T00:00:00Z",
    "instagram": "time:41 node:13 sequence:10 @1ms since 2011-08-24T21:07:01.721Z",
    "sonyflake": "sign:1=0 time:39 sequence:8 node:16 @10ms since 2014-09-01T00:00:00Z",
    "globalid": "node:10 time:47 sequence:7 @1ms since 1970-01-01T00:00:00Z",
    "globalid-128": "zero:20=0 node:20 time:71 sequence:17 @1ms since 1970-01-01T00:00:00Z",
    "spread": "time:42~ sequence:6 node[10..8] mode:1=0 node[7..0] cluster:4=0 "
    "@1ms since 1970-01-01T00:00:00Z",
    "sequential": "time:42 sequence:6 node[10..8] mode:1=1 node[7..0] cluster:4=0 "
    "@1ms since 1970-01-01T00:00:00Z",
    "chibrary": "version:3=0 run:30 sequence:14",
    "chibrary-time": "version:3=0 time:32 sequence:8 node:4 @1s since ?",
    "chibrary-40": "node.server:4 node.pid:16 sequence:20",
    "js53": "time:32 node:10 sequence:11 @1s since 2025-01-01T00:00:00Z",
}
LAYOUTS = {name: Layout.parse(text) for name, text in TEXTS.items()}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_canonical_text_round_trips(text: str) -> None:
    layout = Layout.parse(text)
    assert str(layout) == text
    assert Layout.parse(str(layout)) == layout
    assert eval(repr(layout)) == layout
    assert hash(layout) == hash(Layout.parse(text))


# --- what is a layout


@pytest.mark.parametrize(
    ("text", "field", "words"),
    [
        ("", None, "0 bits"),
        ("time:99 sequence:30 @1s since ?", None, "129 bits (time 99 + sequence 30)"),
        ("shard:5 sequence:3", "shard", "needs a value"),
        ("time:8 run:8 @1s since ?", "run", "a time and a run"),
        ("node:8 zero:3=0", "sequence", "add a time"),
        ("time:8 sequence:3", "time", "no tick"),
        ("sequence:3 @1ms since ?", "time", "no time field"),
        ("time:8=3 sequence:2 @1s since ?", "time", "cannot be fixed"),
    ],
)
def test_invalid_layout_texts(text: str, field: str | None, words: str) -> None:
    with pytest.raises(LayoutError) as caught:
        Layout.parse(text)
    assert words in str(caught.value)
    assert caught.value.field == field
    assert {"value", "limit"} <= caught.value.facts.keys()


def test_a_width_can_be_demanded() -> None:
    assert Layout.parse(TEXTS["icicle"], bits=64) == LAYOUTS["icicle"]
    with pytest.raises(LayoutError, match=r"63 bits \(time 41 \+ node 10 \+ sequence 12\), not 64"):
        Layout.parse("time:41 node:10 sequence:12 @1ms since ?", bits=64)


# --- the value


def test_bits_of_roles() -> None:
    spread = LAYOUTS["spread"]
    assert [spread.bits_of(role) for role in ("time", "run", "node", "sequence")] == [42, 0, 11, 6]
    with pytest.raises(LayoutError, match="fixed"):
        spread.positions("fixed")


def test_fixed_values() -> None:
    spread = LAYOUTS["spread"]
    assert spread.fixed == {"mode": 0, "cluster": 0}
    other = spread.with_fixed(cluster=3)
    assert other.fixed == {"mode": 0, "cluster": 3}
    assert str(other) == TEXTS["spread"].replace("cluster:4=0", "cluster:4=3")
    assert other.pack(time=0, sequence=0, node=0) == 3
    assert spread.with_fixed() == spread
    with pytest.raises(LayoutError, match="0 to 15") as caught:
        spread.with_fixed(cluster=16)
    assert caught.value.facts == {"field": "cluster", "value": 16, "limit": 15}
    with pytest.raises(LayoutError, match="not a constant of this layout, which has mode, cluster"):
        spread.with_fixed(node=3)
    with pytest.raises(LayoutError, match="which has none"):
        LAYOUTS["js53"].with_fixed(cluster=3)


@pytest.mark.parametrize("value", [False, 0.0, "0"])
def test_a_constant_that_is_none_is_refused_also_where_it_equals_the_present_one(value):
    with pytest.raises(LayoutError, match="must be an int"):
        Layout.parse("sign:1=0 sequence:4").with_fixed(sign=value)


# --- pack and unpack


def test_pack_needs_each_field_and_refuses_other_names() -> None:
    layout = LAYOUTS["icicle"]
    with pytest.raises(LayoutError, match="no value for sequence") as caught:
        layout.pack(time=1, node=2)
    assert (caught.value.field, caught.value.limit) == ("sequence", 4095)
    with pytest.raises(LayoutError, match="no field seq; it has sign, time, node, sequence"):
        layout.pack(time=1, node=2, seq=3)


def test_a_node_in_parts_is_given_whole_or_in_parts() -> None:
    layout = LAYOUTS["discord"]
    whole = layout.pack(time=5, node=33, sequence=1)
    assert whole == layout.pack(time=5, worker=1, process=1, sequence=1)
    values = layout.unpack(whole)
    assert list(values) == ["time", "worker", "process", "sequence"]
    assert values["node"] == 33
    assert "node" in values
    assert len(values) == 4
    assert layout.pack(**values) == whole
    with pytest.raises(LayoutError, match="give the node or its parts"):
        layout.pack(time=5, node=33, worker=1, process=1, sequence=1)
    with pytest.raises(LayoutError, match="no value for process"):
        layout.pack(time=5, worker=1, sequence=1)
    with pytest.raises(LayoutError) as caught:
        layout.pack(time=5, node=1024, sequence=1)
    assert caught.value.facts == {"field": "node", "value": 1024, "limit": 1023}


def test_a_field_is_an_attribute_of_what_unpack_returns() -> None:
    values = LAYOUTS["discord"].unpack(1423871704681156227)
    assert values.node == values["node"]
    assert values.sequence == values["sequence"]
    assert copy.deepcopy(values) == pickle.loads(pickle.dumps(values)) == values
    with pytest.raises(AttributeError, match="no field is called 'nodes'; the fields are time"):
        _ = values.nodes


@pytest.mark.parametrize("number", [-1, 2**64, True, 1.0, "7"])
def test_unpack_refuses_a_number_of_another_width(number: Any) -> None:
    with pytest.raises(LayoutError) as caught:
        LAYOUTS["icicle"].unpack(number)
    assert caught.value.limit == 2**64 - 1


def test_values_are_read_only() -> None:
    values = LAYOUTS["icicle"].unpack(4096)
    assert dict(values) == {"sign": 0, "time": 0, "node": 1, "sequence": 0}
    assert values.moment == datetime(2016, 2, 18, 9, 43, 20, 316000, tzinfo=UTC)
    assert "node=1" in repr(values)
    assert "2016-02-18T09:43:20.316Z" in repr(values)
    with pytest.raises(TypeError):
        values["node"] = 2  # type: ignore[index]
    with pytest.raises(KeyError):
        values["cluster"]


# --- capacity


def test_capacity() -> None:
    icicle, sony = LAYOUTS["icicle"], LAYOUTS["sonyflake"]
    assert (icicle.sequences, icicle.nodes, icicle.ids_per_second) == (4096, 1024, 4_096_000)
    assert (sony.sequences, sony.nodes, sony.ids_per_second) == (256, 65536, 25_600)
    assert LAYOUTS["chibrary"].nodes == 1
    assert LAYOUTS["chibrary"].ids_per_second is None
    assert LAYOUTS["chibrary-40"].nodes == 2**20
    lonely = Layout.parse("time:8 @4us since ?")
    assert (lonely.sequences, lonely.ids_per_second) == (1, 250_000)


@pytest.mark.parametrize(
    ("text", "signed", "javascript"),
    [
        (TEXTS["icicle"], True, False),
        (TEXTS["globalid"], False, False),
        (TEXTS["globalid-128"], False, False),
        (TEXTS["js53"], True, True),
        (TEXTS["chibrary"], True, True),
        ("sequence:53", True, True),
        ("sequence:54", True, False),
        ("zero:1=0 sequence:53", True, True),
        ("one:1=1 sequence:53", True, False),
        ("sequence:63", True, False),
        ("sequence:64", False, False),
        ("sequence:1 zero:63=0", False, False),
        ("sequence:1 zero:53=0", True, False),
        ("sign:1=1 sequence:63", False, False),
        ("zero:65=0 sequence:63", True, False),
        ("zero:64=0 sequence:64", False, False),
        ("zero:75=0 sequence:53", True, True),
        ("zero[11..6]=0 zero[5..0] sequence:52", True, True),
    ],
)
def test_whether_a_bigint_and_javascript_hold_every_id(
    text: str, signed: bool, javascript: bool
) -> None:
    layout = Layout.parse(text)
    assert (layout.signed_safe, layout.javascript_safe) == (signed, javascript)


def test_the_first_id_of_a_moment() -> None:
    layout = Layout.parse("sign:1=0 time:41 node:10 sequence:12 @1ms since 2016-01-01T00:00:00Z")
    second = layout.first_at(datetime(2016, 1, 1, 0, 0, 1, tzinfo=UTC), {"node": 3})
    assert second == {"time": 1000, "node": 3, "sequence": 0}
    assert layout.first_at(1_451_606_401_000_000, {"node": 3}) == second


@pytest.mark.parametrize(
    ("pieces", "field", "words"),
    [
        ([Piece("Node", "fixed", 3, value=0)], "Node", "small letters"),
        ([Piece("a b", "fixed", 3, value=0)], "a b", "small letters"),
        ([Piece("x", "axis", 3)], "x", "a role is one of"),  # type: ignore[arg-type]
        ([Piece("time", "fixed", 3, value=1)], "time", "reserved for their roles"),
        ([Piece("clock", "time", 3)], "clock", "reserved for their roles"),
        ([Piece("run", "node", 3)], "run", "node.run"),
        ([Piece("node", "node", 0, 3)], "node", "higher bit first"),
        ([Piece("node", "node", 3, -1)], "node", "higher bit first"),
        ([Piece("node", "node", 128, 128)], "node", "from 127 down"),
        ([Piece("run", "run", 3, value=2)], "run", "cannot be fixed at 2"),
        ([Piece("mode", "fixed", 3)], "mode", "needs a value"),
        ([Piece("mode", "fixed", 3, value=16)], "mode", "0 to 15"),
        ([Piece("mode", "fixed", 3, value=-1)], "mode", "0 to 15"),
        ([Piece("run", "run", 3), Piece("run", "run", 3)], "run", "has field run twice"),
        ([Piece("a", "node", 3), Piece("a", "fixed", 7, 4, value=1)], "a", "has field a twice"),
        ([Piece("run", "run", 4, 2), Piece("run", "run", 2, 0)], "run", "2 of run are in more"),
        (
            [Piece("run", "run", 9, 8), Piece("run", "run", 4, 1)],
            "run",
            "5, 6, 7 of run are in no",
        ),
        ([Piece("run", "run", 3, 2, True), Piece("run", "run", 1)], "run", "some are not"),
        (
            [Piece("mode", "fixed", 3, 2, value=1), Piece("mode", "fixed", 1, value=1)],
            "mode",
            "on the first one only",
        ),
        ([Piece("node", "node", 3), Piece("rack", "node", 3)], "node", "whole and in parts"),
    ],
)
def test_invalid_pieces(pieces: list[Piece], field: str, words: str) -> None:
    with pytest.raises(LayoutError) as caught:
        fields_of(tuple(pieces))
    assert words in str(caught.value)
    assert caught.value.field == field
    assert {"value", "limit"} <= caught.value.facts.keys()
