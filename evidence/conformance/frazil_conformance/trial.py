"""The environment of one check: a namespace, members with a memory, and a history of replies.

Members do manually what a keeper does: they remember the registry's state, send it with each
request, and send their wall clock as a witness. They add every reply to one history. Properties of
the whole history (no two claims overlap, nothing is beyond the horizon) are checked afterwards,
whatever the schedule was.

A member ignores a reply to simulate a lost one, and sends a ``VerbRequest`` again to simulate a
late or repeated one. The registry cannot distinguish this from a network failure.
"""

import random
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar

from frazil import Scheme, scheme
from frazil.claims.claim import Claim, LastSeen, Lost, Terms, VerbRequest, Wait
from frazil.errors import ConfigError
from frazil.registries.base import Registry
from frazil.system import clock
from frazil_conformance.store import (
    Forgets,
    OwnTime,
    Partitioned,
    Restarts,
    Rewinds,
    StepsClock,
    Store,
    Wire,
)

HOUR_US = 3_600_000_000

POOL = scheme("sign:1=0 time:41 node:3 sequence:19 @1ms since 2025-01-01T00:00:00Z")
COUNTER = scheme("tickets")
RUNS = scheme("chibrary")

_LACKS: dict[type, str] = {
    Forgets: "its state cannot be lost",
    Restarts: "it cannot be restarted",
    Rewinds: "it cannot be restored from an older copy",
    StepsClock: "its clock cannot be stepped",
    Wire: "its connection cannot be made to fail",
}

Ability = TypeVar("Ability")
Reply = Claim | Wait | Lost | LastSeen


class BrokenContract(Exception):
    """A registry broke the contract; raised inside a check."""


class NotApplicable(Exception):
    """A check does not apply to this store; raised inside it, with the reason."""


def demand(holds: object, fault: str) -> None:
    """Raise BrokenContract with ``fault`` unless ``holds`` is true."""
    if not holds:
        raise BrokenContract(fault)


def demand_claim(reply: object, fault: str) -> Claim:
    """Return a reply that is a claim; raise BrokenContract with ``fault`` for any other."""
    if not isinstance(reply, Claim):
        raise BrokenContract(fault)
    return reply


def demand_refused(
    attempt: Callable[[], object],
    fault: str,
    errors: type[Exception] | tuple[type[Exception], ...] = ConfigError,
) -> str:
    """Require that an attempt raises one of the errors. Returns its message."""
    try:
        reply = attempt()
    except errors as error:
        return str(error)
    raise BrokenContract(f"{fault}: {reply!r}")


@dataclass(frozen=True, slots=True)
class Event:
    """A verb, its request (``value`` is want, until, used or a region), and its reply."""

    verb: str
    ask: VerbRequest
    value: Any
    reply: Reply


class Member:
    """A member of the namespace, with its own registry object."""

    def __init__(self, trial: "Trial", registry: Registry) -> None:
        self.trial = trial
        self.registry = registry
        self.terms: Terms = registry.terms
        self.seen = LastSeen()
        self.claim: Claim | None = None
        self.last: Event | None = None

    @property
    def horizon_ticks(self) -> int:
        """The farthest ahead that ticks are given (or the longest block)."""
        return self.terms.horizon_ticks

    def ask(self, held: Claim | None = None) -> VerbRequest:
        """A request from this member, now."""
        witness_us, boot_us = self.trial.wall_us(), self.trial.boot_us()
        token = secrets.token_hex(8)
        return VerbRequest(self.seen, witness_us, token, "conformance:1", held, boot_us)

    def send(self, verb: str, ask: VerbRequest, value: Any) -> Reply:
        """Send a request, which may be an old one, and record the reply."""
        reply: Reply = getattr(self.registry, verb)(ask, value)
        self.last = Event(verb, ask, value, reply)
        self.trial.history.append(self.last)
        return reply

    def hear(self, reply: Reply, ask: VerbRequest | None = None) -> None:
        """Remember the registry's state from a reply, of the last request."""
        if ask is None:
            assert self.last is not None
            ask = self.last.ask
        self.seen = ask.memory(reply, self.trial.boot_us(), self.terms)

    def initialise(self, start: int | None = 0) -> LastSeen:
        """Initialise the namespace as new, or with None as unknown."""
        ask = self.ask()
        self.hear(self.registry.initialise(ask, start), ask)
        return self.seen

    def try_grant(self, want: int, verb: str = "grant") -> Claim | Wait:
        """Request a grant (or mint) once; a claim becomes this member's."""
        reply = self.send(verb, self.ask(), want)
        self.hear(reply)
        if isinstance(reply, Claim):
            self.claim = reply
        else:
            demand(isinstance(reply, Wait), f"{verb} answered {reply!r}")
        return reply  # type: ignore[return-value]

    def grant(self, want: int, verb: str = "grant") -> Claim:
        """Request a claim, and wait for at most four horizons."""
        patience_us = 4 * self.horizon_ticks * self.terms.tick_us + 2_000_000
        while isinstance(reply := self.try_grant(want, verb), Wait):
            demand(patience_us > 0, f"no {verb} within four horizons: every reply was a wait")
            demand(reply.wait_us > 0, f"the reply says to wait {reply.wait_us} µs")
            patience_us -= max(reply.wait_us, 1000)
            self.trial.sleep_us(max(reply.wait_us, 1000))
        return reply

    def renew(self, claim: Claim, until: int) -> Claim | Lost:
        """Extend a claim to ``until``."""
        reply = self.send("renew", self.ask(claim), until)
        self.hear(reply)
        demand(isinstance(reply, Claim | Lost), f"renew answered {reply!r}")
        if isinstance(reply, Claim):
            self.claim = reply
        return reply  # type: ignore[return-value]

    def release(self, claim: Claim, used: int) -> LastSeen | Lost:
        """Give back a claim from ``used`` on."""
        reply = self.send("release", self.ask(claim), used)
        self.hear(reply)
        demand(isinstance(reply, LastSeen | Lost), f"release answered {reply!r}")
        return reply  # type: ignore[return-value]

    def tick(self, reply: Claim) -> int:
        """The tick of the registry's clock in a reply."""
        return self.terms.tick_at(reply.now_us) if self.terms.timed else 0

    def roam(self, rng: random.Random, stale: list[Event] | None = None) -> None:
        """One step of a random schedule: any verb, a lost reply, or a repeated request.

        stale: requests that may be repeated, kept from step to step; None for no repeats.
        """
        claim, longest = self.claim, self.horizon_ticks
        kind = rng.choice(["grant", "mint", "renew", "renew", "release", "lost", "stale"])
        if kind == "stale" and stale:
            event = rng.choice(stale)
            self.hear(self.send(event.verb, event.ask, event.value))
        elif kind == "mint":
            self.hear(self.send("mint", self.ask(), rng.randint(1, 5)))
        elif claim is None or kind == "grant":
            reply = self.try_grant(rng.randint(1, longest))
            if isinstance(reply, Wait):
                self.trial.sleep_us(min(reply.wait_us, 5000))
        elif kind == "renew":
            self.renew(claim, claim.until + rng.randint(0, longest))
        elif kind == "lost":
            self.send("renew", self.ask(claim), claim.until + rng.randint(1, longest))
        elif kind == "release":
            self.claim = None
            # Often all of it is used: the next region then begins at the end of this one.
            used = claim.until if rng.random() < 0.5 else rng.randint(claim.start, claim.until)
            self.release(claim, used)
        if stale is not None and self.last is not None and rng.random() < 0.3:
            stale.append(self.last)


class Trial:
    """The environment of one check on the store."""

    def __init__(self, store: Store, name: str, seed: int) -> None:
        self.store = store
        self.name = name
        self.begin()
        self.random = random.Random(f"{name} {seed}")  # noqa: S311 - schedules, not secrets

    def begin(self) -> None:
        """Begin again in a new namespace."""
        self.namespace = f"{self.name}-{secrets.token_hex(6)}"
        self.history: list[Event] = []

    def member(self, scheme: Scheme = POOL, namespace: str | None = None) -> Member:
        """A new member without a memory. A counter has one record, whatever keeps it."""
        if scheme.layout.tick_us is None:
            self.one_record()
        return Member(self, self.store.registry(scheme, namespace or self.namespace))

    def members(self, count: int, scheme: Scheme = POOL, start: int = 0) -> list[Member]:
        """Members of a namespace that one of them has initialised."""
        found = [self.member(scheme) for _ in range(count)]
        found[0].initialise(start)
        return found

    def sharers(self, count: int) -> list[Member]:
        """Members that share one record. Raises NotApplicable if a namespace has several."""
        self.one_record()
        return self.members(count)

    def one_record(self) -> None:
        """Raise NotApplicable if a namespace has several records."""
        if isinstance(self.store, Partitioned):
            raise NotApplicable(f"it is {self.store.parts} stores with a record each")

    def able(self, ability: type[Ability]) -> Ability:
        """The store, if it has an ability; otherwise raise NotApplicable with the reason."""
        if not isinstance(self.store, ability):
            raise NotApplicable(_LACKS[ability])
        return self.store

    def losing(self) -> Callable[[], None]:
        """What loses the state, or all of it since now. Raises NotApplicable if nothing does."""
        store, namespace = self.store, self.namespace
        if isinstance(store, Forgets):
            return partial(store.forget, namespace)
        if isinstance(store, Rewinds):
            return partial(store.rewind, namespace, store.copy(namespace))
        raise NotApplicable(_LACKS[Forgets])

    @contextmanager
    def clock_off(self, us: int) -> Iterator[None]:
        """In this context the store's clock is stepped. Raises NotApplicable if it cannot be."""
        store = self.able(StepsClock)
        store.step_clock(us)
        try:
            yield
        finally:
            store.step_clock(-us)

    def wall_us(self) -> int:
        """The members' wall clock."""
        return self.store.wall_us() if isinstance(self.store, OwnTime) else clock.wall_us()

    def boot_us(self) -> int:
        """The members' boot clock."""
        return self.store.wall_us() if isinstance(self.store, OwnTime) else clock.boot_ns() // 1000

    def sleep_us(self, us: int) -> None:
        """Let time pass."""
        if isinstance(self.store, OwnTime):
            self.store.sleep_us(us)
        else:
            time.sleep(us / 1e6)

    def touch_all_slots(self, member: Member) -> None:
        """Let a member request so many claims that no slot is left out."""
        for _ in range(2 * len(member.terms.slots)):
            member.try_grant(5)

    def claims(self) -> Iterator[Claim]:
        """Every claim in the history."""
        return (event.reply for event in self.history if isinstance(event.reply, Claim))

    def demand_disjoint(self) -> None:
        """Raise BrokenContract if two regions of a slot overlap."""
        for slot, a, b in overlaps(self.history):
            raise BrokenContract(
                f"slot {slot} was given twice: [{a[0]}, {a[1]}) and [{b[0]}, {b[1]})"
            )


def overlaps(history: list[Event]) -> Iterator[tuple[int, tuple[int, int], tuple[int, int]]]:
    """Overlapping regions of a slot at the end of a history.

    A renewal extends a region, and an accepted release ends it. A repeated request may have two
    regions, of which its member uses one; a release with their token ends both.
    """
    regions: dict[tuple[str, int, int], int] = {}
    for event in history:
        held = event.ask.held
        if isinstance(event.reply, Claim):
            token = event.ask.token if held is None else held.token
            owner = token, event.reply.slot, event.reply.start
            regions[owner] = max(event.reply.until, regions.get(owner, 0))
        elif held is not None and event.verb == "release" and isinstance(event.reply, LastSeen):
            for owner, until in regions.items():
                if owner[:2] == (held.token, held.slot):
                    regions[owner] = min(until, event.value)
    places = sorted((n, start, until) for (_, n, start), until in regions.items() if start < until)
    for (slot, *first), (other, *second) in pairwise(places):
        if slot == other and second[0] < first[1]:
            yield slot, (first[0], first[1]), (second[0], second[1])
