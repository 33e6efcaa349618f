"""IDs longer than a machine's word: a field may lie across the border, and here each does."""

import pytest

import frazil
from frazil.errors import InternalError
from frazil.generator.request import walk_arguments
from tests.unit.walk.test_walk import MS, manual_identity, module

__all__ = ["module"]

SINCE = "@1ms since 2025-01-01T00:00:00Z"
ONES = (1 << 40) - 1
LAYOUTS = {
    "node": f"time:60 node:8 c:40={ONES} sequence:20",
    "node at the border": f"time:46 node:18 c:40={ONES} sequence:24",
    "constant": f"time:50 c:40={ONES} node:10 sequence:28",
    "constant at the border": f"time:24 c:40={ONES} node:40 sequence:24",
    "split sequence": f"time:44 node:35 sequence[7..4] d:1=1 sequence[3..0] c:40={ONES}",
    "sequence in pieces": f"time:44 node:15 sequence[7..4] d:1=1 sequence[3..0] c:60={ONES}",
    "sequence across": f"time:50 node:10 sequence:8 c:40={ONES} d:20=1",
    "sequence at the border": f"time:50 node:6 sequence:8 c:40={ONES} d:24=1",
    "time": f"node:20 time:60 c:40={ONES} sequence:8",
    "65 bits": "time:41 node:14 sequence:10",
    "64 bits": "time:41 node:13 sequence:10",
}


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("shift", [0, 20, 40])
def test_each_id_equals_the_packed_one(module, name, shift):
    scheme = frazil.scheme(f"{LAYOUTS[name]} {SINCE}")
    layout = scheme.layout
    identity = manual_identity(module)
    walk = module.Walk(identity, *walk_arguments(scheme, 3 * MS, None))
    node = layout.nodes - 1
    tick = min((1 << layout.bits_of("time")) - 4, 0x7FFFF << shift | 0x15555)
    walk.adopt(node, tick, tick + 3, tick, 0, identity.ns)
    cells = 1 << layout.bits_of("sequence")
    wanted = [
        scheme.pack(time=tick + at // cells, node=node, sequence=at % cells) for at in range(700)
    ]
    assert [walk.poll() for _ in wanted] == wanted


def test_a_new_walk_has_issued_nothing(module):
    scheme = frazil.scheme("icicle")
    assert module.Walk(manual_identity(module), *walk_arguments(scheme, 0, None)).issued == 0


@pytest.mark.parametrize(
    ("text", "end"), [("sign:1=0 sequence:63", 1 << 62), ("sequence:9", 1 << 9)]
)
def test_the_walk_ends_at_the_end_of_the_axis(module, text, end):
    walk = module.Walk(manual_identity(module), *walk_arguments(frazil.scheme(text), 0, None))
    with pytest.raises(InternalError):
        walk.adopt(0, end - 1, end + 1, 0, 0, 0)
    walk.adopt(0, end - 2, end, 0, 0, 0)
    with pytest.raises(InternalError):
        walk.prolong(end + 1, 0, 0, 0)
    assert [walk.poll(), walk.poll()] == [end - 2, end - 1]
    assert walk.poll().wait_ns == module.SPENT


def test_a_counter_of_one_bit(module):
    scheme = frazil.scheme("node:3 sequence:1")
    walk = module.Walk(manual_identity(module), *walk_arguments(scheme, 0, None))
    walk.adopt(5, 0, 2, 0, 0, 0)
    assert [walk.poll(), walk.poll()] == [10, 11]
    assert walk.poll().wait_ns == module.SPENT


def test_with_a_clock_no_claim_is_queued(module):
    walk = module.Walk(manual_identity(module), *walk_arguments(frazil.scheme("icicle"), 0, None))
    walk.adopt(1, 10, 20, 10, 0, MS)
    with pytest.raises(AssertionError):
        walk.queue(1, 20, 30)
    assert not walk.queued
