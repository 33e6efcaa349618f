"""The keeper: sees to it that a generator has a claim before it needs one.

A generator that asked its registry for each claim at the moment it ran out would stand still for a
round trip each time, and one that asked from whatever thread needs an ID would do I/O inside signal
handlers and hold up an event loop. So all talk with the registry happens here, in one thread of the
generator's own, started at the first need. Callers who find no claim leave a call and sleep.

With a clock:

- A busy generator's claim is renewed when less than half of what was wanted is left, and twice as
  much is wanted each time, up to the horizon; the first is 100 ms, so short lives burn little.
- A generator from which nothing was drawn since the last look gives the rest of its claim back.
- A claim that somebody else has taken over is used to its end; then there is a new one.

Without one (counters, runs) a claim is a block of a chosen size. When half of it is used the walk's
caller leaves a call, and the block is made longer; where somebody else came in between, another one
is queued behind it. So callers find the next block there, and nothing is asked by time.

A registry that does not answer is asked again after 50 ms, then twice as long each time up to
2 s, each with a random part so that a fleet does not return as one. The claim goes on meanwhile.

**Close, then release.** What is given back is decided in one step with the end of issuing, so that
no ID is made after it. **A child releases nothing**: fork copies this object, and ``atexit`` and
``__del__`` run in the child too; an object of another era only forgets.

The threads are daemons; ``atexit`` closes what is still open while they still run.
"""

import atexit
import os
import weakref
from _thread import allocate_lock
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread

from frazil import clock
from frazil.claim import Ask, Claim, Lost, Seen, Terms, Wait
from frazil.errors import (
    Closed,
    FrazilError,
    InternalError,
    PoolExhausted,
    RegistryUnavailable,
    TryLater,
)
from frazil.holder import Holder
from frazil.machine import Sense
from frazil.registries.base import Registry
from frazil.walk import Walk

__all__ = ["FIRST_CLAIM_US", "Keeper", "ask_of", "jitter", "pause_us"]

FIRST_CLAIM_US = 100_000
_FIRST_RETRY_S = 0.05
_LAST_RETRY_S = 2.0
_FAREWELL_S = 2.0

Wake = Callable[[FrazilError | None], None]


def ask_of(seen: Seen, held: Claim | None = None, rate_hz: int | None = None) -> Ask:
    """A verb's request from this process, now. rate_hz: how many IDs a second it issues."""
    return Ask(seen, clock.wall_us(), os.urandom(8).hex(), str(Holder.here(rate_hz)), held)


@dataclass(slots=True)
class Call:
    """A message to the thread: somebody needs a claim (wake), or the end (used, wake)."""

    wake: Wake
    used: int | None = None


class Keeper:
    """Keeps one walk supplied from one registry.

    walk: held weakly; the keeper ends with it. block: axis values to take at a time, for a layout
    without time. ``claim`` is the claim held, the later of two; ``trouble`` the error of a registry
    that does not answer, since ``trouble_since_us``, else None; ``failures`` counts such errors.
    """

    def __init__(self, walk: Walk, registry: Registry, block: int) -> None:
        self._walk = weakref.ref(walk)
        self.registry = registry
        self.terms: Terms = registry.terms
        self.claim: Claim | None = None
        self.trouble: TryLater | None = None
        self.trouble_since_us = 0
        self.failures = 0
        self._seen = Seen()
        self._sense = Sense()
        self._calls: SimpleQueue[Call] = SimpleQueue()
        self._unstarted = allocate_lock()
        self._called = False
        self._pending: list[Call] = []
        self._block = block
        self._asked = False
        self._want = self._first_want()
        self._renewable = False
        self._put_off = False
        self._tick = 0
        self._metered = 0, 0
        self._retry_s = _FIRST_RETRY_S
        self._rest_until_ns = 0
        self._ended = False
        _live.add(self)

    def call(self, wake: Wake) -> None:
        """Have ``wake`` called, from the keeper's thread, when the walk can go on (or cannot)."""
        self._post(Call(wake))

    def look_ahead(self) -> None:
        """Half of a block is used: have the next one fetched, and do not wait for it."""
        if not self._asked:
            self._asked = True
            self.call(_nobody)

    def end(self, used: int, *, wait: bool) -> None:
        """The walk has closed: give back its claim from ``used`` on, and end the thread."""
        if not self._sense.intact() or not self._called:
            return
        gate = allocate_lock()
        gate.acquire()
        self._post(Call(lambda _: gate.release(), used))
        if wait:
            gate.acquire(timeout=_FAREWELL_S)

    def finish(self) -> None:
        """At the interpreter's exit: close the walk, if it is this process's, and release."""
        walk = self._walk()
        if walk is not None and self._sense.intact() and not walk.closed:
            self.end(walk.finish(), wait=True)

    def complaint(self, waited_s: float) -> FrazilError:
        """Why a caller who waited so long has no ID."""
        trouble = self.trouble  # read once: the thread may hear the registry's answer meanwhile
        if isinstance(trouble, RegistryUnavailable):
            return RegistryUnavailable(
                f"no claim since {clock.moment_text(self.trouble_since_us)}: {trouble}. "
                "IDs go on by themselves when the registry answers again",
                **trouble.facts,
            )
        if not self.terms.timed:
            return PoolExhausted(
                f"no block from {self.registry.url} within {waited_s:.1f} s; take larger ones "
                "(block=), or wait longer (timeout=)",
                waited_s=waited_s,
            )
        none = f"no claim from {self.registry.url} within {waited_s:.1f} s"
        walk = self._walk()
        ahead = walk is not None and walk.left() > 0
        if not (self._put_off or ahead):
            return RegistryUnavailable(
                f"{none}: it has not answered yet, or this machine is too busy to hear it; wait "
                "longer (timeout=)",
                url=self.registry.url,
                outcome_known=False,
            )
        if ahead or self._renewable:
            reason = "the one held is ahead of the clock, as after a loss or a step of a clock"
            advice = "wait longer (timeout=), or allow a greater lead="
        else:
            count = len(self.terms.slots)
            reason = f"all {count} node numbers are in use, or it has forgotten who has them"
            advice = (
                "wait longer (timeout=), run fewer processes, or use a layout with more node bits; "
                "frazil claims shows who has them"
            )
        return PoolExhausted(f"{none}: {reason}; {advice}", waited_s=waited_s)

    def _post(self, call: Call) -> None:
        self._called = True
        self._calls.put(call)
        if not self._unstarted.locked():  # maybe twice, by a signal handler; one of them stays
            Thread(target=self._run, name="frazil-keeper", daemon=True).start()

    def _run(self) -> None:
        if not self._unstarted.acquire(blocking=False):
            return
        wait_s: float | None = None
        while not self._ended:
            wait_s = self._round(self._next_call(wait_s))

    def _round(self, call: Call | None) -> float | None:
        """Hear a call (None: none came), do what is due; answers as ``_tend`` does."""
        walk = self._walk()
        if call is not None and call.used is not None:
            self._ended = True
            self._depart(call, call.used)
            return None
        if walk is None:
            self._ended = True
            return None
        if call is not None:
            self._pending.append(call)
        return self._tend(walk)

    def _next_call(self, wait_s: float | None) -> Call | None:
        try:
            return self._calls.get(timeout=wait_s)
        except Empty:
            return None

    def _tend(self, walk: Walk) -> float | None:
        """Do what is due; answers after how many seconds to look again (None: when called)."""
        if walk.closed:
            self._wake(Closed("this generator was closed; open another"))
        elif self._pending and walk.left() > 0:
            self._wake(None)
        resting_ns = self._rest_until_ns - self._sense.now_ns()
        if resting_ns > 0:
            return resting_ns / 1e9
        try:
            if self._pending:
                self._supply(walk)
            elif self.claim is not None and self._ending(walk):
                self._look_after(walk)
        except TryLater as error:
            self._complain(error)
        except FrazilError as error:
            self.trouble = None  # it has answered, and to ask it again at once helps nobody
            self._wake(error)
        except Exception as error:  # noqa: BLE001 - a bug must not leave callers waiting
            self._wake(InternalError(f"the keeper failed: {error!r}; please report this"))
        return self._next_look_s(walk)

    def _supply(self, walk: Walk) -> None:
        """Callers wait: make the claim longer, or get another if it is somebody else's by now."""
        if self._renewable:
            self._renew(walk)
            self._put_off = self._renewable and not walk.left()
            if self._put_off:
                # As far ahead of the registry's clock as can be: only time helps.
                self._rest(int(self._want * self.terms.tick_us * self._jitter()) // 8)
        if not self._renewable:
            self._grant(walk)
        if walk.left() > 0:
            self._wake(None)

    def _look_after(self, walk: Walk) -> None:
        """Less than half is left: renew a busy walk's claim, give an idle one's back."""
        if not self.terms.timed:
            self._supply(walk)
            return
        busy = walk.tick != self._tick or not walk.begun()
        self._tick = walk.tick
        if not busy:
            self._release(walk.leave())
        elif self._renewable:
            self._renew(walk)

    def _grant(self, walk: Walk) -> None:
        sent_ns = self._sense.now_ns()
        reply = self.registry.grant(self._ask(), self._want)
        self._hear(reply.seen)
        self._put_off = isinstance(reply, Wait)
        if isinstance(reply, Wait):
            self._rest(pause_us(reply, self.terms, self._jitter()))
            return
        self.claim, self._renewable, self._tick = reply, True, walk.tick
        self._metered = walk.issued, sent_ns
        node = reply.slot % self.terms.nodes
        self._asked = False
        if walk.held and not self.terms.timed:
            walk.queue(node, reply.start, reply.until)
            return
        middle_ns = (sent_ns + self._sense.now_ns()) // 2
        walk.adopt(node, reply.start, reply.until, *reply.time(self.terms), middle_ns)

    def _renew(self, walk: Walk) -> None:
        """Ask for twice as much as last time, or a block more.

        A claim that is lost, or is at the end of a counter, is only used to its end.
        """
        claim = self.claim
        assert claim is not None
        sent_ns = self._sense.now_ns()
        if self.terms.timed:
            want = min(2 * self._want, self.terms.horizon_ticks)
            target = walk.until - walk.left() + want
        else:
            want = self._block
            target = claim.until + want
        reply = self.registry.renew(self._ask(claim, self._rate_hz(walk)), target)
        self._hear(reply.seen)
        if isinstance(reply, Lost) or not (self.terms.timed or reply.until > claim.until):
            self._renewable = False
            return
        self.claim, self._want, self._asked = reply, want, False
        middle_ns = (sent_ns + self._sense.now_ns()) // 2
        walk.prolong(reply.until, *reply.time(self.terms), middle_ns)

    def _ask(self, held: Claim | None = None, rate_hz: int | None = None) -> Ask:
        return ask_of(self._seen, held, rate_hz)

    def _rate_hz(self, walk: Walk) -> int:
        """IDs a second since this was last asked."""
        issued, since_ns = self._metered
        self._metered = walk.issued, self._sense.now_ns()
        return (walk.issued - issued) * 10**9 // max(1, self._metered[1] - since_ns)

    def _release(self, used: int) -> None:
        claim, self.claim = self.claim, None
        self._want = self._first_want()
        if claim is None or not self._renewable:
            return
        self._renewable = False
        # A walk that closed before it could adopt this claim knows only of an earlier one.
        reply = self.registry.release(self._ask(claim), max(used, claim.start))
        self._hear(reply.seen if isinstance(reply, Lost) else reply)

    def _hear(self, seen: Seen) -> None:
        """The registry has answered: remember what it said of itself."""
        self._seen = seen
        self.trouble, self._retry_s = None, _FIRST_RETRY_S

    def _depart(self, call: Call, used: int) -> None:
        """The last thing the thread does."""
        _live.discard(self)
        with suppress(FrazilError):  # what is not given back is wasted, and nothing worse
            self._release(used)
        self._wake(Closed("this generator was closed; open another"))
        call.wake(None)

    def _wake(self, error: FrazilError | None) -> None:
        """Answer everybody who called."""
        pending, self._pending = self._pending, []
        for call in pending:
            call.wake(error)

    def _complain(self, error: TryLater) -> None:
        self.failures += 1
        if self.trouble is None:
            self.trouble_since_us = clock.wall_us()
        self.trouble = error
        self._rest(int(self._retry_s * self._jitter() * 1e6))
        self._retry_s = min(2 * self._retry_s, _LAST_RETRY_S)

    def _jitter(self) -> float:
        return jitter()

    def _rest(self, us: int) -> None:
        """Leave the registry in peace for so long, whoever calls."""
        self._rest_until_ns = self._sense.now_ns() + us * 1000

    def _ending(self, walk: Walk) -> bool:
        if walk.closed:  # what it leaves is given back at the end, which comes next
            return False
        return 2 * walk.reach() < self._want if self.terms.timed else walk.wanting

    def _next_look_s(self, walk: Walk) -> float | None:
        """Seconds until this has something to do, if nobody calls."""
        resting_s = (self._rest_until_ns - self._sense.now_ns()) / 1e9
        if self._pending:
            return max(resting_s, 0.0)
        if not self.terms.timed:
            return max(resting_s, 0.001) if self.trouble is not None and walk.wanting else None
        if self.claim is None or not (self._renewable or walk.reach()):
            return None
        if self.trouble is not None and self._ending(walk):
            return max(resting_s, 0.001)
        ticks = walk.reach() - self._want // 2
        least = max(1, self._want // 8)
        return max(ticks, least) * self.terms.tick_us / 1e6

    def _first_want(self) -> int:
        if not self.terms.timed:
            return self._block
        return max(1, min(FIRST_CLAIM_US // self.terms.tick_us, self.terms.horizon_ticks))


def jitter() -> float:
    """Between a half and one."""
    return 1 - os.urandom(1)[0] / 512


def pause_us(wait: Wait, terms: Terms, part: float) -> int:
    """How long to leave the registry in peace. part: of a tick; what is left of one is added.

    Of those who wait for one tick the nearest to the registry would else come first each time.
    """
    return max(wait.wait_us, 1_000) + int(terms.tick_us * (1 - part))


def _nobody(_: FrazilError | None) -> None:
    """Whom a call wakes that nobody waits for."""


_live: weakref.WeakSet[Keeper] = weakref.WeakSet()


@atexit.register
def _finish() -> None:
    for keeper in list(_live):
        keeper.finish()
