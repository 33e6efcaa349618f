"""The cursor moved past a cell, for ``after``: on a manual clock, with both engines."""

import pytest

import frazil
from frazil.errors import InternalError
from frazil.system.process import PureIdentity
from tests.unit.walk.test_walk import MS, Toy, module  # noqa: F401 - a fixture


@pytest.fixture
def toy(module):  # noqa: F811 - the fixture
    made = Toy(module, lead_ms=2)
    made.adopt(10, 16)
    return made


def after(toy, tick, cell, node=1):
    return toy.walk.advance(tick, cell, node)


@pytest.mark.parametrize(
    ("at", "first"),
    [
        ((9, 3), (10, 0)),  # before the claim
        ((10, 0), (10, 0)),
        ((10, 2), (10, 2)),
        ((10, 4), (11, 0)),  # no cell of that tick
        ((12, 1), (12, 1)),  # as far as the lead allows
        ((11, 4), (12, 0)),
    ],
)
def test_the_next_id_is_that_cell_or_a_later_one(toy, at, first):
    assert after(toy, *at) == 0
    tick, _, cell = toy.cells(1)[0]
    assert (tick, cell) == first


def test_the_cursor_never_moves_back(toy):
    assert after(toy, 12, 1) == 0
    assert after(toy, 11, 0) == 0
    assert toy.cells(2) == [(12, 1, 1), (12, 1, 2)]
    assert after(toy, 12, 1) == 0
    assert toy.cells(1) == [(12, 1, 3)]


def test_a_tick_beyond_the_lead_is_waited_for_and_nothing_moves(toy):
    toy.identity.ns += MS // 4
    assert after(toy, 14, 0) == 2 * MS - MS // 4
    assert toy.cells(1) == [(10, 1, 0)]
    toy.identity.ns += 2 * MS
    assert after(toy, 14, 0) == 0
    assert toy.cells(1) == [(14, 1, 0)]


def test_a_claim_that_ends_before_it_is_spent(toy):
    toy.identity.ns += 4 * MS
    assert after(toy, 16, 0) == toy.module.SPENT
    assert toy.cells(1) == [toy.module.SPENT]
    assert toy.walk.left() == 0
    assert toy.walk.leave() == 16
    toy.adopt(14, 30, node=2)
    assert toy.cells(1) == [(16, 2, 0)]  # after every tick of the earlier claim


def test_the_cells_that_are_passed_over_are_not_counted(toy):
    assert after(toy, 10, 2) == 0
    assert toy.walk.made() == 0
    assert toy.cells(1) == [(10, 1, 2)]
    assert after(toy, 12, 1) == 0
    assert toy.walk.made() == 1


def test_a_claim_of_another_node_begins_a_tick_later(toy):
    """The cell was computed for the node that the walk had."""
    assert after(toy, 11, 2, node=5) == 0
    assert toy.cells(1) == [(12, 1, 0)]


def test_without_a_claim(toy):
    toy.walk.leave()
    assert after(toy, 10, 0) == toy.module.SPENT
    toy.walk.finish()
    assert after(toy, 10, 0) == toy.module.CLOSED


def test_a_claim_whose_last_tick_is_entered(toy):
    toy.identity.ns += 5 * MS
    assert toy.cells(1) == [(15, 1, 0)]
    assert after(toy, 16, 0) == toy.module.SPENT
    assert toy.cells(1) == [toy.module.SPENT]


def test_a_caller_compares_and_leaves_the_rest_to_the_owner_of_the_walk(toy):
    toy.walk.rising = True
    first = toy.caller()
    assert toy.caller.after(first) == first + 1
    for seen in ((first + 100,), (str(first),), ()):
        with pytest.raises(InternalError, match="the bare walk cannot read"):
            toy.caller.after(*seen)


@pytest.mark.skipif(frazil.COMPILED, reason="no caller of the compiled walk is in the middle of it")
@pytest.mark.parametrize("late", [1, 3])
def test_a_late_caller_draws_no_cell_of_those_that_follow(late):
    """It has read the stage before the cursor moved within its tick, and draws after that."""
    from frazil.walk.atomic import AtomicWalk

    identity, far_ns = PureIdentity(), 10**18
    walk = AtomicWalk(identity, 13, range(5, 13), range(2, 5), range(2), 0, far_ns, 0, None)
    walk.adopt(1, 10, 12, 10, 0, identity.now_ns())
    before = walk._stage() if walk.pause_ns() == 0 else None
    assert walk.advance(10, 1, 1) == 0
    assert walk.made() == 0
    drawn = before.draw_up_to(late) + walk.take_ready(4)
    assert [n & 3 for n in drawn] == [1, 2, 3]


@pytest.mark.skipif(frazil.COMPILED, reason="the compiled cursor goes to any cell at once")
def test_where_many_cells_are_passed_over_the_next_tick_is_entered():
    from frazil.walk.atomic import AtomicWalk

    identity, far_ns = PureIdentity(), 10**18
    walk = AtomicWalk(identity, 40, range(32, 40), (), range(32), 0, far_ns, far_ns, None)
    walk.adopt(0, 10, 12, 10, 0, identity.now_ns())
    assert walk.advance(10, 1 << 20, 0) == 0
    assert walk.take_ready(1) == [11 << 32]
