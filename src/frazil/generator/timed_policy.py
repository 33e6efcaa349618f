"""The keeper's policy for a layout with time.

- A busy generator renews its claim when less than half of the ticks that it wanted are left. It
  wants two to four times as many each time, up to the horizon, and once a random part of it. So
  members that start together soon renew at different times, and no second has many more requests
  than another (``evidence.simulator.fleet`` counts them). The first claim has 100 ms, so a short
  life wastes little; more if the last answer was slow, or the claim would end before its use. If
  the thread of the keeper or the store has too much to do, short claims would make that worse: each
  would end before its renewal. So a claim also lasts for four times as long as its caller waited.
- A generator that issued nothing since the last renewal is *idle*. For a while after its last ID
  (``keep``) its claim is kept warm, so that a rare ID costs its caller no request: it is renewed
  for the whole horizon, when half of that is left. After that it is given back. The ID for which a
  caller waited does not count: a generator that issued no other one is renewed like an idle one,
  so its start costs the store two steps, and a renewal that is late costs one.
- If an idle claim has a new owner before its end, the node numbers are scarce: for that while, none
  is kept warm.
- A claim with a new owner is used to its end. Then there is a new one, of more ticks. So two
  busy generators do not take one number from each other repeatedly: a registry grants the number
  whose claim ends first, and that is soon one of an idle generator.

A member that remembers is what ends a loss of the store without a repeat (see ``record``). So it
is never silent for long: a claim that is lost is still reported every half horizon, until a wait
after its end, and a member that has to wait asks again as often.
"""

from frazil.claims.claim import Claim, Lost
from frazil.generator.complaints import Cause
from frazil.generator.keeper_policy import KeeperPolicy, Steps
from frazil.walk.walk import Walk

FIRST_CLAIM_US = 100_000
_REFUSED_S = 1.0  # until a refused renewal is tried again, unless a caller waits
_DOUBTS_NS = 10**9
GROWTH = 4  # of what is wanted, with each renewal; times a random number from 0.5 to 1
_ANSWERS = 4  # the least claim, in answer times: half to use it, half to renew it


class TimedPolicy(KeeperPolicy):
    """Keeps a walk whose axis is time: renews a busy one's claim, gives back an idle one's."""

    _want = 0  # ticks of the last request
    _spread = False  # whether the random part of a horizon was requested
    _at = 0, 0  # the walk's IDs and its tick, at the last renewal
    _rare_most = 0  # up to so many IDs of the walk, a caller waited for the last one
    _used_ns = 0  # when it was last seen busy
    _scarce_until_ns = 0
    _late_ns = 0  # how long a caller waited until the keeper came to it
    doubted = False  # a caller waits for the registry's clock
    _doubted_ns = -_DOUBTS_NS

    def doubt(self) -> bool:
        """Renew the claim in the next round, to hear what the registry's clock says.

        Returns whether it does: at most once a second, whatever IDs callers have seen.
        """
        now_ns = self.identity.now_ns()
        if now_ns - self._doubted_ns < _DOUBTS_NS or not self._renewable or self.trouble:
            return False
        self._doubted_ns, self.doubted = now_ns, True
        return True

    def _why(self, _waited_s: float, /) -> Cause:
        walk = self.walk()
        if walk is not None and walk.left() > 0:
            return "used" if walk.begun() else "shared"
        return self.wait_cause or ""

    def _supply(self, walk: Walk) -> Steps[None]:
        """Renew the claim, or get another one if it has a new owner."""
        asked_ns, now_ns = self._asked_ns, self.identity.now_ns()
        self._late_ns = 0 if asked_ns is None else now_ns - asked_ns
        if self._renewable:
            yield from self._renew(walk, rare=self._is_rare(walk))
            self._rare_most = walk.made() + 1
            self.wait_cause = "used" if self._renewable and not walk.left() else None
            if self.wait_cause:
                # The claim is as far ahead of the registry's clock as possible: only time helps.
                self._back_off(int(self._want * self.terms.tick_us * self.jitter()) // 8)
        if not self._renewable:
            self._want = max(self._want, self._first_want())
            yield from self._grant(walk, self._want)

    def _adopt(self, walk: Walk, claim: Claim, read_ns: int) -> None:
        self._at, self._used_ns = (walk.made(), walk.tick), self.identity.now_ns()
        self._rare_most = walk.made() + 1
        super()._adopt(walk, claim, read_ns)

    def _maintain(self, walk: Walk) -> Steps[None]:
        """Less than half is left: renew a busy walk's claim, give back an idle one's."""
        at = walk.made(), walk.tick  # many IDs may be of one tick
        idle = at == self._at and walk.begun()  # nothing was issued, although it could
        if not idle:
            self._used_ns = self.identity.now_ns()
        self._at = at
        if self.doubted:
            yield from self._renew(walk)
            if not self._renewable:
                yield from self._grant(walk, max(self._want, self._first_want()))
            self.doubted = False
        elif idle and not self._keeps_warm():
            used = walk.leave(self.identity.era)
            if self.identity.intact():  # else the claim may belong to another keeper
                self._want = 0
                yield from self._release(used)
        else:  # a claim that is lost too: the store may have forgotten the report
            yield from self._renew(walk, idle=idle, rare=self._is_rare(walk))

    def _first_want(self) -> int:
        long_us = max(FIRST_CLAIM_US, _ANSWERS * max(self.answer_ns, self._late_ns) // 1000)
        return max(1, min(long_us // self.terms.tick_us, self.terms.horizon_ticks))

    def _is_rare(self, walk: Walk) -> bool:
        """Whether no ID was issued but the one for which a caller waited.

        Not if an idle claim would be given back before half of a horizon is over.
        """
        half_ns = self.terms.horizon_ticks * self.terms.tick_us * 500
        return walk.made() <= self._rare_most and self._keeps_warm(half_ns)

    def _keeps_warm(self, further_ns: int = 0) -> bool:
        """Whether the claim of an idle walk is kept, and still so after ``further_ns``."""
        now_ns = self.identity.now_ns()
        idle_ns = now_ns - self._used_ns + further_ns
        return idle_ns < self._keep_ns and now_ns >= self._scarce_until_ns

    def _renew(self, walk: Walk, *, idle: bool = False, rare: bool = False) -> Steps[None]:
        """Ask for more ticks than last time, counted from the answer.

        For a walk that is idle, or from which IDs are rare, request the whole horizon, so that the
        next request is far away. A claim that is lost, or is at the end of the time field, is only
        used to its end.
        """
        claim, most = self.claim, self.terms.horizon_ticks
        assert claim is not None
        grown = min(max(int(GROWTH * self._want * self.jitter()), self._first_want()), most)
        want = most if idle or rare else grown
        if want == most and not self._spread:
            left = min(walk.left(), most)
            self._spread, want = True, left + int((most - left) * (2 * self.jitter() - 1))
        delay = self.answer_ns // (1000 * self.terms.tick_us)
        # A claim that was renewed late ended before the tick that is due.
        due = walk.due_now()
        at = max(walk.until - walk.left(), due)
        reply, read_ns = yield from self._ask_renewal(walk, claim, at + delay + want)
        lost, now_tick = isinstance(reply, Lost), self.terms.tick_at(reply.seen.now_us)
        ended = claim.until <= max(now_tick, walk.due_now())
        if isinstance(reply, Claim) and (reply.until > claim.until or claim.until < self.terms.end):
            self._want = want
            late = walk.due_now() - claim.until
            self._prolong(walk, reply, read_ns, late)
            return
        self._renewable = False
        if lost:
            self.report("lost", claim=claim, ended=ended)
        if not idle:
            self._want = grown
        elif lost and not ended:
            self._scarce_until_ns = self.identity.now_ns() + self._keep_ns

    def _needs_renewal(self, walk: Walk) -> bool:
        if walk.closed:  # the last round comes next, and gives back the rest
            return False
        if not self._renewable:
            return self._silent_us() >= self._report_us()
        return self.doubted or 2 * walk.reach() < self._want

    def _due_s(self, walk: Walk) -> float | None:
        if self.claim is None:
            return None
        if not self._renewable:
            end = self.claim.until + self.terms.wait_ticks
            if end <= walk.due_now():
                return None
            least_s = _REFUSED_S if self._refused else 0.001
            return max((self._report_us() - self._silent_us()) / 1e6, least_s)
        if self.trouble is not None and self._needs_renewal(walk):
            return 0.001
        reach, rest = walk.reach(), self._want // 2
        next_s = max(reach - rest, rest // 4, 1) * self.terms.tick_us / 1e6
        return max(next_s, _REFUSED_S) if self._refused else next_s

    def _rest_us(self, part: float) -> int:
        """At most an eighth of a horizon, and random too."""
        return min(super()._rest_us(part), int(self._report_us() // 4 * part))

    def _silent_us(self) -> int:
        """How long ago the registry answered."""
        return (self.identity.now_ns() - self._answered_ns) // 1000
