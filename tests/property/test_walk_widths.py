"""The walk on layouts of any widths, on both engines: at each cell what the layout packs."""

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

import frazil
from frazil.generator.request import walk_arguments
from frazil.walk import walk as walk_in_use
from tests.unit.walk.test_walk import MS, interpreted, manual_identity

SINCE = "@1ms since 2025-01-01T00:00:00Z"
CORES = [walk_in_use, interpreted()]
WIDTHS = st.one_of(st.integers(0, 12), st.sampled_from([30, 31, 32, 33, 61, 62, 63, 64, 65, 66]))


@st.composite
def layouts(draw):
    """The text of a layout of up to 128 bits: a time or runs, or neither; in any order."""
    axis = draw(st.sampled_from(["time", "run", "sequence"]))
    wide = {
        axis: max(1, draw(WIDTHS)),
        "sequence": draw(WIDTHS),
        "node": draw(WIDTHS),
        "c": draw(WIDTHS),
    }
    if axis == "sequence":
        wide["sequence"] = max(1, wide["sequence"])
    for name in ("c", "node", "sequence", axis):  # what is too much goes, the axis last
        least = 1 if name == axis else 0
        wide[name] = max(least, wide[name] - max(0, sum(wide.values()) - 128))
    fields = [_field(draw, name, bits) for name, bits in wide.items() if bits]
    text = " ".join(part for parts in draw(st.permutations(fields)) for part in parts)
    return f"{text} {SINCE if axis == 'time' else ''}".strip()


def _field(draw, name, bits):
    value = f"={draw(st.integers(0, (1 << bits) - 1))}" if name == "c" else ""
    return [f"{name}:{bits}{value}"]


def walked(module, scheme, node, first):
    """A walk with a claim of three ticks, runs or rows."""
    identity = manual_identity(module)
    walk = module.Walk(identity, *walk_arguments(scheme, 5 * MS, None))
    walk.adopt(node, first, min(first + 3, scheme.layout.axis_end, 1 << 62), first, 0, identity.ns)
    return walk


def expected(scheme, node, first, until, n):
    """The first cells of the claim, as the layout packs them."""
    axis, cells = scheme.layout.axis, scheme.layout.sequences
    present = {each.name for each in scheme.layout.fields}

    def packed(**values):
        return scheme.pack(**{name: value for name, value in values.items() if name in present})

    if axis == "sequence":
        return [packed(node=node, sequence=value) for value in range(first, until)][:n]
    places = [(tick, cell) for tick in range(first, until) for cell in range(min(cells, n))]
    return [packed(**{axis: t, "node": node, "sequence": c}) for t, c in places[:n]]


def ways(walk, scheme, n):
    """IDs asked for in each way: one by one, many, and as words."""
    found = [walk() for _ in range(2)] + [walk.poll()]
    found = [number for number in found if isinstance(number, int)]
    found += walk.take_ready(n)
    words = array("Q", bytes(8 * n * (1 if scheme.bits <= 64 else 2)))
    came = walk.fill(words, 0)
    if scheme.bits <= 64:
        return found + words.tolist()[:came]
    pairs = list(zip(words[::2], words[1::2], strict=True))[:came]
    return found + [high << 64 | low for high, low in pairs]


@pytest.mark.parametrize("module", CORES, ids=["in use", "interpreted"])
@given(st.data())
def test_each_cell_equals_the_packed_id(module, data):
    scheme = frazil.scheme(
        data.draw(layouts()), shuffle=data.draw(st.sampled_from([None, "seed:v1:w"]))
    )
    layout = scheme.layout
    node = data.draw(st.sampled_from([0, layout.nodes - 1, layout.nodes // 2]))
    end = min(layout.axis_end, 1 << 62)
    first = data.draw(st.integers(0, end - 1) | st.sampled_from([0, end - 1, max(0, end - 3)]))
    until = min(first + 3, end)
    if node >> 64:  # no machine's word; see the next test
        node = 0
    got = ways(walked(module, scheme, node, first), scheme, 9)
    assert got == expected(scheme, node, first, until, len(got))
    assert len(got) >= min(1, layout.sequences)
