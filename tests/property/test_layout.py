"""Any layout at all, against a slow reference that shares no code and knows only strings."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.errors import LayoutError
from frazil.layout.drawing import draw, spans
from frazil.layout.layout import Layout


@dataclass(frozen=True)
class Cut:
    """A field as the test knows it: ``pieces`` are (high, low), msb first as they lie in the ID."""

    name: str
    bits: int
    turned: bool
    pieces: tuple[tuple[int, int], ...]
    value: int | None


@dataclass(frozen=True)
class Sketch:
    """A layout as the test knows it: its fields, and the order of all pieces in the ID."""

    cuts: dict[str, Cut]
    order: tuple[tuple[str, int], ...]
    ending: str

    @property
    def text(self) -> str:
        words, seen = [], set()
        for name, index in self.order:
            cut = self.cuts[name]
            high, low = cut.pieces[index]
            label = f"node.{name}" if name in ("worker", "process") else name
            extent = f":{cut.bits}" if len(cut.pieces) == 1 else f"[{high}..{low}]"
            value = f"={cut.value}" if cut.value is not None and name not in seen else ""
            words.append(label + extent + "~" * cut.turned + value)
            seen.add(name)
        return " ".join(words) + self.ending

    def pack(self, values: dict[str, int]) -> str:
        """The ID as a string of bits."""
        bits = ""
        for name, index in self.order:
            cut = self.cuts[name]
            written = format(values[name], "b").rjust(cut.bits, "0")
            if cut.turned:
                written = "".join(reversed(written))
            high, low = cut.pieces[index]
            bits += written[cut.bits - 1 - high : cut.bits - low]
        return bits


@st.composite
def cuts(draw_: st.DrawFn, name: str, most: int) -> Cut:
    bits = draw_(st.integers(1, most))
    edges = sorted(draw_(st.sets(st.integers(1, bits - 1), max_size=3))) if bits > 1 else []
    bounds = [0, *edges, bits]
    pieces = [(high - 1, low) for low, high in pairwise(bounds)]
    fixed = name in ("sign", "cluster")
    return Cut(
        name,
        bits,
        draw_(st.booleans()),
        tuple(draw_(st.permutations(pieces))),
        draw_(st.integers(0, 2**bits - 1)) if fixed else None,
    )


@st.composite
def sketches(draw_: st.DrawFn) -> Sketch:
    axis = draw_(st.sampled_from(["time", "run", "sequence"]))
    nodes = draw_(st.sampled_from([[], ["node"], ["worker", "process"]]))
    others = draw_(st.sets(st.sampled_from(["sequence", "sign", "cluster"])))
    names = [axis, *nodes, *sorted(others - {axis})]
    most = 71 if axis == "time" else 60
    found, left = {}, 128
    for place, name in enumerate(names):
        found[name] = draw_(cuts(name, min(most, left - (len(names) - 1 - place))))
        left -= found[name].bits
    pieces = [(name, i) for name, cut in found.items() for i in range(len(cut.pieces))]
    # Pieces of a field keep their drawn order; which fields they lie between is shuffled.
    mixed = [name for name, _ in draw_(st.permutations(pieces))]
    taken = dict.fromkeys(found, 0)
    order = []
    for name in mixed:
        order.append((name, taken[name]))
        taken[name] += 1
    ending = " @250us since 1999-12-31T23:59:59.000001Z" if axis == "time" else ""
    return Sketch(found, tuple(order), ending)


def values_of(sketch: Sketch) -> st.SearchStrategy[dict[str, int]]:
    edge = {
        name: st.one_of(st.integers(0, 2**cut.bits - 1), st.sampled_from([0, 1, 2**cut.bits - 1]))
        for name, cut in sketch.cuts.items()
    }
    return st.fixed_dictionaries(edge)


@given(sketches(), st.data())
def test_packing_is_laying_strings_side_by_side(sketch: Sketch, data: st.DataObject) -> None:
    layout = Layout.parse(sketch.text)
    values = data.draw(values_of(sketch))
    bits = sketch.pack(values)
    number = int(bits, 2)
    assert layout.bits == len(bits)
    assert layout.pack(**values) == number
    read = layout.unpack(number)
    assert dict(read) == values
    assert set(read.foreign) == {
        name for name, cut in sketch.cuts.items() if cut.value not in (None, values[name])
    }
    assert "".join(bits for _, _, bits in spans(layout, number)) == bits
    draw(layout, number, width=data.draw(st.integers(1, 150)))


@given(sketches(), st.data())
def test_positions_carry_the_value_of_a_role(sketch: Sketch, data: st.DataObject) -> None:
    layout = Layout.parse(sketch.text)
    number = int(sketch.pack(data.draw(values_of(sketch))), 2)
    read = layout.unpack(number)
    used: list[int] = []
    for role in ("time", "run", "node", "sequence"):
        positions = layout.positions(role)
        used += positions
        if positions:
            assert sum((number >> p & 1) << i for i, p in enumerate(positions)) == read[role]
    for field in layout.fields:
        used += field.positions if field.role == "fixed" else ()
    assert sorted(used) == list(range(layout.bits))


@given(sketches())
def test_the_text_round_trips(sketch: Sketch) -> None:
    layout = Layout.parse(sketch.text)
    assert str(layout) == sketch.text
    again = Layout.parse(str(layout))
    assert (again, hash(again), again.fingerprint) == (layout, hash(layout), layout.fingerprint)


@given(sketches(), st.data())
def test_no_value_outside_a_field_is_packed(sketch: Sketch, data: st.DataObject) -> None:
    layout = Layout.parse(sketch.text)
    values = data.draw(values_of(sketch))
    name = data.draw(st.sampled_from(sorted(values)))
    limit = 2 ** sketch.cuts[name].bits - 1
    values[name] = data.draw(st.one_of(st.integers(max_value=-1), st.integers(limit + 1)))
    with pytest.raises(LayoutError) as caught:
        layout.pack(**values)
    assert caught.value.facts == {"field": name, "value": values[name], "limit": limit}


@given(st.integers(1, 71), st.integers(1, 10**7), st.integers(-(10**16), 10**15), st.data())
def test_ticks_and_moments_are_inverse(bits: int, tick_us: int, epoch_us: int, data: Any) -> None:
    plain = Layout.parse(f"time:{bits} sequence:3 @{tick_us}us since ?").with_epoch(epoch_us)
    tick = data.draw(st.integers(0, 2**bits - 1))
    inside = data.draw(st.integers(0, tick_us - 1))
    assert plain.us_at(tick) == epoch_us + tick * tick_us
    assert plain.tick_at(plain.us_at(tick) + inside) == tick
    assert Layout.parse(str(plain)) == plain


@given(st.integers(1, 40), st.integers(1, 3000), st.data())
def test_windows_split_time_without_gap_or_overlap(bits: int, tick_us: int, data: Any) -> None:
    layout = Layout.parse(f"sign:2=2 time:{bits} node:3 @{tick_us}us since 1970-01-01T00:00:00Z")
    moments = st.integers(0, tick_us << bits)
    start, middle, stop = sorted(data.draw(st.tuples(moments, moments, moments)))
    left, right, both = (
        layout.window(start, middle),
        layout.window(middle, stop),
        layout.window(start, stop),
    )
    assert (left.start, left.stop, right.stop) == (both.start, right.start, both.stop)
    tick = data.draw(st.integers(0, 2**bits - 1))
    number = layout.pack(time=tick, node=data.draw(st.integers(0, 7)))
    assert (number in both) == (start <= layout.us_at(tick) < stop)
