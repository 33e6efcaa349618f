"""A simulated process: the real walk, the real keeper without its thread, and its own clocks.

Between the two a generator calls the keeper when the claim is spent, waits as long as the walk
says, and starts again in a fork; here events do that instead of sleeps. Every action of a process
belongs to one *life* of it: after a crash, the remaining actions of the old life have no effect.
"""

from collections.abc import Callable
from copy import copy
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any
from weakref import ref

from evidence.simulator.clock import BootClock, WrongClock
from evidence.simulator.loss import UNKNOWN
from evidence.simulator.network import Link
from evidence.simulator.order import CRYSTAL_PPM, Base
from evidence.simulator.striking import Striker, Struck
from evidence.simulator.violation import Violation
from frazil.claims.claim import Claim, LastSeen, VerbRequest, Wait
from frazil.errors import FrazilError
from frazil.generator.calls import Call, Calls, Gate
from frazil.generator.order import Marks
from frazil.generator.request import walk_arguments
from frazil.system.process import ProcessIdentity
from frazil.system.steps import run_by
from frazil.walk.walk import FORKED, SPENT, Pause, Walk

if TYPE_CHECKING:
    from evidence.simulator.world import World

__all__ = ["Died", "Process", "SimulatedSense"]

_NOTHING_YET = -1, -1
_MOST_MINTS = 4  # of one process at a time; each is on the stack until its reply comes


class Died(BaseException):
    """The process was killed while it waited."""


class SimulatedSense(ProcessIdentity):
    """The identity of a process: its boot clock, and whether it is still the same process."""

    def __init__(self, process: "Process", era: int) -> None:
        super().__init__()
        self.process = process
        self.own = era

    def now_ns(self) -> int:
        """Nanoseconds since the process's host was booted."""
        return self.process.boot_clock.reading_ns()

    def intact(self) -> bool:
        """Whether this era is still the process's."""
        return self.own == self.process.era or not self.process.world.parts.notices_forks


class SimulatedKeeper:
    """The real policy; events replace the waiting of the keeper's thread."""

    def __init__(self, process: "Process", walk: Walk, identity: SimulatedSense) -> None:
        self._process = process
        terms, parts = process.registry.terms, process.world.parts
        kind = parts.timed if terms.timed else parts.blocks
        self.policy = kind(
            ref(walk),
            process.registry.url,
            terms,
            process.world.schedule.block,
            identity=identity,
            wall_us=process.clock.reading_us,
            jitter=process.jitter,
            ask_of=process.ask,
            keep_us=process.world.schedule.keep_us,
        )
        self.busy = False
        self._rung = False
        self._looks = 0

    def inherit(self, other: "SimulatedKeeper") -> None:
        """Become the copy that a fork makes of another process's keeper."""
        mine, self.policy = self.policy, copy(other.policy)
        self.policy.walk, self.policy.identity = mine.walk, mine.identity
        self.policy.ask_of, self.policy.jitter = mine.ask_of, mine.jitter
        self.policy.calls, self.policy.closers = Calls(), Calls()

    def call(self, call: Call) -> None:
        """As ``Keeper.call``."""
        if self.policy.call(call):
            self._ring()

    def look_ahead(self) -> None:
        """As ``Keeper.look_ahead``."""
        if self.policy.look_ahead():
            self._ring()

    def end(self, used: int, call: Call) -> None:
        """As ``Keeper.end``."""
        if self.policy.end(used, call):
            self._ring()

    def _ring(self) -> None:
        self._process.later(0, self._attend)

    def _attend(self) -> None:
        if self.busy:
            self._rung = True
            return
        self.busy, self._rung = True, False
        try:
            wait_s = run_by(self.policy.round(), lambda verb: verb(self._process.registry))
        finally:
            self.busy = False
        if self.policy.ended:
            return
        if self._rung:
            self._ring()
        elif wait_s is not None:
            self._looks += 1
            self._process.later(int(wait_s * 1e6) + 1, partial(self._look, self._looks))

    def _look(self, number: int) -> None:
        if number == self._looks:
            self._attend()


class _Drawing(Call):
    """The call of a process that takes IDs. Only the process holds it, like a caller's frame."""

    __slots__ = ("_process",)

    def __init__(self, process: "Process") -> None:
        self._process = process

    def wake(self, error: FrazilError | None) -> None:
        """See Call."""
        self._process.told(error)


class Process:
    """One member, through all its lives. number: identifies it, also as the holder of claims."""

    def __init__(self, world: "World", number: int) -> None:
        self.world = world
        self.number = number
        self.rng = Random(f"{world.schedule.seed} {number}")  # noqa: S311 - no secrets
        self.link = Link(Random(f"{world.schedule.seed} {number} link"))  # noqa: S311 - the same
        self.clock = WrongClock(lambda: world.now_us)
        self.registry = world.parts.registry(self, world.plain_terms)
        self.life = 0
        self.era = 1
        self.paused_until_us = 0
        self.issued = 0
        self.knows_us = UNKNOWN
        self._minting = 0
        self._call: Call | None = None
        self._answers = Random(f"{world.schedule.seed} {number} answers")  # noqa: S311 - the same
        self.striker = Striker(guarded=world.guards)
        self.boot_clock = BootClock(
            lambda: world.now_us, self.rng.randint(-CRYSTAL_PPM, CRYSTAL_PPM)
        )
        interval_us = world.schedule.horizon_us * self.rng.choice((0.1, 0.3, 1.0, 6.0))
        self._interval_us = max(int(interval_us), world.schedule.tick_us // 4, 1000)
        self._burst = self.rng.choice((1, 1, 2, 8))
        self.begin()

    def begin(self) -> None:
        """Start a new life, without a memory."""
        self.life += 1
        self.era += 1
        self.link.strays = []  # another connection
        self.knows_us = UNKNOWN
        self.identity = SimulatedSense(self, self.era)
        self.walk = self.world.new_walk(self.identity)
        self.keeper = SimulatedKeeper(self, self.walk, self.identity)
        self._last = _NOTHING_YET
        self._counts: dict[int, tuple[int, int]] = {}
        self._since: int | None = None
        self._struck = False
        self._left = self._burst
        self._seen: int | None = None
        self._exceeds = -1
        self.later(int(self.rng.random() * self._interval_us), self._draw)

    def ask(
        self, seen: LastSeen, held: Claim | None = None, rate_hz: int | None = None
    ) -> VerbRequest:
        """A request from this process, now."""
        del rate_hz
        token = f"{self.rng.getrandbits(64):016x}"
        boot_us = self.boot_clock.reading_ns() // 1000
        return VerbRequest(seen, self.clock.reading_us(), token, str(self.number), held, boot_us)

    def jitter(self) -> float:
        """A number between a half and one."""
        return 1 - self.rng.random() / 2

    def later(self, us: int, do: Callable[[], None]) -> None:
        """Schedule an action of this life after some true time."""
        self.world.at(self.world.now_us + us, partial(self._do, self.life, do))

    def _do(self, life: int, do: Callable[[], None]) -> None:
        if life != self.life:
            return
        if self.world.now_us < self.paused_until_us:
            self.world.at(self.paused_until_us, partial(self._do, life, do))
            return
        try:
            do()
        except Died:
            return

    def spend(self, us: int) -> None:
        """Let time pass for a thread of this process, and longer if the process is paused.

        Raises Died if the process is killed meanwhile.
        """
        life = self.life
        self.world.pass_to(self.world.now_us + us)
        while life == self.life and self.world.now_us < self.paused_until_us:
            self.world.pass_to(self.paused_until_us)
        if life != self.life:
            raise Died

    def _draw(self) -> None:
        """Take a few IDs as they come, and schedule the next; also after an exception."""
        try:
            self._draw_ready()
        except Struck:
            self.world.marks.hit("struck in a step")
            self._struck = True
            self.later(1, self._draw)

    def _poll(self) -> int | Pause:
        """As ``Generator.poll``."""
        tick = self.walk.tick
        answer = self.walk.poll()
        self._entered(tick)
        if self.walk.wanting:
            self.keeper.look_ahead()
        return answer

    def _pass(self) -> int:
        """As ``KeptWalk.passing``, for an ID of another member that this one answers."""
        order, walk = self.world.ids_order, self.walk
        wait_ns = walk.pause_ns()
        if wait_ns or order is None or self._seen is None:
            return wait_ns
        now_tick = walk.due_now()
        n = order.greatest(Marks([self._seen], trusted=False), now_tick)
        if n is None:  # made before a loss, by a clock that was ahead
            self._seen = None
            return 0
        tick = walk.tick
        wait_ns = walk.advance(order.tick(n), order.cell_after(n, walk.node), walk.node)
        self._entered(tick)
        return wait_ns

    def _entered(self, before: int) -> None:
        """Check the tick entered since ``before``; a reply of a clock behind does not end it."""
        walk, world = self.walk, self.world
        if world.terms.timed and before < walk.tick > walk.start:
            ahead = walk.tick - walk.due_now()
            if ahead > world.schedule.lead_us // world.schedule.tick_us:
                raise Violation(f"tick {walk.tick} is {ahead} ticks ahead, more than the lead")

    def _answer(self) -> int:
        """Pass the ID that is answered. Returns 0, or why not yet."""
        wait_ns = self.striker.perform(self._pass)
        if not wait_ns and self._seen is not None:
            self._exceeds = max(self._exceeds, self._seen)
            self._seen = None
            self.world.marks.hit("answered")
        return wait_ns

    def _draw_ready(self) -> None:
        world = self.world
        begins = world.ids_order is not None and self._left == self._burst
        if begins and world.newest_id >= 0 and self._answers.random() < 0.5:
            self._seen = world.newest_id
        while self._left:
            if self._since is None:
                self._since = world.ledger.newest
            if self._seen is not None and (wait_ns := self._answer()):
                self._wait(wait_ns)
                return
            answer = self.striker.perform(self._poll)
            if not isinstance(answer, int):
                self._wait(answer.wait_ns)
                return
            self._left -= 1
            self._issue(answer)
            self._since = None
        self._left = self._burst
        rest_us = min(self.rng.expovariate(1.0), 3.0) * self._interval_us
        self.later(int(rest_us) + 1, self._draw)

    def _issue(self, number: int) -> None:
        walk = self.walk
        slot = walk.node
        if not self.world.terms.timed:
            self._count(number)
            return
        if number <= self._exceeds:
            raise Violation(f"{number} was made after {self._exceeds} was seen")
        self.world.newest_id = number
        self._last = self.world.ledger.issue(number, (slot, walk.start, walk.until), self._last)
        if self.world.order.issue(self.number, self._last[0], self.world.now_us):
            self.world.marks.hit("out of order")
        self.issued += 1
        if self._last[0] > walk.due_now():
            self.world.marks.hit("lead used")
        if self.clock.smearing:
            self.world.marks.hit("member smeared")

    def _count(self, number: int) -> None:
        """Check an ID without time: the values of one node follow each other."""
        walk, world = self.walk, self.world
        last = self._counts.get(walk.node, _NOTHING_YET)
        claim = walk.node, walk.start, walk.until
        self._counts[walk.node] = world.ledger.issue(number, claim, last, struck=self._struck)
        self._struck = False
        self.issued += 1
        if walk.queued:
            world.marks.hit("block queued")
        if world.schedule.block == 1 and world.schedule.axis == "sequence":
            self._strict(number)

    def _strict(self, number: int) -> None:
        """Check that a value fetched on request follows the values issued before."""
        self.world.marks.hit("strict")
        assert self._since is not None
        if not self.world.schedule.node_bits and number <= self._since:
            raise Violation(f"value {number} was requested after {self._since} was issued")

    def _wait(self, wait_ns: int) -> None:
        if wait_ns == SPENT:
            if self.world.now_us - self.paused_until_us < 1000:
                self.world.marks.hit("spent in pause")
            self._call = call = _Drawing(self)
            try:
                self.striker.perform(lambda: self.keeper.call(call))
            except Struck:
                self._call = None  # with its caller's frame
                self.world.marks.hit("struck while calling")
                raise
        elif wait_ns == FORKED:
            self.reborn()
            self.later(0, self._draw)
        elif wait_ns > 0:
            if self.world.schedule.lead_us:
                self.world.marks.hit("lead exhausted")
            self.later(wait_ns // 1000 + 1, self._draw)

    def told(self, error: FrazilError | None) -> None:
        """Continue: there is a claim, or an error and none for a while."""
        self.later(0 if error is None else self.world.schedule.horizon_us, self._draw)

    def reborn(self) -> None:
        """In a child: drop the parent's claim, as a generator does."""
        self.world.marks.hit("forked")
        self.knows_us = UNKNOWN
        self.identity = SimulatedSense(self, self.era)
        self.walk.restart(self.identity)
        self.keeper = SimulatedKeeper(self, self.walk, self.identity)
        self._last = _NOTHING_YET
        self._counts = {}
        self._exceeds = -1

    def fork_from(self, parent: "Process") -> None:
        """Become a child with a copy of its parent's memory."""
        theirs = parent.walk
        identity = SimulatedSense(self, self.era)
        self.walk = self.world.new_walk(identity)
        if theirs.held:
            first = max(theirs.start, theirs.tick + (not theirs.fresh))
            if first < theirs.until:
                now_ns = self.boot_clock.reading_ns()
                timed = self.world.terms.timed
                due = theirs.due_now() if timed else 0
                self.walk.adopt(theirs.node, theirs.start, theirs.until, due, 0, now_ns)
        identity.own -= 1  # the page is wiped
        self.keeper = SimulatedKeeper(self, self.walk, identity)
        self.keeper.inherit(parent.keeper)

    def crash(self) -> None:
        """Die, and start again after a while."""
        self.life += 1
        self.later(int(self.rng.random() * self._interval_us), self.begin)

    def boot(self, shown_us: int) -> None:
        """The host loses power and comes back; its wall clock shows this until it is corrected."""
        self.boot_clock.boot()
        self.clock.put_right()
        self.clock.show(shown_us)
        self.paused_until_us = self.world.now_us
        self.crash()

    def close(self) -> None:
        """Close the generator properly; a new one starts later."""
        if self.walk.held:
            self.world.marks.hit("closed while asking" if self.keeper.busy else "closed")
        try:
            self.striker.perform(lambda: self.keeper.end(self.walk.finish(), Gate()))
        except Struck:
            self.world.marks.hit("struck while closing")
        self.later(self.world.schedule.horizon_us * 2, self.begin)

    def mint(self) -> None:
        """Issue an ID without a claim, as ``frazil.mint`` does, and not before it is due."""
        if self._minting == _MOST_MINTS:
            return
        self._minting += 1
        sent_us = self.world.now_us
        try:
            reply = self.registry.mint(self.ask(LastSeen()), 1)
        except FrazilError:
            return
        finally:
            self._minting -= 1
        if isinstance(reply, Wait):
            return
        terms = self.world.terms
        most_us = reply.now_us - sent_us
        if not terms.timed:
            self._use(reply, most_us)
            return
        due_us = terms.epoch_us + (reply.until - 1) * terms.tick_us - self.world.schedule.lead_us
        self.later(max(0, due_us - reply.now_us), partial(self._use, reply, most_us))

    def _use(self, claim: Claim, most_us: int) -> None:
        """Make the IDs of a minted claim. most_us: how far ahead its clock may have been.

        Their ticks are at least the reply's ``now``, however long ago that was.
        """
        world = self.world
        base = Base(claim.now_us - world.now_us, most_us, world.now_us)
        world.marks.hit("minted")
        arguments: tuple[Any, ...] = walk_arguments(world.scheme, 0, None, clocked=False)
        walk = Walk(ProcessIdentity(), *arguments)
        walk.adopt(claim.slot, claim.start, claim.until, 0, 0, 0)
        last = _NOTHING_YET
        for number in walk.take_ready(2):
            last = world.ledger.issue(number, (claim.slot, claim.start, claim.until), last)
            if world.terms.timed:
                world.order.check(base, last[0], world.now_us)
