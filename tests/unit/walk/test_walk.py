"""The walk on a manual clock, compiled and interpreted: every test runs on both."""

import importlib
import importlib.util
import sys
from pathlib import Path

import pytest

import frazil
from frazil.errors import InternalError
from frazil.walk import walk as walk_in_use
from tests.tools.forks import child

MS = 1_000_000


def interpreted():
    """The walk's source as a module of its own, beside the one in use."""
    name = "frazil_walk_interpreted"
    if name not in sys.modules:
        path = Path(frazil.__file__).parent / "walk" / "walk.py"
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


@pytest.fixture(params=["in use", "interpreted"])
def module(request):
    if request.param == "in use":
        return walk_in_use
    return interpreted()


def manual_identity(module):
    """An identity whose clock and era the test sets."""
    if module.COMPILED:
        from frazil.system._process import ProcessIdentity as Base
    else:
        from frazil.system.process import PureIdentity as Base

    class ManualSense(Base):
        def __init__(self):
            super().__init__()
            self.ns = 10**15

        def now_ns(self):
            return self.ns

    return ManualSense()


class Toy:
    """A walk over 8-bit time, 3-bit node, 2-bit sequence in 1 ms ticks, and its clock."""

    def __init__(self, module, *, lead_ms=0, bits=13, seed=None, tick_ns=MS, constant=0):
        self.identity = manual_identity(module)
        self.walk = module.Walk(
            self.identity,
            bits,
            range(5, bits),
            range(2, 5),
            range(2),
            constant,
            tick_ns,
            lead_ms * MS,
            seed,
        )
        self.caller = module.Caller(self.walk)
        self.module = module

    def adopt(self, start, until, now=None, node=1, into_ns=0):
        now = start if now is None else now
        self.walk.adopt(node, start, until, now, into_ns, self.identity.ns)

    def cells(self, n):
        """n IDs as (tick, node, sequence), or how long to wait."""
        found = []
        for _ in range(n):
            answer = self.walk.poll()
            if not isinstance(answer, int):
                found.append(answer.wait_ns)
            else:
                found.append((answer >> 5, answer >> 2 & 7, answer & 3))
        return found


@pytest.fixture
def toy(module):
    return lambda **options: Toy(module, **options)


def test_cells_in_order_then_a_wait(toy):
    t = toy()
    t.adopt(10, 20)
    assert t.cells(5) == [(10, 1, 0), (10, 1, 1), (10, 1, 2), (10, 1, 3), MS]
    t.identity.ns += MS // 4
    assert t.cells(1) == [MS - MS // 4]
    t.identity.ns += MS - MS // 4
    assert t.cells(1) == [(11, 1, 0)]


def test_a_new_tick_begins_at_zero_whatever_was_used(toy):
    t = toy()
    t.adopt(10, 20)
    assert t.cells(2) == [(10, 1, 0), (10, 1, 1)]
    t.identity.ns += 3 * MS
    assert t.cells(1) == [(13, 1, 0)]


def test_calls_go_with_the_clock(toy):
    """They have a way of their own to an ID that is ready, which must not outlast its tick."""
    t = toy()
    t.adopt(10, 20)
    assert [t.walk(), next(t.caller)] == [10 << 5 | 4, 10 << 5 | 5]
    t.identity.ns += 3 * MS
    assert [t.walk(), t.walk()] == [13 << 5 | 4, 13 << 5 | 5]
    t.identity.ns += MS
    assert [next(t.caller), next(t.caller)] == [14 << 5 | 4, 14 << 5 | 5]


def test_no_claim_spent_closed(toy):
    t = toy()
    module = t.module
    assert t.cells(1) == [module.SPENT]
    t.adopt(10, 12)
    t.cells(1)
    t.identity.ns += 2 * MS
    assert t.cells(2) == [module.SPENT, module.SPENT]
    assert t.walk.finish() == 11
    assert t.cells(1) == [module.CLOSED]
    t.adopt(20, 30)
    assert t.cells(1) == [module.CLOSED]


def test_the_clock_back_keeps_the_cursor(toy):
    t = toy()
    t.adopt(10, 20)
    t.identity.ns += 5 * MS
    assert t.cells(2) == [(15, 1, 0), (15, 1, 1)]
    t.identity.ns -= 4 * MS
    assert t.cells(3) == [(15, 1, 2), (15, 1, 3), 5 * MS]
    t.walk.prolong(30, 12, 0, t.identity.ns)  # the registry says so too
    assert t.cells(1) == [4 * MS]


def test_a_clock_before_the_reading_is_taken_for_the_reading(toy):
    t = toy()
    t.adopt(10, 20)
    t.cells(4)
    t.identity.ns -= 3 * MS
    assert t.cells(1) == [4 * MS]


def test_a_start_ahead_of_the_clock_is_waited_for_or_led_into(toy):
    t = toy()
    t.adopt(10, 20, now=7)
    assert t.cells(1) == [3 * MS]
    t = toy(lead_ms=3)
    t.adopt(10, 20, now=7)
    assert t.cells(5) == [(10, 1, 0), (10, 1, 1), (10, 1, 2), (10, 1, 3), MS]


def test_the_cursor_goes_at_most_lead_ahead(toy):
    t = toy(lead_ms=2)
    t.adopt(10, 20)
    cells = t.cells(13)
    assert cells[:12] == [(tick, 1, s) for tick in (10, 11, 12) for s in range(4)]
    assert cells[12] == MS
    t.identity.ns += MS
    assert t.cells(1) == [(13, 1, 0)]


def test_lead_never_leaves_the_claim(toy):
    t = toy(lead_ms=100)
    t.adopt(10, 12)
    assert t.cells(9)[8] == t.module.SPENT


def test_a_renewal_lets_it_go_on(toy):
    t = toy()
    t.adopt(10, 12)
    t.identity.ns += 2 * MS
    assert t.cells(1) == [t.module.SPENT]
    t.walk.prolong(15, 12, 0, t.identity.ns)
    assert t.cells(1) == [(12, 1, 0)]
    t.walk.prolong(11, 12, 0, t.identity.ns)
    assert t.walk.until == 15


def test_a_new_slot_starts_after_the_last_tick(toy):
    t = toy(lead_ms=5)
    t.adopt(10, 20)
    t.cells(6)
    t.adopt(3, 30, now=3, node=4)
    assert t.cells(1) == [4 * MS]  # tick 12 is nine ahead and five may be led
    t.identity.ns += 4 * MS
    assert t.cells(1) == [(12, 4, 0)]


def test_the_tick_of_a_reading_begins_where_the_reading_says(toy):
    t = toy()
    t.adopt(10, 20, into_ns=MS // 4)
    t.cells(4)
    assert t.cells(1) == [MS - MS // 4]


def test_leave_answers_the_first_tick_not_used(toy):
    t = toy()
    t.adopt(10, 20)
    assert t.walk.leave() == 10
    t.adopt(10, 20)
    t.cells(1)
    assert t.walk.leave() == 11
    assert t.cells(1) == [t.module.SPENT]
    t.walk.prolong(30, 12, 0, t.identity.ns)  # and as often as it is left, by the keeper or a close
    assert (t.walk.leave(), t.walk.finish(), t.walk.finish()) == (11, 11, 11)


def test_left_and_reach(toy):
    t = toy(lead_ms=5)
    assert (t.walk.left(), t.walk.reach()) == (0, 0)
    t.adopt(10, 20)
    assert (t.walk.left(), t.walk.reach()) == (10, 10)
    t.cells(9)
    assert (t.walk.left(), t.walk.reach()) == (8, 10)
    t.identity.ns += 5 * MS
    assert (t.walk.left(), t.walk.reach()) == (5, 5)
    t.identity.ns += 50 * MS
    assert (t.walk.left(), t.walk.reach()) == (0, 0)


def test_begun(toy):
    t = toy()
    t.adopt(10, 20, now=9)
    assert not t.walk.begun()
    t.identity.ns += MS
    assert t.walk.begun()


def test_take_ready_crosses_ticks_and_answers_less_at_the_end(toy):
    t = toy(lead_ms=2)
    t.adopt(10, 20)
    assert t.walk.take_ready(0) == []
    ids = t.walk.take_ready(5) + t.walk.take_ready(100)
    assert [(n >> 5, n & 3) for n in ids] == [(k, s) for k in (10, 11, 12) for s in range(4)]
    assert t.walk.take_ready(1) == []


def test_fill_writes_the_ids_that_take_would_return(module):
    from array import array

    t, u = Toy(module, lead_ms=50), Toy(module, lead_ms=50)
    for each in (t, u):
        each.adopt(10, 80)
    words = array("Q", bytes(8 * 50))
    assert t.walk.fill(words, 0) == 50
    assert words.tolist() == u.walk.take_ready(50)


def test_without_a_clock_the_claim_alone_counts(toy):
    t = toy(tick_ns=0)
    t.walk.adopt(1, 10, 12, 0, 0, 0)
    cells = t.cells(9)
    assert cells[:8] == [(k, 1, s) for k in (10, 11) for s in range(4)]
    assert cells[8] == t.module.SPENT
    t.walk.prolong(13, 0, 0, 0)
    assert t.cells(1) == [(12, 1, 0)]


def test_a_queued_claim_that_lies_behind_is_not_walked_again(toy):
    t = toy(tick_ns=0)
    t.walk.adopt(1, 10, 12, 0, 0, 0)
    t.walk.queue(1, 5, 9)
    assert t.cells(9)[7:] == [(11, 1, 3), t.module.SPENT]
    t.walk.queue(1, 5, 12)
    assert t.cells(1) == [t.module.SPENT]
    t.walk.queue(1, 12, 13)
    assert t.cells(1) == [(12, 1, 0)]


def test_scattered_start_keeps_the_order_and_uses_all_of_a_busy_tick(toy):
    t = toy(lead_ms=60, seed=12345)
    t.adopt(10, 90)
    ids = t.walk.take_ready(100)
    assert ids == sorted(set(ids))
    assert len({n & 3 for n in ids if n >> 5 == 20}) == 4
    starts = set()
    for _ in range(60):
        t.identity.ns += MS
        t.walk.prolong(250, 100 + _, 0, t.identity.ns)
        starts.add(t.cells(1)[0][2])
    assert starts == {0, 1, 2, 3}


def test_a_claim_outside_the_layout_is_refused(toy):
    t = toy()
    for node, start, until in ((8, 1, 2), (0, 1, 257), (0, 5, 4), (0, -1, 4)):
        with pytest.raises((InternalError, OverflowError)):
            t.walk.adopt(node, start, until, start, 0, 0)


def test_a_wiped_page_stops_everything(toy):
    t = toy()
    t.adopt(10, 20)
    t.cells(1)

    def finds_nothing():
        asked = (t.walk(), next(t.caller), t.walk.poll())
        waits = [each.wait_ns for each in asked]
        return (waits, t.walk.take_ready(5)) == ([t.module.FORKED] * 3, [])

    assert child(finds_nothing) == 0
    assert t.cells(1) == [(10, 1, 1)]


def test_a_bare_walk_returns_a_pause_without_an_id(toy):
    t = toy()
    assert repr(t.walk()) == "<Pause spent>"
    t.adopt(10, 20)
    assert [t.walk(), next(t.caller), next(t.caller), t.walk()] == [324, 325, 326, 327]
    assert repr(next(t.caller)) == "<Pause 1000000 ns>"
    t.walk.finish()
    assert repr(t.walk()) == "<Pause closed>"


LAYOUTS = {
    "plain": "sign:1=0 time:41 node:10 sequence:12 @1ms since 2016-02-18T09:43:20.316Z",
    "unsigned": "time:42 node:10 sequence:12 @1ms since 1970-01-01T00:00:00Z",
    "reversed, split": "time:42~ sequence:6 node[10..8] mode:1=1 node[7..0] cluster:4=9 "
    "@1ms since 1970-01-01T00:00:00Z",
    "node first": "node:10 time:47 sequence:7 @1ms since 1970-01-01T00:00:00Z",
    "wide": "zero:20=5 node:20 time:71 sequence:17 @1ms since 1970-01-01T00:00:00Z",
    "wide, sequence on top": "sequence:17 node:40 time:71 @1ms since 1970-01-01T00:00:00Z",
    "sequence in pieces": "sequence[5..3] time:42 sequence[2..0] node:4 "
    "@1ms since 1970-01-01T00:00:00Z",
    "sequence in the middle": "time:39 sequence:8 node:16 @10ms since 2014-09-01T00:00:00Z",
    "wide, sequence in pieces": "time:44 node:15 sequence[7..4] d:1=0 sequence[3..0] "
    "c:60=1099511627775 @1ms since 2025-01-01T00:00:00Z",
    "wide, sequence across": "time:44 node:35 sequence[7..4] d:1=0 sequence[3..0] "
    "c:40=99999999 @1ms since 2025-01-01T00:00:00Z",
}


def walk_of(module, scheme):
    """A walk with a claim, its first tick, and its node."""
    from frazil.generator.request import walk_arguments

    identity = manual_identity(module)
    walk = module.Walk(identity, *walk_arguments(scheme, 10**9, None))
    tick, node = 1_700_000_000_000 % scheme.layout.axis_end, scheme.layout.nodes - 3
    walk.adopt(node, tick, tick + 500, tick, 0, identity.ns)
    return walk, tick, node


@pytest.mark.parametrize("shuffle", [None, "seed:v1:walk"])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=list(LAYOUTS))
def test_each_way_to_ask_gives_what_the_scheme_packs(module, layout, shuffle):
    from array import array

    scheme = frazil.scheme(layout, shuffle=shuffle)
    walk, tick, node = walk_of(module, scheme)
    called = [walk() for _ in range(5)] + [next(module.Caller(walk)) for _ in range(5)]
    listed = [walk.poll(), *walk.take_ready(700)]
    words = array("Q", bytes(80 * 16 if scheme.bits > 64 else 80 * 8))
    assert walk.fill(words, 3) == 80
    painted = words.tolist()
    if scheme.bits > 64:
        painted = [high << 64 | low for high, low in zip(*[iter(painted)] * 2, strict=True)]
    assert painted[:3] == [0, 0, 0]
    got = called + listed + painted[3:]
    cells = [divmod(i, scheme.layout.sequences) for i in range(len(got))]
    assert got == [scheme.pack(time=tick + k, node=node, sequence=s) for k, s in cells]
