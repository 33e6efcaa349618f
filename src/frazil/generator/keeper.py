"""The keeper's policy: what to ask of a registry, and when, so that a walk has a claim in time.

A generator that asked for each claim at the moment it ran out would stand still for a round trip
each time. So the keeper asks ahead, in *rounds*. A round is a Python generator: it yields each verb
that it wants run on the registry, is sent the reply or thrown the error, and returns when the next
round is due. Nothing here does I/O, starts a thread, or reads a clock or a random number that was
not passed in. ``keeper_thread`` runs the rounds in a thread, the simulator in virtual time.

Callers who find no claim leave a call (see ``calls``) and sleep. A signal handler may interrupt a
caller anywhere, to ask for an ID itself, to fork, or to raise. So callers take no lock, and each of
their steps is whole in itself. What an exception keeps a caller from doing, the next caller does,
or the next round finds.

With a clock:

- A busy generator's claim is renewed when less than half of what was wanted is left, and twice as
  much is wanted each time, up to the horizon. The first is 100 ms, so short lives burn little; more
  where the last answer was slow, or a claim would be over before anybody used it.
- A generator from which nothing was drawn since the last look gives the rest of its claim back.
- A claim that somebody else has taken over is used to its end; then there is a new one.

Without one (counters, runs) a claim is a block of a chosen size. When half of it is used the walk's
caller asks for a round, and the block is made longer; where somebody else came in between, another
one is queued behind it. So callers find the next block there, and nothing is asked by time.

A registry that does not answer is asked again, at growing distances (see ``pacing``). The claim
goes on meanwhile.

**Close, then release.** What is given back is decided in one step with the end of issuing, so that
no ID is made after it. **A child releases nothing**: fork copies this object, and ``atexit`` and
``__del__`` run in the child too; an object of another era only forgets.
"""

from collections.abc import Callable, Generator
from contextlib import suppress
from functools import partial
from typing import Any, TypeAlias, TypeVar
from weakref import ref

from frazil.claims.claim import Claim, LastSeen, Lost, Snapshot, Terms, VerbRequest, Wait
from frazil.errors import FrazilError, InternalError, TryLater
from frazil.generator.calls import Call, Calls
from frazil.generator.complaints import Standing, closed, complaint
from frazil.generator.pacing import Retries, pause_us
from frazil.registries.base import Registry, reading_ns
from frazil.system.process import ProcessIdentity
from frazil.walk.walk import Walk

__all__ = ["FIRST_CLAIM_US", "KeeperPolicy", "Result", "Steps"]

FIRST_CLAIM_US = 100_000
_ANSWERS = 4  # a claim lasts so many times what an answer takes: half is for use, half for renewing

Result = TypeVar("Result")
Verb: TypeAlias = Callable[[Registry], Any]
Steps: TypeAlias = Generator[Verb, Any, Result]
# What was last seen, the claim held, how many IDs a second are issued.
RequestFactory: TypeAlias = Callable[[LastSeen, Claim | None, int | None], VerbRequest]


class KeeperPolicy:
    """Keeps one walk supplied from the registry at ``url``.

    block: axis values to take at a time, in a layout without time. identity: of this process, with
    its boot clock; wall_us: its wall clock; jitter: random, between a half and one. ``claim`` is
    the claim held, the later of two; ``trouble`` the error of a registry that does not answer,
    since ``trouble_since_us``, else None; ``failures`` counts such errors. ``ended``: no further
    round is due.
    """

    def __init__(
        self,
        walk: ref[Walk],
        url: str,
        terms: Terms,
        block: int,
        *,
        identity: ProcessIdentity,
        wall_us: Callable[[], int],
        jitter: Callable[[], float],
        request: RequestFactory,
    ) -> None:
        self.walk = walk
        self.identity = identity
        self.jitter = jitter
        self.request = request
        self.calls = Calls()
        self.farewells = Calls()
        self.terms = terms
        self.claim: Claim | None = None
        self.trouble: TryLater | None = None
        self.trouble_since_us = 0
        self.failures = 0
        self.ended = False
        self._url = url
        self._wall_us = wall_us
        self._seen = LastSeen()
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

    def call(self, call: Call) -> bool:
        """Have ``call`` woken when the walk can go on, or cannot. Whether a round is due for it."""
        self.calls.add(call)
        self._needed = True
        if self.ended:
            self.calls.answer(closed())
        elif self.identity.intact():
            self._called = True
            return True
        else:
            self.calls.answer(None)  # a handler has forked: the caller looks again, and sees it
        return False

    def look_ahead(self) -> bool:
        """Half of a block is used: whether a round is due that fetches the next one."""
        due, self._asked = not self._asked, True
        return due

    def end(self, used: int, call: Call) -> bool:
        """The walk has closed: give back its claim from ``used`` on, then wake ``call``.

        Answers whether a round is due for it.
        """
        self.farewells.add(call)
        self._used = used
        if self._called and not self.ended and self.identity.intact():
            return True
        self.farewells.answer(None)
        return False

    def complaint(self, waited_s: float) -> FrazilError:
        """Why a caller who waited so long has no ID."""
        walk = self.walk()
        ahead = walk is not None and walk.left() > 0
        standing = Standing(
            url=self._url,
            terms=self.terms,
            trouble=self.trouble,  # read once: the thread may hear the registry's answer meanwhile
            since_us=self.trouble_since_us,
            put_off=self._put_off,
            ahead=ahead or (self._put_off and self._renewable),
            new=bool(self._new),
        )
        return complaint(standing, waited_s)

    def round(self) -> Steps[float | None]:
        """Do what is due; answers in how many seconds to begin the next (None: when called)."""
        walk = self.walk()
        if self._used is None and walk is not None and walk.closed:
            self._used = walk.leave(
                self.identity.era
            )  # an exception kept its closer from saying so
        if self._used is not None or walk is None:
            yield from self._depart(self._used)
            return None
        return (yield from self._tend(walk))

    def _tend(self, walk: Walk) -> Steps[float | None]:
        """A round of a walk that is in use."""
        if self._needed and walk.left() > 0:
            self.wake(None)
        resting_ns = self._rest_until_ns - self.identity.now_ns()
        if resting_ns > 0:
            return resting_ns / 1e9
        try:
            if self._needed:
                yield from self._supply(walk)
            elif self.claim is not None and self._ending(walk):
                yield from self._look_after(walk)
        except TryLater as error:
            self._complain(error)
        except FrazilError as error:
            self.trouble = None  # it has answered, and to ask it again at once helps nobody
            self.wake(error)
        except Exception as error:  # noqa: BLE001 - a bug must not leave callers waiting
            self.wake(InternalError(f"the keeper failed: {error!r}; please report this"))
        return self._next_look_s(walk)

    def _supply(self, walk: Walk) -> Steps[None]:
        """Callers wait: make the claim longer, or get another if it is somebody else's by now."""
        if self._renewable:
            yield from self._renew(walk)
            self._put_off = self._renewable and not walk.left()
            if self._put_off:
                # As far ahead of the registry's clock as can be: only time helps.
                self._rest(int(self._want * self.terms.tick_us * self.jitter()) // 8)
        if not self._renewable:
            yield from self._grant(walk)
        if walk.left() > 0:
            self.wake(None)

    def _look_after(self, walk: Walk) -> Steps[None]:
        """Less than half is left: renew a busy walk's claim, give an idle one's back."""
        if not self.terms.timed:
            yield from self._supply(walk)
            return
        begun = walk.begun()
        if begun:
            self._new = False
        busy = walk.tick != self._tick or not begun
        self._tick = walk.tick
        if not busy:
            used = walk.leave(self.identity.era)
            if self.identity.intact():  # else what was left may be another keeper's
                yield from self._release(used)
        elif self._renewable:
            yield from self._renew(walk)

    def _grant(self, walk: Walk) -> Steps[None]:
        want = self._want = max(self._want, self._first_want())
        sent_ns = self.identity.now_ns()
        request = self.request(self._seen, None, None)
        reply: Claim | Wait = yield lambda registry: registry.grant(request, want)
        read_ns = yield from self._hear(reply.seen, sent_ns)
        self._put_off = isinstance(reply, Wait)
        if isinstance(reply, Wait):
            self._new = self._new is not False and (yield from self._is_new())
            self._rest(pause_us(reply, self.terms, self.jitter()))
            return
        self.claim, self._renewable, self._tick = reply, True, walk.tick
        node, era = reply.slot % self.terms.nodes, self.identity.era
        self._asked, self._metered = False, (walk.issued, sent_ns)
        if walk.held and not self.terms.timed:
            walk.queue(node, reply.start, reply.until, era)
            return
        walk.adopt(node, reply.start, reply.until, *reply.time(self.terms), read_ns, era)

    def _is_new(self) -> Steps[bool]:
        """Whether nothing was ever given, as far as the registry says."""
        with suppress(FrazilError):
            found: Snapshot | None = yield lambda registry: registry.look()
            return found is None or not found.holdings
        return False

    def _renew(self, walk: Walk) -> Steps[None]:
        """Ask for twice as much as last time, from when it will be answered on; or a block more.

        A claim that is lost, or is at the end of a counter, is only used to its end.
        """
        claim = self.claim
        assert claim is not None
        sent_ns = self.identity.now_ns()
        if self.terms.timed:
            want = min(max(2 * self._want, self._first_want()), self.terms.horizon_ticks)
            delay = self._answer_ns // (1000 * self.terms.tick_us)
            target = walk.until - walk.left() + delay + want
        else:
            want = self._block
            target = claim.until + want
        request = self.request(self._seen, claim, self._rate_hz(walk))
        reply: Claim | Lost = yield lambda registry: registry.renew(request, target)
        read_ns = yield from self._hear(reply.seen, sent_ns)
        if isinstance(reply, Lost) or not (self.terms.timed or reply.until > claim.until):
            self._renewable = False
            return
        self.claim, self._want, self._asked = reply, want, False
        walk.prolong(reply.until, *reply.time(self.terms), read_ns, self.identity.era)

    def _rate_hz(self, walk: Walk) -> int:
        """IDs a second since this was last asked."""
        issued, since_ns = self._metered
        self._metered = walk.issued, self.identity.now_ns()
        return (walk.issued - issued) * 10**9 // max(1, self._metered[1] - since_ns)

    def _release(self, used: int) -> Steps[None]:
        claim, self.claim = self.claim, None
        self._want = self._first_want()
        if claim is None or not self._renewable:
            return
        self._renewable = False
        # A walk that closed before it could adopt this claim knows only of an earlier one.
        used = max(used, claim.start)
        sent_ns = self.identity.now_ns()
        request = self.request(self._seen, claim, None)
        reply: LastSeen | Lost = yield lambda registry: registry.release(request, used)
        yield from self._hear(reply.seen if isinstance(reply, Lost) else reply, sent_ns)

    def _hear(self, seen: LastSeen, sent_ns: int) -> Steps[int]:
        """The registry has answered: remember what it said of itself. When it read its clock."""
        self._seen = seen
        self.trouble, self._retries = None, Retries()
        self._answer_ns = self.identity.now_ns() - sent_ns
        heard_ns = sent_ns + self._answer_ns
        read_ns: int = yield partial(reading_ns, sent_ns=sent_ns, heard_ns=heard_ns)
        return read_ns

    def _depart(self, used: int | None) -> Steps[None]:
        """The last round. used: None for a walk that is gone without a word."""
        try:
            if used is not None:
                yield from self._release(used)
        except FrazilError:
            pass  # what is not given back is wasted, and nothing worse
        finally:
            yield lambda registry: registry.close()
            self.ended = True
            self.wake(closed())
            self.farewells.answer(None)

    def wake(self, error: FrazilError | None) -> None:
        """Answer everybody who called."""
        self._needed = False  # before they are told: who calls now is seen to next
        self.calls.answer(error)

    def _complain(self, error: TryLater) -> None:
        self.failures += 1
        if self.trouble is None:
            self.trouble_since_us = self._wall_us()
        self.trouble = error.with_traceback(None)  # whose frames hold the walk
        self._rest(int(self._retries.pause_s(self.jitter()) * 1e6))

    def _rest(self, us: int) -> None:
        """Leave the registry in peace for so long, whoever calls."""
        self._rest_until_ns = self.identity.now_ns() + us * 1000

    def _ending(self, walk: Walk) -> bool:
        if walk.closed:  # what it leaves is given back at the end, which comes next
            return False
        return 2 * walk.reach() < self._want if self.terms.timed else walk.wanting

    def _next_look_s(self, walk: Walk) -> float | None:
        """Seconds until this has something to do, if nobody calls."""
        resting_s = (self._rest_until_ns - self.identity.now_ns()) / 1e9
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
