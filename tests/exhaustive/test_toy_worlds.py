"""Every schedule in toy worlds: the real verbs and the real walk, and no ID comes twice.

A world is a record, a store's clock, a boot clock, and members with a walk each. From the start,
every action of every member is tried in every state that can be reached (breadth first, states
that differ in nothing that matters are one), until there is no new state. Actions: ask for a claim
(also while holding one), the same with the reply lost, renew, the same with the reply lost, give
back, send an old release once more, draw an ID, die; the clock goes on, and is stepped back.

The broken variants at the end are caught, so the search can see.
"""

import copy
from collections import deque
from dataclasses import replace

import pytest

from frazil.claims.claim import Claim, LastSeen, Terms, VerbRequest
from frazil.claims.record import Record
from frazil.claims.slots import SlotTable
from frazil.errors import LayoutExhausted
from tests.conformance.wrong import NoFloor
from tests.simulation.canaries import ForgetsGrants, NoToken, ReleasesTooMuch, Rereads
from tests.unit.walk.test_walk import interpreted

TICK_US = 1000
HORIZON = 2
WANT = 2


class ProcessIdentity:
    """A boot clock for whichever world is looked at."""

    def __init__(self):
        self.ns = 0

    def now_ns(self):
        return self.ns

    def intact(self):
        return True


class World:
    """One state. Copying it costs little, because the search copies it for every action."""

    identity = ProcessIdentity()
    record_type = Record
    walk_type = interpreted().Walk

    def __init__(self, time_bits, node_bits, sequence_bits, members, *, backs=0, network=True):
        self.bits = time_bits, node_bits, sequence_bits
        nodes, end = 1 << node_bits, 1 << time_bits
        self.terms = Terms("toy", "", range(nodes), nodes, end, TICK_US, 0, HORIZON)
        self.record = self.record_type(slots=SlotTable())
        self.us = self.ns = self.tokens = 0
        self.backs, self.network = backs, network
        self.issued = frozenset()
        self.duplicate = None
        self.claims = [None] * members
        self.old = [None] * members
        self.walks = [self.new_walk() for _ in range(members)]
        self.record.initialise(self.terms, self.ask(), 0, "toy", 0)

    def new_walk(self):
        time_bits, node_bits, sequence_bits = self.bits
        low = node_bits + sequence_bits
        axis, node = range(low, low + time_bits), range(sequence_bits, low)
        sequence = range(sequence_bits)
        lead_ns = HORIZON * TICK_US * 1000
        return self.walk_type(
            self.identity, sum(self.bits), axis, node, sequence, 0, TICK_US * 1000, lead_ns, None
        )

    def copy(self):
        other = copy.copy(self)
        other.record = replace(self.record, slots=SlotTable(self.record.slots))
        other.claims, other.old = self.claims[:], self.old[:]
        other.walks = [copy.copy(walk) for walk in self.walks]
        return other

    def key(self):
        """What a state is, without names: tokens by their holders, members in any order."""
        owner = {c.token: i for i, c in enumerate(self.claims) if c}
        owner |= {old[0].token: -1 - i for i, old in enumerate(self.old) if old}
        members = [self.member_key(i, owner) for i in range(len(self.walks))]
        record = self.record
        clock = record.last_us - self.us, record.offset_us, self.us // TICK_US, self.backs
        rank = {
            i: place for place, i in enumerate(sorted(range(len(members)), key=members.__getitem__))
        }
        slots = tuple(
            (n, slot.until, slot.start, self.owner_rank(slot.token, owner, rank))
            for n, slot in sorted(record.slots.items())
        )
        return tuple(sorted(members)), slots, record.guard, clock, self.issued

    @staticmethod
    def owner_rank(token, owner, rank):
        i = owner.get(token)
        if i is None:
            return "somebody" if token else ""
        return ("old", rank[-1 - i]) if i < 0 else ("now", rank[i])

    def member_key(self, i, owner):
        walk, claim, old = self.walks[i], self.claims[i], self.old[i]
        cursor = walk.held, walk.tick, walk.cell, walk.start, walk.until, walk.fresh, walk.placed
        due = walk.due(self.ns) if walk.held else 0
        node = walk.low if walk.held else 0

        def stands(c):
            return c is not None and self.record.slots.get(c.slot).token == c.token

        held = claim and (claim.slot, claim.start, claim.until, stands(claim))
        past = old and (old[0].slot, old[0].start, old[0].until, stands(old[0]), old[1])
        return repr((cursor, due, node, held, past))

    def ask(self, held=None):
        self.tokens += 1
        return VerbRequest(LastSeen(), self.us, f"t{self.tokens}", "", held)

    def actions(self):
        yield "tick", -1
        if self.backs:
            yield "step back", -1
        for i in range(len(self.walks)):
            yield "grant", i
            yield "draw", i
            if self.claims[i]:
                yield "renew", i
                yield "release", i
                yield "die", i
            if self.network:
                yield "grant, reply lost", i
                if self.claims[i]:
                    yield "renew, reply lost", i
                if self.old[i]:
                    yield "release again", i

    def do(self, action, i):
        self.identity.ns = self.ns
        name, _, lost = action.partition(", ")
        try:
            getattr(self, "do_" + name.replace(" ", "_"))(i, bool(lost))
        except LayoutExhausted:
            return

    def do_tick(self, _, __):
        if self.us // TICK_US < self.terms.end:
            self.us += TICK_US
            self.ns += TICK_US * 1000

    def do_step_back(self, _, __):
        self.backs -= 1
        self.us = max(0, self.us - 2 * TICK_US)

    def timing(self, reply):
        return *reply.time(self.terms), self.ns

    def do_grant(self, i, lost):
        reply = self.record.grant(self.terms, self.ask(), self.us, "toy", WANT)
        if isinstance(reply, Claim) and not lost:
            self.claims[i] = reply
            self.walks[i].adopt(reply.slot, reply.start, reply.until, *self.timing(reply))

    def do_renew(self, i, lost):
        claim = self.claims[i]
        target = claim.until + WANT
        reply = self.record.renew(self.terms, self.ask(claim), self.us, "toy", target)
        if isinstance(reply, Claim) and not lost:
            self.claims[i] = reply
            self.walks[i].prolong(reply.until, *self.timing(reply))

    def do_release(self, i, _):
        claim, self.claims[i] = self.claims[i], None
        used = self.walks[i].leave()
        if self.network:
            self.old[i] = claim, used
        self.record.release(self.terms, self.ask(claim), self.us, "toy", used)

    def do_release_again(self, i, _):
        claim, used = self.old[i]
        self.record.release(self.terms, self.ask(claim), self.us, "toy", used)

    def do_die(self, i, _):
        self.claims[i] = self.old[i] = None
        self.walks[i] = self.new_walk()

    def do_draw(self, i, _):
        answer = self.walks[i].poll()
        if isinstance(answer, int):
            if answer in self.issued:
                self.duplicate = answer
            self.issued |= {answer}


def explore(world_type, *shape, limit=10**7, **options):
    """(states seen, IDs of the fullest state, a shortest schedule that repeats an ID or None)."""
    start = world_type(*shape, **options)
    seen, queue, most = {start.key(): None}, deque([(start, start.key())]), 0
    while queue and len(seen) < limit:
        world, key = queue.popleft()
        most = max(most, len(world.issued))
        for action in world.actions():
            then = world.copy()
            then.do(*action)
            if then.duplicate is not None:
                path = [action]
                while seen[key]:
                    key, step = seen[key]
                    path.append(step)
                return len(seen), most, path[::-1]
            new = then.key()
            if new not in seen:
                seen[new] = key, action
                queue.append((then, new))
    return len(seen), most, None


WORLDS = {
    "3 members, 1 slot, 2 ticks of 2 IDs": ((1, 0, 1, 3), {"network": False}),
    "3 members, 2 slots, 2 ticks of 1 ID": ((1, 1, 0, 3), {"network": False}),
    "2 members, 1 slot, 4 ticks of 1 ID": ((2, 0, 0, 2), {"network": False}),
    "3 members, 1 slot, 2 ticks, clock back, lost and late": ((1, 0, 0, 3), {"backs": 1}),
}
# Those with most states.
LONG = {
    "3 members, 2 slots, 2 ticks of 1 ID",
    "3 members, 1 slot, 2 ticks, clock back, lost and late",
}


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        pytest.param(*world, id=name, marks=[pytest.mark.long] if name in LONG else [])
        for name, world in WORLDS.items()
    ],
)
def test_no_schedule_repeats_an_id(shape, options):
    states, most, path = explore(World, *shape, **options)
    assert path is None, path
    assert states > 1000
    assert most == 1 << sum(shape[:3])


@pytest.mark.parametrize("broken", [NoFloor, NoToken, ReleasesTooMuch, ForgetsGrants])
def test_a_broken_record_is_caught(broken):
    world = type("Broken", (World,), {"record_type": broken})
    _, _, path = explore(world, 2, 0, 1, 2, limit=20_000)
    assert path is not None


def test_a_broken_walk_is_caught():
    world = type("Broken", (World,), {"walk_type": Rereads})
    _, _, path = explore(world, 2, 0, 1, 2, backs=1, limit=20_000)
    assert path is not None
