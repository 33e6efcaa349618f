"""The keeper's policy: which verb to send to a registry, and when.

A generator that requested each claim when the last one ended would wait for a round trip each time.
So the keeper requests claims ahead, in *rounds*. A round is a Python generator: it yields each verb
to run on the registry, is sent the reply or thrown the error, and returns when the next round is
due. Nothing here does I/O, starts a thread, or reads a clock or a random number that was not passed
in. ``keeper`` runs the rounds in a thread, the simulator in virtual time.

Here is what all layouts share: callers, replies, waits, failures and the end. How much to claim,
and when, differs: see ``timed_policy`` and ``block_policy``.

A caller without a claim adds a call (see ``calls``) and sleeps. A signal handler may interrupt a
caller anywhere, and request an ID, fork or raise. So callers take no lock, and each of their steps
is complete in itself: what they set only rises. If an exception ends a caller before a step, the
next caller or the next round does the step.

If a registry does not answer, the keeper retries with longer and longer pauses (see ``pacing``).
The claim stays in use.

**Close, then release.** One step ends issuing and decides what is given back, so no ID is made
after it. **A child releases nothing**: fork copies this object, and ``atexit`` and ``__del__`` run
in the child too; an object of another era only forgets.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from contextlib import suppress
from functools import partial
from typing import Any, TypeAlias, TypeVar
from weakref import ref

from frazil.claims.claim import Claim, LastSeen, Lost, Snapshot, Terms, VerbRequest, Wait
from frazil.errors import FrazilError, InternalError, TryLater
from frazil.generator.calls import Call, Calls
from frazil.generator.complaints import Cause, KeeperState, closed, complaint, reason
from frazil.generator.journal import Report, ignored, is_loss
from frazil.generator.pacing import Retries, pause_us, report_us
from frazil.registries.base import Registry, reading_ns
from frazil.registries.remembered import remembered
from frazil.system.process import ProcessIdentity
from frazil.walk.walk import Walk

Result = TypeVar("Result")
Verb: TypeAlias = Callable[[Registry], Any]
Steps: TypeAlias = Generator[Verb, Any, Result]
# Arguments: what was last seen, the claim held, the IDs per second.
AskFactory: TypeAlias = Callable[[LastSeen, Claim | None, int | None], VerbRequest]


class KeeperPolicy(ABC):
    """Keeps one walk supplied from the registry at ``url``.

    identity: of this process, with its boot clock; wall_us: its wall clock; jitter: random, between
    a half and one. block: axis values of a claim, in a layout without time. keep_us: how long after
    its last ID the claim of an idle walk is kept, in a layout with time. report: gets each event
    (see ``journal``).

    ``claim`` is the claim held, the later of two. ``wait_cause`` is why a registry that answers
    gives nothing; None if it does not say to wait. ``trouble`` is the error of a registry that does
    not answer, since ``trouble_since_us``, else None; ``failures`` counts such errors.
    ``answer_ns``: how long the last answer took. ``metered``: the IDs made when the rate was last
    reported, and when. ``ended``: the last round is over.
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
        ask_of: AskFactory,
        keep_us: int,
        report: Report = ignored,
    ) -> None:
        self.walk = walk
        self.identity = identity
        self.jitter = jitter
        self.ask_of = ask_of
        self.report = report
        self.calls = Calls()
        self.closers = Calls()
        self.terms = terms
        self.claim: Claim | None = None
        self.wait_cause: Cause | None = None
        self.trouble: TryLater | None = None
        self.trouble_since_us = 0
        self.failures = 0
        self.metered = 0, 0
        self.ended = False
        self._url = url
        self._wall_us = wall_us
        self._block = block
        self._keep_ns = keep_us * 1000
        self._seen = LastSeen()
        self._called = self._callers_wait = self._looked_ahead = False
        self._used: int | None = None
        self._renewable = False
        self._granted_ns = self._lost_us = 0
        self.answer_ns, self._answered_ns = 0, -1
        self._asked_ns: int | None = None  # when a caller came; None after a failure
        self._retries = Retries()
        self._back_off_until_ns = 0
        self._refused = False

    @abstractmethod
    def _supply(self, walk: Walk) -> Steps[None]:
        """Callers wait: get a claim, or a longer one."""

    @abstractmethod
    def _maintain(self, walk: Walk) -> Steps[None]:
        """A renewal is due, and no caller waits for it."""

    @abstractmethod
    def _needs_renewal(self, walk: Walk) -> bool:
        """Whether it is due."""

    @abstractmethod
    def _due_s(self, walk: Walk) -> float | None:
        """The seconds to the next round if no caller comes; None: when called."""

    @abstractmethod
    def _why(self, waited_s: float, /) -> Cause:
        """Why a registry that answers gives nothing to a caller that has waited so long."""

    def call(self, call: Call) -> bool:
        """Wake ``call`` when the walk has a claim, or an error. Returns whether a round is due."""
        self.calls.add(call)
        if not self._callers_wait:
            self._asked_ns = self.identity.now_ns()
        self._callers_wait = True
        if self.ended:
            self.calls.answer(closed())
        elif self.identity.intact():
            self._called = True
            return True
        else:
            self.calls.answer(None)  # a handler has forked: the caller tries again, and notices
        return False

    def look_ahead(self) -> bool:
        """Half of a block is used. Returns whether a round is due that fetches the next one."""
        due, self._looked_ahead = not self._looked_ahead, True
        return due

    def end(self, used: int, call: Call) -> bool:
        """The walk is closed: give back its claim from ``used`` on, then wake ``call``.

        Returns whether a round is due for it.
        """
        self.closers.add(call)
        self._used = used
        if self._called and not self.ended and self.identity.intact():
            return True
        self.closers.answer(None)
        return False

    def wake(self, error: FrazilError | None) -> None:
        """Answer all callers."""
        self._callers_wait = False  # first, so that a caller that comes now has the next round
        self.calls.answer(error)

    def complaint(self, waited_s: float, needed_s: float = 0.0) -> FrazilError:
        """The error for a caller that has waited so long, and would have to wait longer."""
        return complaint(self.state(waited_s), waited_s, needed_s)

    def state(self, waited_s: float = 0.0) -> KeeperState:
        """What is known of the registry, for a caller that has waited so long."""
        cause, left_ns = self._why(waited_s), self._granted_ns - self.identity.now_ns()
        return KeeperState(
            url=self._url,
            terms=self.terms,
            trouble=self.trouble,  # read once: the thread may change it
            since_us=self.trouble_since_us,
            cause=cause,
            left_s=max(0, left_ns) / 1e9 if cause in ("new", "lost") else 0.0,
            lost_us=self._lost_us,
        )

    def round(self) -> Steps[float | None]:
        """Do what is due. Returns the seconds to the next round (None: when called)."""
        walk = self.walk()
        if self._used is None and walk is not None and walk.closed:
            self._used = walk.leave(self.identity.era)  # an exception interrupted its close
        if self._used is not None or walk is None:
            yield from self._last_round(self._used)
            return None
        return (yield from self._regular_round(walk))

    def _regular_round(self, walk: Walk) -> Steps[float | None]:
        self._wake_supplied(walk)
        pause_ns = self._back_off_until_ns - self.identity.now_ns()
        if pause_ns > 0:
            return pause_ns / 1e9
        try:
            if self._callers_wait:
                yield from self._supply(walk)
            elif self.claim is not None and self._needs_renewal(walk):
                yield from self._maintain(walk)
            self._wake_supplied(walk)
        except TryLater as error:
            self._note_failure(error)
        except FrazilError as error:
            self.trouble = None  # it has answered; another request would have the same answer
            self._refused = True
            self.report("refused", error=error)
            self.wake(error)
        except Exception as error:  # noqa: BLE001 - after a bug, callers must not wait
            self.wake(InternalError(f"the keeper failed: {error!r}; please report this"))
        return self._next_round_s(walk)

    def _wake_supplied(self, walk: Walk) -> None:
        if self._callers_wait and walk.left() > 0:
            self.wake(None)

    def _next_round_s(self, walk: Walk) -> float | None:
        """Seconds until the next round, if no caller comes."""
        due_s = 0.0 if self._callers_wait else self._due_s(walk)
        if due_s is None:
            return None
        return max(due_s, (self._back_off_until_ns - self.identity.now_ns()) / 1e9)

    def _grant(self, walk: Walk, want: int) -> Steps[None]:
        """Ask for a new claim, for the walk or, if it has one, to follow it."""
        sent_ns = self.identity.now_ns()
        ask = self.ask_of(self._seen, None, None)
        reply: Claim | Wait = yield lambda registry: registry.grant(ask, want)
        read_ns = yield from self._note_reply(ask, reply, sent_ns)
        if isinstance(reply, Wait):
            yield from self._note_wait(ask, reply)
            return
        self.claim, self._renewable, self._looked_ahead = reply, True, False
        self.wait_cause, self.metered = None, (walk.issued, sent_ns)
        self.report("granted", claim=reply)
        self._adopt(walk, reply, read_ns)

    def _adopt(self, walk: Walk, claim: Claim, read_ns: int) -> None:
        node, clock = claim.slot % self.terms.nodes, claim.time(self.terms)
        walk.adopt(node, claim.start, claim.until, *clock, read_ns, self.identity.era)

    def _note_wait(self, ask: VerbRequest, reply: Wait) -> Steps[None]:
        """Nothing can be granted now: find out why, and pause."""
        self._granted_ns = self.identity.now_ns() + reply.wait_us * 1000
        self._asked_ns = None
        self.wait_cause = (yield from self._loss()) if reply.guarded else "full"
        if self.wait_cause:  # pragma: no branch - after a throw, Python does not trace it
            why, new = reason(self.state()), self.wait_cause == "new"
            self.report("awaited", wait_us=reply.wait_us, why=why, new=new)
        if ask.seen.sid == self._seen.sid or self._seen.told_us >= ask.boot_us:
            wait_us = pause_us(reply, self.terms, self.jitter())
            self._back_off(min(wait_us, self._report_us()))
        # else an earlier process heard of it; so ask again as one that knows

    def _loss(self) -> Steps[Cause]:
        """Whether the store lost claims, or nothing was ever granted; "" if it does not answer."""
        if self._lost_us or self.claim is not None:
            return "lost"
        with suppress(FrazilError):
            found: Snapshot | None = yield lambda registry: registry.look()
            return "lost" if found is not None and found.holdings else "new"
        return ""

    def _ask_renewal(self, walk: Walk, claim: Claim, until: int) -> Steps[tuple[Claim | Lost, int]]:
        """Ask for a claim up to ``until``. Returns the reply, and when its clock was read."""
        sent_ns = self.identity.now_ns()
        ask = self.ask_of(self._seen, claim, self._rate_hz(walk))
        reply: Claim | Lost = yield lambda registry: registry.renew(ask, until)
        return reply, (yield from self._note_reply(ask, reply, sent_ns))

    def _prolong(self, walk: Walk, claim: Claim, read_ns: int, late_ticks: int = 0) -> None:
        self.report("renewed", claim=claim, late_ticks=late_ticks)
        self.claim, self._looked_ahead = claim, False
        walk.prolong(claim.until, *claim.time(self.terms), read_ns, self.identity.era)

    def _rate_hz(self, walk: Walk) -> int:
        """IDs per second since the last call."""
        issued, since_ns = self.metered
        self.metered = walk.issued, self.identity.now_ns()
        return (walk.issued - issued) * 10**9 // max(1, self.metered[1] - since_ns)

    def _release(self, used: int) -> Steps[None]:
        """Give back the claim from ``used`` on, if it can be renewed."""
        claim, self.claim = self.claim, None
        if claim is None or not self._renewable:
            return
        self._renewable = False
        # A walk that closed before it could adopt this claim knows only an earlier one.
        used = max(used, claim.start)
        sent_ns = self.identity.now_ns()
        ask = self.ask_of(self._seen, claim, None)
        reply: LastSeen | Lost = yield lambda registry: registry.release(ask, used)
        yield from self._note_reply(ask, reply, sent_ns)
        self.report("given_back", claim=claim, used=used)

    def _note_reply(
        self, ask: VerbRequest, reply: Claim | Wait | Lost | LastSeen, sent_ns: int
    ) -> Steps[int]:
        """The registry has answered: note it. Returns when the registry read its clock."""
        memory = remembered(ask, reply, self.identity.now_ns() // 1000, self.terms)
        if self.trouble is not None:
            self.report("back", since_us=self.trouble_since_us)
        if is_loss(self._seen.sid, memory.sid):
            self._lost_us = self._wall_us()
            self.report("loss_noticed")
        self._seen = memory
        self.trouble, self._refused, self._retries = None, False, Retries()
        self.answer_ns = self.identity.now_ns() - sent_ns
        self._answered_ns = heard_ns = sent_ns + self.answer_ns
        read_ns: int = yield partial(reading_ns, sent_ns=sent_ns, heard_ns=heard_ns)
        return read_ns

    def _note_failure(self, error: TryLater) -> None:
        """The registry has not answered: pause."""
        self.failures += 1
        self.report("failed", error=error, first=self.trouble is None)
        if self.trouble is None:
            self.trouble_since_us = self._wall_us()
        self.trouble = error.with_traceback(None)  # its frames hold the walk
        self._asked_ns = None
        self._back_off(self._rest_us(self.jitter()))

    def _rest_us(self, part: float) -> int:
        """The pause after a failure; ``part`` of the longest one."""
        return int(self._retries.pause_s(part) * 1e6)

    def _back_off(self, us: int) -> None:
        """Send the registry nothing for so long, even if callers wait."""
        self._back_off_until_ns = self.identity.now_ns() + us * 1000

    def _report_us(self) -> int:
        return report_us(self.terms)

    def _last_round(self, used: int | None) -> Steps[None]:
        """The last round. used: None for a walk that was freed without a close."""
        try:
            if used is not None:
                with suppress(FrazilError):  # ticks that are not given back are only wasted
                    yield from self._release(used)
                walk = self.walk()
                self.report("closed", issued=None if walk is None else walk.issued)
        finally:
            yield lambda registry: registry.close()
            self.ended = True
            self.wake(closed())
            self.closers.answer(None)
