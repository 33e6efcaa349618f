"""A walk at its limits: last nanosecond of a tick, the last tick of a claim, the walk before."""

from array import array

import pytest

import frazil
from frazil.errors import InternalError
from frazil.generator.request import walk_arguments
from tests.unit.walk.test_walk import MS, Toy, manual_identity, module, toy

__all__ = ["module", "toy"]

ASKED = [pytest.param(lambda walk: walk(), id="called"), pytest.param(next, id="next")]


def test_the_reasons_of_a_pause_are_not_times(module):
    reasons = {module.SPENT, module.CLOSED, module.FORKED}
    assert len(reasons) == 3
    assert max(reasons) < 0


def test_pause_ns_draws_nothing(toy):
    t = toy()
    assert t.walk.pause_ns() == t.module.SPENT
    t.adopt(10, 20)
    assert [t.walk.pause_ns(), t.walk.pause_ns()] == [0, 0]
    assert t.cells(4) == [(10, 1, cell) for cell in range(4)]
    assert t.walk.pause_ns() == MS
    t.identity.ns += MS // 4
    assert t.walk.pause_ns() == MS - MS // 4
    t.walk.finish()
    assert t.walk.pause_ns() == t.module.CLOSED


@pytest.mark.parametrize("ask", ASKED)
class TestTheShortWay:
    """An ID that is ready is answered at once, where the clock is before the tick's end."""

    @pytest.mark.parametrize("drawn", range(4))
    @pytest.mark.parametrize("late_ns", [-1, 0, 1, 3 * MS])
    def test_to_the_end_of_a_tick(self, toy, ask, drawn, late_ns):
        t = toy()
        t.adopt(10, 20)
        for cell in range(drawn):
            assert ask(t.caller) == 10 << 5 | 1 << 2 | cell
        t.identity.ns += MS + late_ns
        tick = (10 * MS + MS + late_ns) // MS
        cell = drawn if tick == 10 else 0
        assert ask(t.caller) == tick << 5 | 1 << 2 | cell

    def test_a_clock_found_ahead(self, toy, ask):
        t = toy()
        t.adopt(10, 20)
        ask(t.caller)
        t.walk.prolong(30, 12, 0, t.identity.ns)
        assert ask(t.caller) == 12 << 5 | 1 << 2


class TestTheClaimsEnd:
    def test_an_empty_claim_and_the_first_of_all(self, toy):
        t = toy()
        t.adopt(0, 1)
        assert t.cells(1) == [(0, 1, 0)]
        t.adopt(5, 5)
        assert t.cells(1) == [t.module.SPENT]


class TestTheWalkBefore:
    """A new claim, of whichever node, is walked after the last tick that was walked."""

    @pytest.mark.parametrize("node", [0, 1, 2])
    @pytest.mark.parametrize("start", [8, 9, 10, 11, 12])
    def test_a_later_claim(self, toy, node, start):
        t = toy(lead_ms=9)
        t.adopt(10, 20)
        t.cells(1)
        t.walk.leave()
        t.adopt(start, 20, node=node)
        assert t.cells(1) == [(max(start, 11), node, 0)]

    @pytest.mark.parametrize("until", [9, 10, 11, 12])
    def test_a_claim_that_ends_before_it_is_spent(self, toy, until):
        """At once: to wait for the clock would bring no tick of it nearer."""
        t = toy()
        t.adopt(10, 20)
        t.cells(4)
        t.walk.leave()
        t.walk.adopt(2, 8, until, 10, 0, t.identity.ns)
        assert (t.walk.poll().wait_ns == t.module.SPENT) == (until < 12)

    @pytest.mark.parametrize("node", [0, 2])
    @pytest.mark.parametrize("start", [3, 10, 15])
    def test_runs_of_another_node_have_no_order(self, toy, node, start):
        t = toy(tick_ns=0)
        t.walk.adopt(1, 10, 12, 0, 0, 0)
        t.cells(1)
        t.walk.leave()
        t.walk.adopt(node, start, start + 2, 0, 0, 0)
        assert t.cells(1) == [(start, node, 0)]

    def test_nothing_is_wanted_or_queued_without_a_claim(self, toy):
        t = toy(tick_ns=0)
        assert not t.walk.wanting
        t.walk.adopt(1, 10, 11, 0, 0, 0)
        t.cells(3)
        assert t.walk.wanting
        t.walk.leave()
        assert (t.walk.wanting, t.walk.queued, t.walk.left()) == (False, False, 0)

    def test_after_a_renewal_without_new_ticks_the_walk_still_wants_more(self, toy):
        t = toy(tick_ns=0)
        t.walk.adopt(1, 10, 11, 0, 0, 0)
        t.cells(3)
        t.walk.prolong(11, 0, 0, 0)
        assert t.walk.wanting

    @pytest.mark.parametrize("seed", range(20))
    def test_scattered_runs_reach_their_end(self, toy, seed):
        t = toy(tick_ns=0, seed=seed * 77_777)
        t.walk.adopt(1, 10, 11, 0, 0, 0)
        cells = t.cells(5)
        first = cells[0][2]
        assert cells[: 5 - first] == [(10, 1, s) for s in range(first, 4)] + [t.module.SPENT]
        assert t.walk.wanting
        other = toy(tick_ns=0, seed=seed * 77_777)
        other.walk.adopt(1, 10, 13, 0, 0, 0)
        assert other.cells(1) == cells[:1]  # wherever half of the claim is


def test_before_its_anchor_the_clock_does_not_advance(toy):
    t = toy()
    t.walk.adopt(1, 10, 20, 10, 0, begun_ns := t.identity.ns + 5)
    for late, tick in ((-5, 10), (-1, 10), (0, 10), (1, 10), (MS, 11)):
        t.identity.ns = begun_ns + late
        assert t.walk.due_now() == tick


@pytest.mark.parametrize("drawn", range(9))
def test_a_tick_used_up_is_not_left(toy, drawn):
    t = toy(lead_ms=5)
    t.adopt(10, 20)
    t.cells(drawn)
    assert t.walk.left() == 10 - drawn // 4


def test_leaving_a_claim_before_the_cursor_gives_it_back_whole(toy):
    t = toy()
    t.adopt(10, 20)
    t.cells(1)
    t.walk.leave()
    t.adopt(5, 20, now=10)
    assert t.walk.leave() == 5


def test_a_walk_without_a_clock_has_always_begun(toy):
    t = toy(tick_ns=0)
    t.adopt(10, 20, now=9)
    assert t.walk.begun()


def test_random_first_cells_are_those_of_drand48(toy):
    """Java's too, whose ``new Random(42).nextInt()`` has these for its first answers."""
    javas = [-1170105035, 234785527, -1360544799, 205897768]
    t = toy(seed=42 ^ 0x5DEECE66D)
    t.adopt(10, 90)
    starts = []
    for _ in javas:
        starts.append(t.cells(1)[0][2])
        t.cells(3 - starts[-1])  # a tick used up has no effect on one that is not the next
        t.identity.ns += 2 * MS
    assert starts == [n % 4 for n in javas]


@pytest.mark.parametrize("ticks", [1, 3, 9])
@pytest.mark.parametrize("size", range(1, 16))
def test_fill_answers_how_far_it_came(module, size, ticks):
    """As far as the lead allows, or the claim."""
    ready = min(12, 4 * ticks)
    for at in range(size):
        t = Toy(module, lead_ms=2)
        t.adopt(10, 10 + ticks)
        words = array("Q", bytes(8 * size))
        assert t.walk.fill(words, at) == min(size, at + ready)
        assert t.walk.fill(words, size) == size
        written = [(n >> 5, n & 3) for n in words[at : at + ready]]
        assert written == [(10 + i // 4, i % 4) for i in range(min(ready, size - at))]


def counter(module):
    """A walk of plain numbers."""
    return module.Walk(manual_identity(module), *walk_arguments(frazil.scheme("tickets"), 0, None))


class TestBlocks:
    """Where half of a block is used, the next is wanted."""

    @pytest.mark.parametrize("values", range(1, 8))
    def test_half_of_some_values(self, module, values):
        """With the first value after half of them, the odd one before it."""
        walk = counter(module)
        walk.adopt(0, 10, 10 + values, 0, 0, 0)
        wanting = [walk.poll() and walk.wanting for _ in range(values)]
        assert wanting == [2 * drawn >= values for drawn in range(values)]

    @pytest.mark.parametrize("runs", range(1, 6))
    def test_half_of_some_runs(self, toy, runs):
        t = toy(tick_ns=0)  # four cells to a run
        t.walk.adopt(1, 10, 10 + runs, 0, 0, 0)
        wanting = [t.cells(1)[0] and t.walk.wanting for _ in range(4 * runs)]
        assert wanting == [drawn >= 2 * runs for drawn in range(4 * runs)]

    def test_left_includes_the_queued_claim(self, module):
        walk = counter(module)
        walk.adopt(0, 10, 20, 0, 0, 0)
        walk.queue(0, 30, 36)
        walk.take_ready(3)
        assert walk.left() == 7 + 6


def test_a_caller_without_a_walk_raises(module):
    """Compiled, a look at a walk that is not there would end the process."""
    for call in (module.Caller(None), module.Caller(None).__next__):
        with pytest.raises(TypeError, match="never opened"):
            call()


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
