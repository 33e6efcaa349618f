"""The keeper's policy: which verb to send to a registry, and when.

A generator that requested each claim when the last one ended would wait for a round trip each time.
So the keeper requests claims ahead, in *rounds*. A round is a Python generator: it yields each verb
to run on the registry, is sent the reply or thrown the error, and returns when the next round is
due. Nothing here does I/O, starts a thread, or reads a clock or a random number that was not passed
in. ``keeper_thread`` runs the rounds in a thread, the simulator in virtual time.

A caller without a claim adds a call (see ``calls``) and sleeps. A signal handler may interrupt a
caller anywhere, and request an ID, fork or raise. So callers take no lock, and each of their steps
is complete in itself. If an exception ends a caller before a step, the next caller or the next
round does the step.

With a clock:

- A busy generator renews its claim when less than half of the ticks that it wanted are left. It
  wants twice as many each time, up to the horizon. The first claim has 100 ms, so a short life
  wastes little; more if the last answer was slow, or the claim would end before its use.
- A generator that issued nothing since the last renewal is *idle*. For a while after its last ID
  (``keep``) its claim is kept warm, so that a rare ID costs its caller no request: it is renewed
  for the whole horizon, when half of that is left. After that it is given back.
- If an idle claim has a new owner before its end, the node numbers are scarce: for that while, none
  is kept warm.
- A claim with a new owner is used to its end. Then there is a new one, of twice as many ticks. So
  two busy generators do not take one number from each other repeatedly: a registry grants the
  number whose claim ends first, and that is soon one of an idle generator.

Without a clock (counters, runs) a claim is a block of a chosen size. When half of it is used, the
walk's caller starts a round, which extends the block. If another member has the values after it,
another block is queued. So callers find the next block, and no round depends on time.

A member that remembers is what ends a loss of the store without a repeat (see ``record``). So it
is never silent for long: a claim that is lost is still reported every half horizon, until a wait
after its end, and a member that has to wait asks again as often.

If a registry does not answer, the keeper retries with longer and longer pauses (see ``pacing``).
The claim stays in use.

**Close, then release.** One step ends issuing and decides what is given back, so no ID is made
after it. **A child releases nothing**: fork copies this object, and ``atexit`` and ``__del__`` run
in the child too; an object of another era only forgets.
"""

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

__all__ = ["FIRST_CLAIM_US", "KeeperPolicy", "Result", "Steps"]

FIRST_CLAIM_US = 100_000
_REFUSED_S = 1.0  # until a refused renewal is tried again, unless a caller waits
_ANSWERS = 4  # the least claim, in answer times: half to use it, half to renew it

Result = TypeVar("Result")
Verb: TypeAlias = Callable[[Registry], Any]
Steps: TypeAlias = Generator[Verb, Any, Result]
# Arguments: what was last seen, the claim held, the IDs per second.
RequestFactory: TypeAlias = Callable[[LastSeen, Claim | None, int | None], VerbRequest]


class KeeperPolicy:
    """Keeps one walk supplied from the registry at ``url``.

    block: axis values of a claim, in a layout without time. identity: of this process, with its
    boot clock; wall_us: its wall clock; jitter: random, between a half and one. keep_us: how long
    after its last ID the claim of an idle walk is kept, in a layout with time. report: gets each
    event (see ``journal``). ``claim`` is the claim held, the later of two; ``trouble`` the error
    of a registry that does not answer, since ``trouble_since_us``, else None; ``failures`` counts
    such errors. ``ended``: the last round is over.
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
        keep_us: int,
        report: Report = ignored,
    ) -> None:
        self.walk = walk
        self.identity = identity
        self.jitter = jitter
        self.request = request
        self.report = report
        self.calls = Calls()
        self.closers = Calls()
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
        self._callers_wait = False
        self._used: int | None = None
        self._block = block
        self._block_requested = False
        self._answer_ns, self._answered_ns = 0, -1
        self._want = self._first_want()
        self._renewable = self.told_to_wait = False
        self._cause: Cause = ""
        self._granted_ns = self._lost_us = 0
        self._tick = 0
        self.metered = 0, 0
        self._retries = Retries()
        self._back_off_until_ns = 0
        self._keep_ns = keep_us * 1000
        self._used_ns = self._scarce_until_ns = 0
        self._refused = False

    def call(self, call: Call) -> bool:
        """Wake ``call`` when the walk has a claim, or an error. Returns whether a round is due."""
        self.calls.add(call)
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
        due, self._block_requested = not self._block_requested, True
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

    def complaint(self, waited_s: float, needed_s: float = 0.0) -> FrazilError:
        """The error for a caller that has waited so long, and would have to wait longer."""
        return complaint(self.state(waited_s), waited_s, needed_s)

    def state(self, waited_s: float = 0.0) -> KeeperState:
        """What is known of the registry, for a caller that has waited so long."""
        walk, now_ns = self.walk(), self.identity.now_ns()
        cause: Cause = self._cause if self.told_to_wait else ""
        if not self.terms.timed:
            cause = "taken" if self._answered_ns >= now_ns - int(waited_s * 1e9) else ""
        elif walk is not None and walk.left() > 0:
            cause = "used" if walk.begun() else "shared"
        return KeeperState(
            url=self._url,
            terms=self.terms,
            trouble=self.trouble,  # read once: the thread may change it
            since_us=self.trouble_since_us,
            cause=cause,
            left_s=max(0, self._granted_ns - now_ns) / 1e9 if cause in ("new", "lost") else 0.0,
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
        """A round of a walk in use."""
        if self._callers_wait and walk.left() > 0:
            self.wake(None)
        pause_ns = self._back_off_until_ns - self.identity.now_ns()
        if pause_ns > 0:
            return pause_ns / 1e9
        try:
            if self._callers_wait:
                yield from self._get_claim(walk)
            elif self.claim is not None and self._needs_renewal(walk):
                yield from self._maintain_claim(walk)
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

    def _get_claim(self, walk: Walk) -> Steps[None]:
        """Callers wait: renew the claim, or get another one if it has a new owner."""
        if self._renewable:
            yield from self._renew(walk)
            self.told_to_wait = self._renewable and not walk.left()
            if self.told_to_wait:
                self._cause = "used"
                # The claim is as far ahead of the registry's clock as possible: only time helps.
                self._back_off(int(self._want * self.terms.tick_us * self.jitter()) // 8)
        if not self._renewable:
            yield from self._grant(walk)
        if walk.left() > 0:
            self.wake(None)

    def _maintain_claim(self, walk: Walk) -> Steps[None]:
        """Less than half is left: renew a busy walk's claim, give back an idle one's."""
        if not self.terms.timed:
            yield from self._get_claim(walk)
            return
        idle = self._is_idle(walk)
        if not idle:
            self._used_ns = self.identity.now_ns()
        self._tick = walk.tick
        if idle and not self._keeps_warm():
            used = walk.leave(self.identity.era)
            if self.identity.intact():  # else the claim may belong to another keeper
                yield from self._release(used)
        else:  # a claim that is lost too: the store may have forgotten the report
            yield from self._renew(walk, idle=idle)

    def _is_idle(self, walk: Walk) -> bool:
        """Whether the walk issued nothing since the last renewal, although it could."""
        return walk.tick == self._tick and walk.begun()

    def _keeps_warm(self) -> bool:
        """Whether the claim of an idle walk is kept."""
        now_ns = self.identity.now_ns()
        return now_ns - self._used_ns < self._keep_ns and now_ns >= self._scarce_until_ns

    def _grant(self, walk: Walk) -> Steps[None]:
        want = self._want = max(self._want, self._first_want())
        sent_ns = self.identity.now_ns()
        request = self.request(self._seen, None, None)
        reply: Claim | Wait = yield lambda registry: registry.grant(request, want)
        read_ns = yield from self._note_reply(request, reply, sent_ns)
        self.told_to_wait = isinstance(reply, Wait)
        if isinstance(reply, Wait):
            self._granted_ns = self.identity.now_ns() + reply.wait_us * 1000
            self._cause = (yield from self._loss()) if reply.guarded else "full"
            if self._cause:  # pragma: no branch - after a throw, Python does not trace it
                why, new = reason(self.state()), self._cause == "new"
                self.report("awaited", wait_us=reply.wait_us, why=why, new=new)
            if request.seen.sid == self._seen.sid or self._seen.told_us >= request.boot_us:
                wait_us = pause_us(reply, self.terms, self.jitter())
                self._back_off(min(wait_us, self._report_us()))
            # else an earlier process heard of it; so ask again as one that knows
            return
        self.claim, self._renewable, self._tick = reply, True, walk.tick
        self._used_ns = sent_ns
        self.report("granted", claim=reply)
        node, era = reply.slot % self.terms.nodes, self.identity.era
        self._block_requested, self.metered = False, (walk.issued, sent_ns)
        if walk.held and not self.terms.timed:
            walk.queue(node, reply.start, reply.until, era)
            return
        walk.adopt(node, reply.start, reply.until, *reply.time(self.terms), read_ns, era)

    def _loss(self) -> Steps[Cause]:
        """Whether the store lost claims, or nothing was ever granted; "" if it does not answer."""
        if self._lost_us or self.claim is not None:
            return "lost"
        with suppress(FrazilError):
            found: Snapshot | None = yield lambda registry: registry.look()
            return "lost" if found is not None and found.holdings else "new"
        return ""

    def _renew(self, walk: Walk, *, idle: bool = False) -> Steps[None]:
        """Ask for twice as many ticks as last time, counted from the answer; or for another block.

        For an idle walk request the whole horizon, so that the next request is far away.

        A claim that is lost, or is at the end of a counter or of the time field, is only used to
        its end.
        """
        claim = self.claim
        assert claim is not None
        sent_ns = self.identity.now_ns()
        if self.terms.timed:
            most = self.terms.horizon_ticks
            want = most if idle else min(max(2 * self._want, self._first_want()), most)
            delay = self._answer_ns // (1000 * self.terms.tick_us)
            # A claim that was renewed late ended before the tick that is due.
            at = max(walk.until - walk.left(), walk.due(sent_ns))
            target = at + delay + want
        else:
            want = self._block
            target = claim.until + want
        request = self.request(self._seen, claim, self._rate_hz(walk))
        reply: Claim | Lost = yield lambda registry: registry.renew(request, target)
        read_ns = yield from self._note_reply(request, reply, sent_ns)
        if isinstance(reply, Lost) or (reply.until == claim.until and self._is_last(claim)):
            lost, self._renewable = isinstance(reply, Lost), False
            ended = self.terms.timed and claim.until <= walk.due(sent_ns)
            if self.terms.timed and lost:
                self.report("lost", claim=claim, ended=ended)
            if not idle:
                self._want = want
            elif lost and not ended:
                self._scarce_until_ns = self.identity.now_ns() + self._keep_ns
            return
        late = walk.due(self.identity.now_ns()) - claim.until if self.terms.timed else 0
        self.report("renewed", claim=reply, late_ticks=late)
        self.claim, self._want, self._block_requested = reply, want, False
        walk.prolong(reply.until, *reply.time(self.terms), read_ns, self.identity.era)

    def _is_last(self, claim: Claim) -> bool:
        """Whether a renewal that reached nothing will never reach more."""
        return not self.terms.timed or claim.until >= self.terms.end

    def _rate_hz(self, walk: Walk) -> int:
        """IDs per second since the last call."""
        issued, since_ns = self.metered
        self.metered = walk.issued, self.identity.now_ns()
        return (walk.issued - issued) * 10**9 // max(1, self.metered[1] - since_ns)

    def _release(self, used: int) -> Steps[None]:
        claim, self.claim = self.claim, None
        self._want = self._first_want()
        if claim is None or not self._renewable:
            return
        self._renewable = False
        # A walk that closed before it could adopt this claim knows only an earlier one.
        used = max(used, claim.start)
        sent_ns = self.identity.now_ns()
        request = self.request(self._seen, claim, None)
        reply: LastSeen | Lost = yield lambda registry: registry.release(request, used)
        yield from self._note_reply(request, reply, sent_ns)
        self.report("given_back", claim=claim, used=used)

    def _note_reply(
        self, request: VerbRequest, reply: Claim | Wait | Lost | LastSeen, sent_ns: int
    ) -> Steps[int]:
        """The registry has answered: note it. Returns when the registry read its clock."""
        memory = remembered(request, reply, self.identity.now_ns() // 1000, self.terms)
        if self.trouble is not None:
            self.report("back", since_us=self.trouble_since_us)
        if is_loss(self._seen.sid, memory.sid):
            self._lost_us = self._wall_us()
            self.report("loss_noticed")
        self._seen = memory
        self.trouble, self._refused, self._retries = None, False, Retries()
        self._answer_ns = self.identity.now_ns() - sent_ns
        self._answered_ns = heard_ns = sent_ns + self._answer_ns
        read_ns: int = yield partial(reading_ns, sent_ns=sent_ns, heard_ns=heard_ns)
        return read_ns

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

    def wake(self, error: FrazilError | None) -> None:
        """Answer all callers."""
        self._callers_wait = False  # first, so that a caller that comes now has the next round
        self.calls.answer(error)

    def _note_failure(self, error: TryLater) -> None:
        self.failures += 1
        self.report("failed", error=error, first=self.trouble is None)
        if self.trouble is None:
            self.trouble_since_us = self._wall_us()
        self.trouble = error.with_traceback(None)  # its frames hold the walk
        part = self.jitter()
        rest_us = int(self._retries.pause_s(part) * 1e6)
        if self.terms.timed:  # the longest pause is an eighth of a horizon, and random too
            rest_us = min(rest_us, int(self._report_us() // 4 * part))
        self._back_off(rest_us)

    def _back_off(self, us: int) -> None:
        """Send the registry nothing for so long, even if callers wait."""
        self._back_off_until_ns = self.identity.now_ns() + us * 1000

    def _needs_renewal(self, walk: Walk) -> bool:
        if walk.closed:  # the last round comes next, and gives back the rest
            return False
        if not self.terms.timed:
            return walk.wanting
        if not self._renewable:
            return self._silent_us() >= self._report_us()
        return 2 * walk.reach() < self._want

    def _next_round_s(self, walk: Walk) -> float | None:
        """Seconds until the next round, if no caller comes."""
        pause_s = (self._back_off_until_ns - self.identity.now_ns()) / 1e9
        if self._callers_wait:
            return max(pause_s, 0.0)
        if not self.terms.timed:
            return max(pause_s, 0.001) if self.trouble is not None and walk.wanting else None
        if self.claim is None:
            return None
        if not self._renewable:
            end = self.claim.until + self.terms.wait_ticks
            if end <= walk.due(self.identity.now_ns()):
                return None
            least_s = _REFUSED_S if self._refused else 0.001
            return max(pause_s, (self._report_us() - self._silent_us()) / 1e6, least_s)
        if self.trouble is not None and self._needs_renewal(walk):
            return max(pause_s, 0.001)
        reach, rest = walk.reach(), self._want // 2
        next_s = max(reach - rest, rest // 4, 1) * self.terms.tick_us / 1e6
        return max(next_s, _REFUSED_S) if self._refused else next_s

    def _report_us(self) -> int:
        return report_us(self.terms)

    def _silent_us(self) -> int:
        """How long ago the registry answered."""
        return (self.identity.now_ns() - self._answered_ns) // 1000

    def _first_want(self) -> int:
        if not self.terms.timed:
            return self._block
        long_us = max(FIRST_CLAIM_US, _ANSWERS * self._answer_ns // 1000)
        return max(1, min(long_us // self.terms.tick_us, self.terms.horizon_ticks))
