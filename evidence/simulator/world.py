"""A world: one seed's members, store and faults in virtual time, in one thread.

Events are in a heap by their moment. A member that waits for a reply lets the world continue from
inside its call (``pass_to``), so that everything else, including its own threads, happens
meanwhile. So a pause can fall between any two steps without a change to the real code. A reply that
has to wait for another member's longer call is late, which is allowed.

Every run ends without faults: the clocks are corrected, and then each member must issue IDs again.
How long that may take depends on what it waits for: the guard of a loss (one horizon), the claims
of others if the pool is full (one more), its own rest between two bursts (up to six), and a ``now``
that is ahead until the true time reaches it. If all members share one slot, they wait in turn.
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

from evidence.simulator.clock import WrongClock
from evidence.simulator.faults import strike
from evidence.simulator.ledger import Ledger
from evidence.simulator.loss import is_outside
from evidence.simulator.marks import Marks
from evidence.simulator.network import SimulatedRegistry
from evidence.simulator.order import Order
from evidence.simulator.process import Process, SimulatedSense
from evidence.simulator.schedule import Fault, Schedule
from evidence.simulator.store import SimulatedStore
from evidence.simulator.violation import Overlap, Violation
from frazil.claims.claim import LastSeen, VerbRequest
from frazil.claims.record import Record
from frazil.claims.shelves import counted, divided, united
from frazil.generator.block_policy import BlockPolicy
from frazil.generator.order import Order as IdOrder
from frazil.generator.order import rises
from frazil.generator.request import walk_arguments
from frazil.generator.timed_policy import TimedPolicy
from frazil.registries.base import terms_of
from frazil.schemes.scheme import Scheme, scheme
from frazil.walk.atomic import AtomicWalk
from frazil.walk.walk import COMPILED, Walk

__all__ = ["Outcome", "Parts", "World", "run"]

_START_US = 1_800_000_000_000_000
_EVENTS = 200_000
_MOST_WAITING = 30  # with more there are no faults: the dead too are on the stack until a reply


@dataclass(frozen=True, slots=True)
class Parts:
    """The code under test, or a broken variant of it, which is a canary.

    walk: None for the real one; of the two interpreted ones the schedule chooses.
    """

    record: type[Record] = Record
    walk: type[Walk] | None = None
    timed: type[TimedPolicy] = TimedPolicy
    blocks: type[BlockPolicy] = BlockPolicy
    registry: type[SimulatedRegistry] = SimulatedRegistry
    notices_forks: bool = True
    matches_replies: bool = True


@dataclass(slots=True)
class Outcome:
    """The result of a run. node_us: simulated time times members. violation: or None.

    outside: it ended at a repeat outside the promise, after a loss of which nobody could tell.
    """

    schedule: Schedule
    violation: str | None
    at_us: int
    ids: int
    node_us: int
    marks: Marks
    outside: bool = False


@lru_cache(maxsize=256)
def _scheme(layout: str) -> Scheme:
    return scheme(layout)


class World:
    """One run of a schedule."""

    def __init__(self, schedule: Schedule, parts: Parts) -> None:
        self.schedule = schedule
        self.parts = parts
        self.now_us = _START_US
        self.marks = Marks()
        self.scheme = _scheme(schedule.layout)
        self.plain_terms = terms_of(self.scheme, schedule.horizon_us)
        self.terms = counted(self.plain_terms, schedule.shelves)
        self.ledger = Ledger(self.terms, *schedule.low_bits)
        self.order = Order(self.terms, schedule.lead_us)
        self.ids_order: IdOrder | None = None  # if the members answer each other's IDs
        self.newest_id = -1
        self._calmed = False
        if schedule.seed % 4 == 1 and rises(self.scheme):
            self.ids_order = IdOrder(self.scheme, schedule.horizon_us)
        self.store = SimulatedStore(
            parts.record,
            WrongClock(lambda: self.now_us),
            lambda: self.now_us,
            schedule.horizon_us // 16,
            schedule.shelves,
            self.terms.nodes,
        )
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._waiting = 0
        self._events = 0
        self._arguments: tuple[Any, ...] = walk_arguments(self.scheme, schedule.lead_us, None)
        guarded = schedule.guarded and not COMPILED
        walk_type = parts.walk or (AtomicWalk if guarded else Walk)
        self.guards = issubclass(walk_type, AtomicWalk)
        self._walk_type = walk_type
        if schedule.initialised:
            self._initialise()
        else:
            self._call_help()
        self.members = [Process(self, number) for number in range(schedule.members)]
        self.started_us = self.now_us

    def _initialise(self) -> None:
        ask = VerbRequest(LastSeen(), self.now_us, "start")
        records = {shelf: self.store.copy(shelf) for shelf in range(self.schedule.shelves)}
        whole = united(list(records.values()), self.terms.nodes)
        whole.initialise(self.terms, ask, self.now_us, self.store.incarnation, 0)
        divided(whole, list(records.values()))
        self.store.keep(records)

    def new_walk(self, identity: SimulatedSense) -> Walk:
        """A walk of this world's scheme."""
        return self._walk_type(identity, *self._arguments)

    def at(self, us: int, do: Callable[[], None]) -> None:
        """Schedule a function at a moment of true time."""
        self._events += 1
        heapq.heappush(self._heap, (us, self._events, do))

    def pass_to(self, us: int) -> None:
        """Run all events until then. Members that wait for a reply are on the stack."""
        heap = self._heap
        self._waiting += 1
        try:
            while heap and heap[0][0] <= us:
                at_us, number, do = heapq.heappop(heap)
                self.now_us = max(self.now_us, at_us)
                if number > _EVENTS:
                    raise Violation("the events do not end: something does not wait")
                do()
        finally:
            self._waiting -= 1
        self.now_us = max(self.now_us, us)

    def strike(self, fault: Fault) -> None:
        """Cause a fault. If it destroys a counter, an operator repairs that later."""
        if self._calmed:  # it was to strike a request that is still on its way
            return
        if fault.asking:
            struck = partial(self.strike, replace(fault, asking=False))
            self.members[fault.member].link.struck.append(struck)
            return
        if self._waiting > _MOST_WAITING:
            return
        strike(self, fault)
        for loss in self.store.losses:
            loss.struck.add(fault.member)
        if self.store.forgotten:
            self._call_help()

    def _call_help(self) -> None:
        if not self.terms.timed:
            self.at(self.now_us + 3 * self.schedule.horizon_us, self._help)

    def _help(self) -> None:
        """Do what the error says: restart the lost counter after all values that it ever gave.

        The members go on: what they hold is below the new start.
        """
        store = self.store
        if not store.forgotten and store.record.sid:
            return
        if store.silent:
            store.restart(replaced=True)
        record = store.copy(0)  # a counter has one record
        ask = VerbRequest(LastSeen(), self.now_us, f"help{self.now_us}")
        start = self.ledger.moved_on(record)
        record.initialise(self.terms, ask, self.now_us, store.incarnation, start)
        store.keep({0: record})
        self.marks.hit("counter moved on")

    def is_paused(self, holder: str) -> bool:
        """Whether the process with this holder name is paused now."""
        number = int(holder) if holder else -1
        paused = (p.paused_until_us > self.now_us for p in self.members if p.number == number)
        return any(paused)

    def add(self) -> Process:
        """Add a member."""
        process = Process(self, len(self.members))
        self.members.append(process)
        return process

    def go(self) -> None:
        """Run the schedule, and then a time without faults. Raises Violation."""
        for fault in self.schedule.faults:
            self.at(self.started_us + fault.at_us, partial(self.strike, fault))
        self.pass_to(self.started_us + self.schedule.lasts_us)
        self._calm()
        before = [process.issued for process in self.members]
        horizon_us = self.schedule.horizon_us
        patience_us = 10 * horizon_us + 10_000_000 + self.store.ever_ahead_us
        until_us = self.now_us + patience_us * (1 + len(self.members))
        while hungry := [
            process.number
            for process, issued in zip(self.members, before, strict=True)
            if process.issued == issued
        ]:
            if self.now_us > until_us:
                raise Violation(f"no IDs for members {hungry} although there are no faults")
            self.pass_to(self.now_us + horizon_us)

    def _calm(self) -> None:
        """End all faults."""
        self._calmed = True
        self.store.down_until_us = 0
        self.store.clock.put_right()
        if not self.terms.timed:
            self._help()
        for process in self.members:
            process.link.until_us.clear()
            process.link.struck.clear()
            process.clock.put_right()
            process.paused_until_us = min(process.paused_until_us, self.now_us)


def run(schedule: Schedule, parts: Parts | None = None) -> Outcome:
    """Run a schedule. The outcome has the violated invariant, if any."""
    world = World(schedule, parts or Parts())
    violation, outside = None, False
    try:
        world.go()
    except Violation as found:
        if isinstance(found, Overlap) and world.terms.timed and is_outside(world):
            outside = True
        else:
            violation = str(found)
    passed_us = world.now_us - world.started_us
    return Outcome(
        schedule=schedule,
        violation=violation,
        at_us=passed_us,
        ids=len(world.ledger.ids),
        node_us=passed_us * len(world.members),
        marks=world.marks,
        outside=outside,
    )
