"""A walk with its keeper: IDs while there are claims, and a wait until there is one.

The walk returns an ID, a wait, or "no claim"; a caller needs an ID. This module sleeps for a wait,
calls the keeper without a claim, starts a new keeper after a fork, and raises an error if a wait
does not help. A waiting caller holds neither a lock nor the interpreter, and does not poll: it
sleeps for the time of the walk's answer, or until the keeper wakes it.

Threads wait here, tasks in ``frazil.aio``. Their common steps between two waits are Python
generators (``taking``, ``filling``) that yield each pause.

**A fork is a new owner.** In a child the identity check of each walk fails (see
``system.process``). The walk forgets the claim, which is its parent's, and calls a keeper of its
own when it needs an ID. If a signal handler forks while a call collects many IDs, the child begins
that call again.

**An exception may come between any two lines**, from a signal handler (Ctrl-C, an alarm, a task
queue's time limit). So no line relies on a later one to complete its work. No list of IDs outlives
the call. A step of the walk is done or not done. A change for all callers (a new keeper after a
fork, the end at ``close``) is complete, or the next call makes it again. No caller waits for
another one.
"""

import os
import sys
import time
from collections.abc import Callable, Generator
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias

from frazil.errors import FrazilError
from frazil.generator.calls import Call, Gate
from frazil.generator.complaints import closed, outlook
from frazil.generator.keeper import Keeper
from frazil.generator.order import After, Marks, Order, rises
from frazil.generator.request import Duration, OpenRequest, patience_us, walk_arguments
from frazil.generator.status import MARGIN_MOST_S, Status, freed, open_generators
from frazil.inputs.duration import offset_text
from frazil.system import clock
from frazil.system.cached import Cached
from frazil.system.clock import boot_ns
from frazil.system.event_loop import warn_if_blocked
from frazil.system.fork_gate import waiting
from frazil.system.process import ProcessIdentity
from frazil.walk.walk import CLOSED, COMPILED, FORKED, SPENT, Pause, Walk

Pauses: TypeAlias = Generator[tuple[int, int], None, None]
"""Yields each pause of the walk, with the moment at which the caller began to wait."""

_LONGEST_NAP_NS = 50_000_000  # then a close by another thread is noticed
_DOUBTED_US = 100_000  # members of one store with no lead do not differ by so much
_ASKING_NS = 1_000_000_000  # a store that hangs holds up no caller for longer
_GLANCE_NS = 500_000
_NOTICED_NS = 100_000_000  # users of a server notice a longer wait
_BLOCKS = {"run": 1, "sequence": 1000}


if TYPE_CHECKING or not COMPILED:
    from frazil.walk.atomic import AtomicWalk as _Base
else:
    _Base = Walk


class KeptWalk(_Base):
    """A walk through the claims that its keeper gets from the registry. Threads may share it."""

    def __init__(self, request: OpenRequest) -> None:
        seed = int.from_bytes(os.urandom(6), "big") if request.scattered else None
        super().__init__(ProcessIdentity(), *walk_arguments(request.scheme, request.lead_us, seed))
        self.rising = rises(request.scheme)
        self.request = request
        self.registry = request.connect()
        usual = _BLOCKS.get(request.scheme.layout.axis, 0)
        self._block = usual if request.block is None else request.block
        self._doubted_us = request.lead_us + _DOUBTED_US
        self._asking_ns = min(request.timeout_us * 1000, _ASKING_NS)
        self._warned = False
        self._keepers = {self.identity.era: self._new_keeper()}
        self.waits = self.failures = self._inherited = 0
        open_generators.add(self)

    @property
    def keeper(self) -> Keeper:
        """The keeper of this process."""
        return self._keepers[self.identity.era]

    def _new_keeper(self) -> Keeper:
        return Keeper(self, self.registry, self._block, self.request.keep_us)

    def poll(self) -> int | Pause:
        """An ID, or a Pause."""
        answer = super().poll()
        if self.wanting:
            self.keeper.look_ahead()
        return answer

    def take_ready(self, count: int) -> list[int]:
        ids = super().take_ready(count)
        if self.wanting:
            self.keeper.look_ahead()
        return ids

    def fill(self, out: Any, at: int) -> int:
        at = super().fill(out, at)
        if self.wanting:
            self.keeper.look_ahead()
        return at

    def taking(self, ids: list[int], count: int) -> Pauses:
        """Take more IDs until the list has ``count``."""
        since_ns = boot_ns()
        while len(ids) < count:
            yield self.pause_ns(), since_ns
            more = self.take_ready(count - len(ids))
            if more:
                ids += more
                since_ns = boot_ns()

    def filling(self, out: Any, at: int, size: int) -> Pauses:
        """Write IDs into ``out`` from index ``at`` to ``size``."""
        since_ns = boot_ns()
        while True:
            before, at = at, self.fill(out, at)
            if at >= size:
                return
            if at > before:
                since_ns = boot_ns()
            yield self.pause_ns(), since_ns

    @Cached
    def order(self) -> Order:
        """The order of its IDs. Raises ConfigError if they do not sort by time."""
        terms = self.registry.terms
        return Order(self.request.scheme, terms.horizon_ticks * terms.tick_us)

    def marks(self, after: After, *, trusted: bool = True) -> Marks | None:
        """See ``Order.marks``; None without any."""
        return None if after is None else self.order.marks(after, trusted=trusted)

    def passing(self, marks: Marks | None) -> Pauses:
        """Move the cursor past the marks: every ID that is taken after this is greater.

        A claim that another thread gets meanwhile begins with a later tick, so its IDs are greater,
        too. A mark that is far ahead may be of a member that knows of a step of the store's clock,
        so the store is asked first. Raises CodecError as ``Order.greatest``.
        """
        since_ns, asked = boot_ns(), False
        while marks is not None and marks.numbers:
            wait_ns = self.pause_ns()
            if not wait_ns:
                now_tick = self.due_now()
                ahead = self.order.tick(max(marks.numbers)) - now_tick
                if not asked and ahead * self.registry.terms.tick_us > self._doubted_us:
                    asked = True
                    keeper, until_ns = self.keeper, since_ns + self._asking_ns
                    if keeper.doubt():
                        while keeper.doubted and boot_ns() < until_ns:
                            yield _GLANCE_NS, since_ns
                        continue
                n = self.order.greatest(marks, now_tick)
                if n is None:
                    return
                node = self.node
                wait_ns = self.advance(self.order.tick(n), self.order.cell_after(n, node), node)
                if not wait_ns:
                    return
                if wait_ns > self.request.timeout_us * 1000:
                    raise self.order.too_early(wait_ns / 1e9)
            yield wait_ns, since_ns

    def stalled_after(self, seen: tuple[Any, ...], trusted: bool) -> int:  # noqa: FBT001
        marks = self.marks(seen, trusted=trusted)
        while True:
            identity = self.own_identity()
            for pause_ns, since_ns in self.passing(marks):
                self.wait(pause_ns, since_ns)
            n = self.stalled()
            if identity.mine:
                return n

    def ready_us(self, timeout: Duration | None) -> int:
        """How long ``ready`` waits."""
        return self._most_us(patience_us(timeout))

    def readying(self) -> Pauses:
        """Wait until there is a cell for the next ID; none is used."""
        since_ns = boot_ns()
        while pause_ns := self.pause_ns():
            yield pause_ns, since_ns

    def own_identity(self) -> ProcessIdentity:
        """The identity of this process, for a call that begins.

        A signal handler may fork in the middle of a call. The child continues the call with IDs of
        its parent. So each call that collects IDs checks this identity as the last thing before it
        returns.
        """
        if not self.identity.mine:
            self.restart_after_fork()
        return self.identity

    def stalled(self) -> int:
        """The next ID, when the quick call found none."""
        since_ns = boot_ns()
        while True:
            identity = self.own_identity()
            answer = self.poll()
            if isinstance(answer, Pause):
                self.wait(answer.wait_ns, since_ns)
            elif identity.mine:
                return answer

    def restart_after_fork(self) -> None:
        """After a fork: forget the parent's claim, and start a keeper.

        Threads and signal handlers may do it at the same time. They agree on one keeper, and one of
        them changes the walk, in one step; none waits for another.
        """
        identity = ProcessIdentity()
        self._keepers.setdefault(identity.era, self._new_keeper())
        self.waits = self.failures = 0
        self._inherited = self.made()
        self.restart(identity)

    def call_keeper(self, call: Call, most_us: int | None) -> None:
        """Wake ``call`` when there is a claim, or an error."""
        self.waits += most_us is None
        self.keeper.call(call)

    def nap_ns(self, pause_ns: int, since_ns: int, most_us: int | None = None) -> int | None:
        """How long to sleep for a pause of the walk; None: until the keeper has a claim.

        since_ns: when the caller began to wait. most_us: how long it waits, if it needs no ID
        (``ready``) and so is not counted; None: the generator's timeout. Raises an error if a wait
        does not help.
        """
        if pause_ns == FORKED:
            self.restart_after_fork()
            return 0
        if pause_ns == CLOSED:
            raise closed()
        if pause_ns == SPENT:
            return None
        waited_ns = boot_ns() - since_ns
        if waited_ns + pause_ns > self._most_us(most_us) * 1000 + _LONGEST_NAP_NS:
            raise self.unserved(since_ns, most_us, pause_ns)
        return min(pause_ns, _LONGEST_NAP_NS)

    def patience_s(self, since_ns: int, most_us: int | None = None) -> float:
        """The seconds left for a caller that began to wait at ``since_ns``."""
        return max(self._most_us(most_us) / 1e6 - (boot_ns() - since_ns) / 1e9, 0.0)

    def _most_us(self, most_us: int | None) -> int:
        return self.request.timeout_us if most_us is None else most_us

    def wait(self, pause_ns: int, since_ns: int, most_us: int | None = None) -> None:
        """Wait as long as the walk says, or for a claim. Raises as ``nap_ns`` does."""
        nap_ns = self.nap_ns(pause_ns, since_ns, most_us)
        if nap_ns is not None:
            if boot_ns() - since_ns > _NOTICED_NS:
                self._warn_once()
            with waiting():
                time.sleep(nap_ns / 1e9)
            return
        gate = Gate()
        try:
            self.call_keeper(gate, most_us)
            patience_s, noticed_s = self.patience_s(since_ns, most_us), _NOTICED_NS / 1e9
            answered = gate.wait(min(patience_s, noticed_s))
            if not answered and patience_s > noticed_s:
                self._warn_once()
                answered = gate.wait(patience_s - noticed_s)
            if not answered:
                raise self.unserved(since_ns, most_us)
            error = gate.error
        finally:
            del gate  # the call ends here, even if a traceback keeps this frame
        if error is not None:
            raise self.failed(error.again(), most_us)

    def unserved(self, since_ns: int, most_us: int | None, pause_ns: int = 0) -> FrazilError:
        """The error of a caller that began to wait at ``since_ns``, and would wait for longer."""
        waited_s = (boot_ns() - since_ns) / 1e9
        return self.failed(self.keeper.policy.complaint(waited_s, pause_ns / 1e9), most_us)

    def failed(self, error: FrazilError, most_us: int | None) -> FrazilError:
        """The error with which a call ends."""
        self.failures += most_us is None
        return error

    def status(self) -> Status:
        """See ``frazil.Generator``."""
        policy, journal, terms = self.keeper.policy, self.keeper.journal, self.registry.terms
        scheme, now_us, trouble = self.request.scheme, clock.wall_us(), policy.trouble
        margin_s = min(terms.horizon_ticks * terms.tick_us / 4e6 or inf, MARGIN_MOST_S)
        own = self.identity.intact()  # else a child has not used it yet
        held = self.held and own
        about: dict[str, Any] = {}
        if held and terms.timed:
            tick_s, due = terms.tick_us / 1e6, self.due_now()
            about = {
                "node": self.node,
                "claimed_until": clock.moment(self.until * terms.tick_us + terms.epoch_us),
                "lead_s": max(0, self.tick - due) * tick_s,
                "clock_offset_s": (now_us - terms.epoch_us) / 1e6 - (due + 0.5) * tick_s,
                "seconds_left": self.reach() * tick_s,
                "blocked": (self.start - due) * terms.tick_us > self.request.lead_us,
            }
        elif held:
            issued, since_ns = policy.metered
            made, passed_s = self.made() - issued, (self.identity.now_ns() - since_ns) / 1e9
            left = self.left() * (
                1 if scheme.layout.axis == "sequence" else scheme.layout.sequences
            )
            about = {"seconds_left": left * passed_s / made if made > 0 else None}
        elif terms.timed:
            waits = policy.wait_cause is not None and trouble is None
            about = {"seconds_left": 0.0, "lead_s": 0.0, "blocked": waits}
        apart_us = journal.apart_us
        if apart_us is not None:
            about["clock_offset_s"] = apart_us / 1e6
        if apart_us is not None and trouble is None and not about["seconds_left"]:
            which = "ahead of" if apart_us < 0 else "behind"
            why = f"the store's clock is {offset_text(abs(apart_us))} {which} this host's"
            about |= {"blocked": True, "why_blocked": why}
        elif about.get("blocked"):
            about["why_blocked"] = outlook(policy.state())
        left_s = about.get("seconds_left")
        chosen = scheme.layout.epoch_us is not None
        ends_us = scheme.layout.exhausted_us if terms.timed and chosen else None
        return Status(
            namespace=terms.namespace or self.request.namespace,
            scheme=scheme.name,
            store=self.registry.url,
            closed=self.closed,
            issued=self.made() - self._inherited if own else 0,
            waits=self.waits if own else 0,
            failures=self.failures if own else 0,
            store_away_s=self.keeper.away_s(3 * margin_s if left_s is None or not held else left_s),
            store_errors=policy.failures if own else 0,
            last_error=journal.last_error,
            last_error_at=clock.moment(journal.last_error_us) if journal.last_error else None,
            claimed=held,
            exhausted_in_s=None if ends_us is None else (ends_us - now_us) / 1e6,
            margin_s=margin_s,
            **about,
        )

    def _warn_once(self) -> None:
        """Warn once of a wait in a thread that runs an event loop, which then stands still."""
        cure = ", or wait at start-up: await asyncio.to_thread(ids.ready)"
        self._warned = self._warned or warn_if_blocked(self.registry.url, cure)

    def close(self) -> None:
        """Stop issuing, and give back the unused rest of the claim."""
        self.keeper.close(self.finish())

    def __del__(self, ending: Callable[[], bool] = sys.is_finalizing) -> None:
        # At the end of the process ``atexit`` has closed it, and no module may be left to use.
        if "_keepers" in self.__dict__ and not ending():
            freed(self.status())
            self.keeper.end(self.finish(), Gate())
