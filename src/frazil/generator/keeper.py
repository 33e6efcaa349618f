"""The keeper: sees to it that a generator has a claim before it needs one.

A generator that asked its registry for each claim at the moment it ran out would stand still for a
round trip each time, and one that asked from whatever thread needs an ID would do I/O inside signal
handlers and hold up an event loop. So all talk with the registry happens here, in one thread of the
generator's own, started at the first need. Callers who find no claim leave a call (see ``calls``)
and sleep.

A signal handler may interrupt a caller anywhere, to ask for an ID itself, to fork, or to raise. So
callers take no lock, and each of their steps is whole in itself: leave a call, ring the bell, start
the thread (not by ``threading``, which waits for locks of its own). What an exception keeps a
caller from doing, the next caller does, or the thread sees by itself.

With a clock:

- A busy generator's claim is renewed when less than half of what was wanted is left, and twice as
  much is wanted each time, up to the horizon. The first is 100 ms, so short lives burn little; more
  where the last answer was slow, or a claim would be over before anybody used it.
- A generator from which nothing was drawn since the last look gives the rest of its claim back.
- A claim that somebody else has taken over is used to its end; then there is a new one.

Without one (counters, runs) a claim is a block of a chosen size. When half of it is used the walk's
caller rings the bell, and the block is made longer; where somebody else came in between, another
one is queued behind it. So callers find the next block there, and nothing is asked by time.

A registry that does not answer is asked again, at growing distances (see ``pacing``). The claim
goes on meanwhile.

**Close, then release.** What is given back is decided in one step with the end of issuing, so that
no ID is made after it. **A child releases nothing**: fork copies this object, and ``atexit`` and
``__del__`` run in the child too; an object of another era only forgets.

``atexit`` closes what is still open while the threads still run.
"""

import atexit
import os
import weakref
from _thread import allocate_lock, start_new_thread
from contextlib import suppress
from queue import Empty, SimpleQueue

from frazil.claims.claim import Claim, LastSeen, Lost, Terms, VerbRequest, Wait
from frazil.claims.holder import Holder
from frazil.errors import FrazilError, InternalError, RegistryUnavailable, TryLater
from frazil.generator.calls import Call, Calls, Gate
from frazil.generator.complaints import Standing, closed, complaint, no_thread
from frazil.generator.pacing import Retries, jitter, pause_us
from frazil.registries.base import Registry, reading_ns
from frazil.system import clock
from frazil.system.process import ProcessIdentity
from frazil.walk.walk import Walk

__all__ = ["FAREWELL_S", "FIRST_CLAIM_US", "Keeper", "ask_of"]

FIRST_CLAIM_US = 100_000
FAREWELL_S = 2.0
_ANSWERS = 4  # a claim lasts so many times what an answer takes: half is for use, half for renewing


def ask_of(seen: LastSeen, held: Claim | None = None, rate_hz: int | None = None) -> VerbRequest:
    """A verb's request from this process, now. rate_hz: how many IDs a second it issues."""
    return VerbRequest(seen, clock.wall_us(), os.urandom(8).hex(), str(Holder.here(rate_hz)), held)


class Keeper:
    """Keeps one walk supplied from one registry.

    walk: held weakly. block: axis values to take at a time, in a layout without time. ``claim`` is
    the claim held, the later of two; ``trouble`` the error of a registry that does not answer,
    since ``trouble_since_us``, else None; ``failures`` counts such errors.
    """

    def __init__(self, walk: Walk, registry: Registry, block: int) -> None:
        self._bell: SimpleQueue[object] = SimpleQueue()
        self._walk = weakref.ref(walk, self._bell.put)
        self.registry = registry
        self.terms: Terms = registry.terms
        self.claim: Claim | None = None
        self.trouble: TryLater | None = None
        self.trouble_since_us = 0
        self.failures = 0
        self._seen = LastSeen()
        self._sense = ProcessIdentity()
        self._calls = Calls()
        self._farewells = Calls()
        self._tending = allocate_lock()
        self._called = False
        self._needed = False
        self._used: int | None = None
        self._block = block
        self._asked = False
        self._answer_ns = 0
        self._want = self._first_want()
        self._renewable = False
        self._put_off = False
        self._new: bool | None = None
        self._tick = 0
        self._metered = 0, 0
        self._retries = Retries()
        self._rest_until_ns = 0
        self._ended = False
        _live.add(self)

    def call(self, call: Call) -> None:
        """Have ``call`` woken when the walk can go on, or cannot. Raises RegistryUnavailable."""
        self._calls.add(call)
        self._needed = True
        if self._ended:
            self._calls.answer(closed())
        elif self._sense.intact():
            self._summon()
        else:
            self._calls.answer(None)  # a handler has forked: the caller looks again, and sees it

    def look_ahead(self) -> None:
        """Half of a block is used: have the next one fetched, and do not wait for it."""
        if not self._asked:
            self._asked = True
            with suppress(RegistryUnavailable):  # no thread: the caller has his ID, and goes on
                self._summon()

    def end(self, used: int, call: Call) -> None:
        """The walk has closed: give back its claim from ``used`` on, then wake ``call``."""
        self._farewells.add(call)
        self._used = used
        if self._called and not self._ended and self._sense.intact():
            with suppress(RegistryUnavailable):  # no thread: so nothing is held
                self._summon()
                return
        self._farewells.answer(None)

    def close(self, used: int) -> None:
        """End, and wait for it as long as is decent."""
        self.end(used, gate := Gate())
        gate.wait(FAREWELL_S)

    def finish(self) -> None:
        """At the interpreter's exit: close the walk, if it is this process's, and release."""
        walk = self._walk()
        if walk is not None and self._sense.intact() and not walk.closed:
            self.close(walk.finish())

    def awaken(self) -> None:
        """In a child: whoever forked inside a call looks again, and finds that it is a child."""
        self._calls.answer(None)
        self._farewells.answer(None)

    def complaint(self, waited_s: float) -> FrazilError:
        """Why a caller who waited so long has no ID."""
        walk = self._walk()
        ahead = walk is not None and walk.left() > 0
        standing = Standing(
            url=self.registry.url,
            terms=self.terms,
            trouble=self.trouble,  # read once: the thread may hear the registry's answer meanwhile
            since_us=self.trouble_since_us,
            put_off=self._put_off,
            ahead=ahead or (self._put_off and self._renewable),
            new=bool(self._new),
        )
        return complaint(standing, waited_s)

    def _summon(self) -> None:
        """Have the thread look now; start it if there is none."""
        self._called = True
        if self._bell.empty():
            self._bell.put(None)
        if not self._tending.locked():  # maybe twice, by a signal handler; one of them stays
            try:
                start_new_thread(self._run, ())
            except RuntimeError as error:
                raise no_thread(self.registry.url, error) from error

    def _run(self) -> None:
        """The thread. Should it die, the next caller starts another."""
        if not self._tending.acquire(blocking=False):
            return
        try:
            wait_s: float | None = None
            while not self._ended and self._sense.intact():
                with suppress(Empty):
                    self._bell.get(timeout=wait_s)
                wait_s = self._round()
            if not self._sense.intact():  # the machine was restored: who waits looks again
                self._wake(None)
        finally:
            self._tending.release()

    def _round(self) -> float | None:
        """Do what is due; answers as ``_tend`` does."""
        walk = self._walk()
        if self._used is None and walk is not None and walk.closed:
            self._used = walk.leave(self._sense.era)  # an exception kept its closer from saying so
        if self._used is not None or walk is None:
            self._depart(self._used)
            return None
        return self._tend(walk)

    def _tend(self, walk: Walk) -> float | None:
        """Do what is due; answers after how many seconds to look again (None: when called)."""
        if self._needed and walk.left() > 0:
            self._wake(None)
        resting_ns = self._rest_until_ns - self._sense.now_ns()
        if resting_ns > 0:
            return resting_ns / 1e9
        try:
            if self._needed:
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
        begun = walk.begun()
        if begun:
            self._new = False
        busy = walk.tick != self._tick or not begun
        self._tick = walk.tick
        if not busy:
            used = walk.leave(self._sense.era)
            if self._sense.intact():  # else what was left may be another keeper's
                self._release(used)
        elif self._renewable:
            self._renew(walk)

    def _grant(self, walk: Walk) -> None:
        self._want = max(self._want, self._first_want())
        sent_ns = self._sense.now_ns()
        reply = self.registry.grant(self._ask(), self._want)
        read_ns = self._hear(reply.seen, sent_ns)
        self._put_off = isinstance(reply, Wait)
        if isinstance(reply, Wait):
            self._new = self._new is not False and self._is_new()
            self._rest(pause_us(reply, self.terms, self._jitter()))
            return
        self.claim, self._renewable, self._tick = reply, True, walk.tick
        node, era = reply.slot % self.terms.nodes, self._sense.era
        self._asked, self._metered = False, (walk.issued, sent_ns)
        if walk.held and not self.terms.timed:
            walk.queue(node, reply.start, reply.until, era)
            return
        walk.adopt(node, reply.start, reply.until, *reply.time(self.terms), read_ns, era)

    def _is_new(self) -> bool:
        """Whether nothing was ever given, as far as the registry says."""
        with suppress(FrazilError):
            found = self.registry.look()
            return found is None or not found.holdings
        return False

    def _renew(self, walk: Walk) -> None:
        """Ask for twice as much as last time, from when it will be answered on; or a block more.

        A claim that is lost, or is at the end of a counter, is only used to its end.
        """
        claim = self.claim
        assert claim is not None
        sent_ns = self._sense.now_ns()
        if self.terms.timed:
            want = min(max(2 * self._want, self._first_want()), self.terms.horizon_ticks)
            delay = self._answer_ns // (1000 * self.terms.tick_us)
            target = walk.until - walk.left() + delay + want
        else:
            want = self._block
            target = claim.until + want
        reply = self.registry.renew(self._ask(claim, self._rate_hz(walk)), target)
        read_ns = self._hear(reply.seen, sent_ns)
        if isinstance(reply, Lost) or not (self.terms.timed or reply.until > claim.until):
            self._renewable = False
            return
        self.claim, self._want, self._asked = reply, want, False
        walk.prolong(reply.until, *reply.time(self.terms), read_ns, self._sense.era)

    def _ask(self, held: Claim | None = None, rate_hz: int | None = None) -> VerbRequest:
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
        sent_ns = self._sense.now_ns()
        reply = self.registry.release(self._ask(claim), max(used, claim.start))
        self._hear(reply.seen if isinstance(reply, Lost) else reply, sent_ns)

    def _hear(self, seen: LastSeen, sent_ns: int) -> int:
        """The registry has answered: remember what it said of itself. When it read its clock."""
        self._seen = seen
        self.trouble, self._retries = None, Retries()
        self._answer_ns = self._sense.now_ns() - sent_ns
        return reading_ns(self.registry, sent_ns, sent_ns + self._answer_ns)

    def _depart(self, used: int | None) -> None:
        """The last thing the thread does. used: None for a walk that is gone without a word."""
        _live.discard(self)
        try:
            if used is not None:
                self._release(used)
        except FrazilError:
            pass  # what is not given back is wasted, and nothing worse
        finally:
            self.registry.close()
            self._ended = True
            self._wake(closed())
            self._farewells.answer(None)

    def _wake(self, error: FrazilError | None) -> None:
        """Answer everybody who called."""
        self._needed = False  # before they are told: who calls now is seen to next
        self._calls.answer(error)

    def _complain(self, error: TryLater) -> None:
        self.failures += 1
        if self.trouble is None:
            self.trouble_since_us = clock.wall_us()
        self.trouble = error
        self._rest(int(self._retries.pause_s(self._jitter()) * 1e6))

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
        if self._needed:
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
        long_us = max(FIRST_CLAIM_US, _ANSWERS * self._answer_ns // 1000)
        return max(1, min(long_us // self.terms.tick_us, self.terms.horizon_ticks))


_live: weakref.WeakSet[Keeper] = weakref.WeakSet()


@atexit.register
def _finish() -> None:
    for keeper in list(_live):
        keeper.finish()


def _in_child() -> None:
    for keeper in list(_live):
        keeper.awaken()


os.register_at_fork(after_in_child=_in_child)
