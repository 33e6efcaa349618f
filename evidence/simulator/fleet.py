"""A fleet: a hundred thousand members of one store, in virtual time.

    python -m evidence.simulator.fleet --members 100000 --servers 8 --node-bits 18 --horizon 60
    python -m evidence.simulator.fleet --members 0 --starts 200 --life 0.2
    python -m evidence.simulator.fleet --members 512 --loss 20

``world`` checks that no ID repeats, with few members and every fault. This measures a store under
load: how long a member waits for its first claim, how busy the store is, and what happens after a
loss, when all members send requests at the same time. The record is the real one, with its verbs;
the store does one step at a time, and each takes what ``frazil plan --registry`` calculates with. A
member renews when half of its claim is left, its claims grow from the first one to the horizon, and
one of them is a random part of it, as with the real keeper. Servers that share nothing are runs of
their own.

Every grant is compared with all that was granted or used before on its slot, so an overlap of two
claims would be found here too.
"""

import argparse
import heapq
import random
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import frazil
from evidence.simulator.indexed import IndexedSlots
from evidence.simulator.violation import Violation
from frazil.claims.claim import Claim, LastSeen, Lost, VerbRequest, Wait
from frazil.claims.record import Record
from frazil.generator.timed_policy import FIRST_CLAIM_US, GROWTH
from frazil.reading.fleet_limits import COSTS_US
from frazil.registries.base import terms_of

__all__ = ["Fleet", "Plan", "main", "text"]

_SCHEME = frazil.scheme("time:41 node:22 @1ms since 2025-01-01")
_START_US = 1_800_000_000_000_000
_TIMEOUT_US = 10_000_000
_TRIP_US = 500  # one way


@dataclass(frozen=True, slots=True)
class Plan:
    """What happens: members that stay, others that start and end, and a loss of the store."""

    members: int
    starts_hz: float = 0.0
    life_s: float = 1.0
    crash_share: float = 0.1
    slots: int = 1024
    horizon_s: float = 5.0
    step_us: float = 450.0
    lasts_s: float = 30.0
    rise_s: float = 10.0
    loss_at_s: float = 0.0
    seed: int = 1


@dataclass(slots=True)
class Member:
    """A process: its claim, what it remembers, and when it asked first."""

    number: int
    ends_us: float
    asked_us: float
    seen: LastSeen
    sent_us: float = 0.0
    held: Claim | None = None
    crashes: bool = False
    want_us: float = 0.0
    spread: bool = False


class Fleet:
    """One run of a plan. Times are µs of virtual time from the start."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.waits_us: list[float] = []
        self.steps = self.interrupted = self.late = self.most_held = 0
        self.busy_us = 0.0
        self.in_second: Counter[int] = Counter()
        self._rng = random.Random(plan.seed)  # noqa: S311 - a schedule, not a secret
        self._free_us = self._now_us = 0.0
        self._held = self._count = 0
        self._incarnation = 1
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._floors: dict[int, int] = {}
        terms = terms_of(_SCHEME, round(plan.horizon_s * 1e6))
        self.terms = terms._replace(slots=range(plan.slots))  # a share, as of several servers
        self.record = Record(slots=IndexedSlots())
        ask = VerbRequest(LastSeen(), _START_US, "start")
        self.record.initialise(self.terms, ask, _START_US, "1", 0)

    def run(self) -> "Fleet":
        """Run the plan. Raises Violation if two claims overlap."""
        plan = self.plan
        for number in range(plan.members):
            self._at(self._rng.random() * plan.rise_s * 1e6, self._starter(number, lasts=True))
        number, at_s = plan.members, 0.0
        while plan.starts_hz and at_s < plan.lasts_s:
            self._at(at_s * 1e6, self._starter(number, lasts=False))
            number, at_s = number + 1, at_s + self._rng.expovariate(plan.starts_hz)
        if plan.loss_at_s:
            self._at(plan.loss_at_s * 1e6, self._lose)
        while self._heap and self._heap[0][0] < plan.lasts_s * 1e6:
            self._now_us, _, do = heapq.heappop(self._heap)
            do()
        return self

    def _at(self, us: float, do: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._heap, (us, self._count, do))

    def _starter(self, number: int, *, lasts: bool) -> Callable[[], None]:
        def start() -> None:
            life_us = float("inf") if lasts else self._rng.expovariate(1 / self.plan.life_s) * 1e6
            crashes = not lasts and self._rng.random() < self.plan.crash_share
            member = Member(
                number, self._now_us + life_us, self._now_us, LastSeen(), crashes=crashes
            )
            self._ask(member, self._grant)

        return start

    def _lose(self) -> None:
        """The store restarts empty."""
        self._incarnation += 1
        self.record = Record(slots=IndexedSlots())

    def _ask(self, member: Member, step: Callable[[Member], None]) -> None:
        """Send a request: it reaches the store, waits for its turn, and its reply comes back."""
        member.sent_us = self._now_us
        begins_us = max(self._now_us + _TRIP_US, self._free_us)
        self._free_us = begins_us + self.plan.step_us
        self.busy_us += self.plan.step_us
        self.steps += 1
        self.in_second[int(begins_us / 1e6)] += 1
        self._at(self._free_us + _TRIP_US, lambda: step(member))

    def _request(self, member: Member) -> tuple[VerbRequest, int]:
        reading_us = _START_US + round(self._now_us)
        token = member.held.token if member.held else f"{self._count:016x}"
        boot_us = round(member.sent_us)
        return VerbRequest(member.seen, reading_us, token, "", member.held, boot_us), reading_us

    def _grant(self, member: Member) -> None:
        ask, reading_us = self._request(member)
        answer_us = self._now_us - member.sent_us
        member.want_us = max(FIRST_CLAIM_US, 4 * answer_us)
        want = round(member.want_us / 1000)
        reply = self.record.grant(self.terms, ask, reading_us, str(self._incarnation), want)
        member.seen = ask.memory(reply, round(self._now_us), self.terms)
        if isinstance(reply, Wait):
            self._again(member, reply.wait_us)
            return
        if reply.start < self._floors.get(reply.slot, 0):
            raise Violation(f"slot {reply.slot} is granted from {reply.start} again")
        if reply.until > self.terms.tick_at(reading_us) + self.terms.horizon_ticks:
            raise Violation(f"slot {reply.slot} is granted beyond the horizon")
        self._floors[reply.slot] = reply.until
        member.held = reply
        self._held += 1
        self.most_held = max(self.most_held, self._held)
        begins_us = max(self._now_us, self._us(reply.start))
        self.waits_us.append(begins_us - member.asked_us)  # a claim may begin in a while
        self._rest(member)

    def _again(self, member: Member, wait_us: int) -> None:
        """Ask later, at a random moment of the next tick."""
        pause_us = wait_us + self._rng.random() * 1000
        self._at(self._now_us + pause_us, lambda: self._ask(member, self._grant))

    def _us(self, tick: int) -> int:
        return tick * 1000 + self.terms.epoch_us - _START_US

    def _rest(self, member: Member) -> None:
        """Until half of the claim is left, or the life ends."""
        assert member.held is not None
        left_us = self._us(member.held.until) - self._now_us
        renew_us = self._now_us + max(1000.0, left_us / 2)
        if member.ends_us > renew_us:
            self._at(renew_us, lambda: self._ask(member, self._renew))
        elif member.crashes:
            self._at(member.ends_us, self._fewer)
        else:
            self._at(member.ends_us, lambda: self._ask(member, self._release))

    def _fewer(self) -> None:
        self._held -= 1

    def _renew(self, member: Member) -> None:
        assert member.held is not None
        ask, reading_us = self._request(member)
        horizon_us = self.plan.horizon_s * 1e6
        growth = GROWTH * (0.5 + 0.5 * self._rng.random())
        member.want_us = min(member.want_us * growth, horizon_us)
        if member.want_us == horizon_us and not member.spread:
            left_us = max(0.0, self._us(member.held.until) - self._now_us)
            member.spread = True
            member.want_us = left_us + (horizon_us - left_us) * self._rng.random()
        until = self.terms.tick_at(reading_us) + round(member.want_us / 1000)
        reply = self.record.renew(self.terms, ask, reading_us, str(self._incarnation), until)
        member.seen = ask.memory(reply, round(self._now_us), self.terms)
        if isinstance(reply, Lost):
            self._fewer()
            self.interrupted += 1
            member.held, member.asked_us = None, self._now_us
            self._ask(member, self._grant)
            return
        if self.terms.tick_at(reading_us) >= member.held.until:
            self.late += 1
        slot = reply.slot
        self._floors[slot] = max(self._floors.get(slot, 0), reply.until)
        member.held = reply
        self._rest(member)

    def _release(self, member: Member) -> None:
        assert member.held is not None
        ask, reading_us = self._request(member)
        used = max(member.held.start, min(member.held.until, self.terms.tick_at(reading_us) + 1))
        reply = self.record.release(self.terms, ask, reading_us, str(self._incarnation), used)
        if not isinstance(reply, Lost):
            self._floors[member.held.slot] = used
        self._fewer()


def text(fleets: list[Fleet]) -> str:
    """What happened, in a few lines."""
    waits = sorted(wait for fleet in fleets for wait in fleet.waits_us) or [0.0]
    p50, p99 = (waits[int(len(waits) * share)] / 1e3 for share in (0.5, 0.99))
    lasts_s = fleets[0].plan.lasts_s
    share = max(fleet.busy_us for fleet in fleets) / (lasts_s * 1e6)
    settled = range(int(fleets[0].plan.rise_s + 2 * fleets[0].plan.horizon_s), int(lasts_s))
    each = [sum(fleet.in_second[second] for fleet in fleets) for second in settled]
    even = f", {min(each):,} to {max(each):,} when all have long claims" if any(each) else ""
    gave_up = sum(wait > _TIMEOUT_US for wait in waits)
    held, steps, late, lost = (
        sum(getattr(fleet, name) for fleet in fleets)
        for name in ("most_held", "steps", "late", "interrupted")
    )
    return (
        f"{len(waits):,} claims granted, {held:,} held at once; none overlap\n"
        f"first ID after {p50:,.1f} ms (median), {p99:,.1f} ms (99 of 100), "
        f"{waits[-1] / 1e3:,.1f} ms (longest)\n"
        f"{steps / lasts_s:,.0f} steps/s{even}; the busiest server worked for {min(share, 1):.0%} "
        f"of the time\n{late:,} renewals came too late, {gave_up:,} waits were longer than "
        f"{_TIMEOUT_US / 1e6:.0f} s, {lost:,} claims were lost and claimed again"
    )


def main(arguments: list[str] | None = None) -> int:
    """Run the plan of the arguments."""
    parser = argparse.ArgumentParser(prog="python -m evidence.simulator.fleet")
    parser.add_argument("--registry", choices=sorted(COSTS_US), default="redis", help="its costs")
    parser.add_argument("--servers", type=int, default=1, help="that share nothing")
    parser.add_argument("--members", type=int, default=1000, help="that stay")
    parser.add_argument("--starts", type=float, default=0, help="of others, a second")
    parser.add_argument("--life", type=float, default=1, help="of those, in seconds (mean)")
    parser.add_argument("--node-bits", type=int, default=10, help="of all servers together")
    parser.add_argument("--horizon", type=float, default=5, help="seconds")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--rise", type=float, default=10, help="in which the members start")
    parser.add_argument("--loss", type=float, default=0, help="when the stores are emptied")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    fleets = [
        Fleet(
            Plan(
                members=given.members * (n + 1) // given.servers
                - given.members * n // given.servers,
                starts_hz=given.starts / given.servers,
                life_s=given.life,
                slots=(1 << given.node_bits) // given.servers,
                horizon_s=given.horizon,
                step_us=COSTS_US[given.registry],
                lasts_s=given.seconds,
                rise_s=given.rise,
                loss_at_s=given.loss,
                seed=given.seed + n,
            )
        ).run()
        for n in range(given.servers)
    ]
    sys.stdout.write(text(fleets) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
