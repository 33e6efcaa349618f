"""Minting: a few IDs for a process that ends soon.

With a generator, a command or a cloud function would claim 100 ms of a node number, use one cell of
it and end. ``mint`` requests only the ticks that it fills: one round trip, no thread, and no claim
to give back.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from frazil.claims.claim import Claim, LastSeen, Lost, Terms, VerbRequest, Wait
from frazil.errors import FrazilError, RegistryUnavailable
from frazil.generator.journal import Journal
from frazil.generator.pacing import Retries, pause_us, report_us
from frazil.generator.request import OpenRequest, walk_arguments
from frazil.generator.verb_requests import ask_of
from frazil.inputs.arguments import check_count
from frazil.registries.base import Registry, reading_ns
from frazil.registries.remembered import remembered
from frazil.system.chance import jitter
from frazil.system.clock import boot_ns
from frazil.system.fork_gate import waiting
from frazil.system.process import ProcessIdentity
from frazil.system.uninterrupted import apart
from frazil.walk.walk import Walk

if TYPE_CHECKING:
    from frazil.generator.complaints import Cause

Answer = TypeVar("Answer")
Value = TypeVar("Value")
Reply = TypeVar("Reply", bound=Claim | Lost | LastSeen)

_LEAST_S = 0.1  # a registry has this time to answer, even with a shorter timeout


def mint(n: int, request: OpenRequest, registry: Registry, guard_us: int = 0) -> list[int]:
    """``n`` unique IDs, in order; see ``frazil.mint`` for the moments and the errors.

    guard_us: how much longer than the timeout it may wait for a registry that says to wait. In a
    child that a signal handler forks meanwhile they are the parent's, and maybe fewer.
    """
    n = check_count(n)
    terms = registry.terms
    per_tick = 1 if request.scheme.layout.axis == "sequence" else request.scheme.layout.sequences
    # Minted ticks have no other owner and are used at once, so this walk needs no clock.
    identity = ProcessIdentity()
    walk = Walk(identity, *walk_arguments(request.scheme, 0, None, clocked=False))
    ids: list[int] = []
    after = 0
    seen = LastSeen()
    deadline_ns = boot_ns() + (request.timeout_us + guard_us) * 1000
    while len(ids) < n and identity.intact():
        ticks = min(-(-(n - len(ids)) // per_tick), terms.horizon_ticks)
        reply, read_ns, seen = answered(
            registry, registry.mint, ticks, seen, request.timeout_us, deadline_ns
        )
        Journal(registry.url, terms).minted(reply)
        early_ns = _early_ns(reply, terms, request.lead_us, read_ns)
        _sleep(registry, early_ns, deadline_ns, partial(_why_early, reply, terms))
        # Another node's region may begin in an earlier tick, and IDs are minted in order.
        first = min(max(reply.start, after), reply.until)
        walk.adopt(reply.slot % terms.nodes, first, reply.until, 0, 0, 0)
        after = reply.until if terms.timed else 0
        ids += walk.take_ready(n - len(ids))
        deadline_ns = boot_ns() + request.timeout_us * 1000
    return ids


def answered(
    registry: Registry,
    verb: Callable[[VerbRequest, Value], Reply | Wait],
    value: Value,
    seen: LastSeen,
    timeout_us: int,
    deadline_ns: int,
) -> tuple[Reply, int, LastSeen]:
    """The first reply that is no wait, when the registry read its clock for it, and the memory.

    verb: one of the registry, with its value. Raises PoolExhausted if the wait is too long.
    """
    terms = registry.terms
    while True:
        answer_by_ns = min(boot_ns() + timeout_us * 1000, deadline_ns)
        sent_us, before = boot_ns() // 1000, seen
        reply, read_ns, seen = _asked(registry, verb, value, seen, answer_by_ns)
        if not isinstance(reply, Wait):
            return reply, read_ns, seen
        if seen.sid != before.sid and seen.told_us < sent_us:
            continue  # an earlier process heard of it; so ask again as one that knows
        wait_ns = pause_us(reply, terms, jitter()) * 1000
        why = partial(_why_wait, registry, reply)
        _sleep(registry, wait_ns, deadline_ns, why, report_us(terms) * 1000)


def _asked(
    registry: Registry,
    verb: Callable[[VerbRequest, Value], Reply | Wait],
    value: Value,
    seen: LastSeen,
    deadline_ns: int,
) -> tuple[Reply | Wait, int, LastSeen]:
    """The registry's reply, when it read its clock for it, and what is remembered of it.

    A failed request is repeated until the deadline, each time with another token: the ticks of a
    lost reply have no owner.
    """
    retries = Retries()
    trouble = ""
    while True:
        sent_ns = boot_ns()
        ask = ask_of(seen)
        try:
            reply = answer_by(partial(verb, ask, value), deadline_ns, registry.url, trouble)
            heard_ns = boot_ns()
            memory = remembered(ask, reply, heard_ns // 1000, registry.terms)
            return reply, reading_ns(registry, sent_ns, heard_ns), memory
        except RegistryUnavailable as error:
            trouble = str(error)
            pause_ns = int(retries.pause_s(jitter()) * 1e9)
            if boot_ns() + pause_ns > deadline_ns:
                raise
            with waiting():
                time.sleep(pause_ns / 1e9)


def answer_by(call: Callable[[], Answer], deadline_ns: int, url: str, trouble: str = "") -> Answer:
    """What a call of the registry at ``url`` returns or raises, if it does so in time.

    Else raises RegistryUnavailable, with the trouble that the registry had before, if any.
    """
    patience_s = max((deadline_ns - boot_ns()) / 1e9, _LEAST_S)
    try:
        return apart(call, patience_s)
    except TimeoutError:
        raise RegistryUnavailable(
            trouble
            or f"{url} has not answered within {patience_s:.1f} s, because it is down or another "
            "process keeps it busy; try again, or wait longer (timeout=; in the command, "
            "--timeout)",
            url=url,
            outcome_known=False,
        ) from None


def _early_ns(claim: Claim, terms: Terms, lead_us: int, read_ns: int) -> int:
    """The time until the claim's last tick is at most ``lead_us`` ahead of the clock."""
    if not terms.timed:
        return 0
    now, into_ns = claim.time(terms)
    passed_ns = boot_ns() - read_ns
    return ((claim.until - 1 - now) * terms.tick_us - lead_us) * 1000 - into_ns - passed_ns


def _why_early(claim: Claim, terms: Terms) -> "Cause":
    """Why a claim is ahead of the clock."""
    return "shared" if claim.start > claim.time(terms)[0] else "many"


def _why_wait(registry: Registry, wait: Wait) -> "Cause":
    """Why the registry grants nothing."""
    if not wait.guarded:
        return "full"
    with suppress(FrazilError):
        found = answer_by(registry.look, 0, registry.url)
        return "lost" if found is not None and found.holdings else "new"
    return ""


def _sleep(
    registry: Registry,
    wait_ns: int,
    deadline_ns: int,
    why: "Callable[[], Cause]",
    most_ns: int = 1 << 63,
) -> None:
    """Sleep, at most ``most_ns``. Raises PoolExhausted if the whole wait exceeds the deadline."""
    if wait_ns <= 0:
        return
    if boot_ns() + wait_ns > deadline_ns:
        from frazil.generator.complaints import KeeperState, exhausted

        state = KeeperState(registry.url, registry.terms, None, 0, why(), wait_ns / 1e9, 0)
        raise exhausted(f"no ID from {registry.url} in time: ", state)
    with waiting():
        time.sleep(min(wait_ns, most_ns) / 1e9)
