"""Minting: a few IDs for a process that will not stay.

A command or a cloud function that wants one ID would claim 100 ms of a node number, use one cell of
it and die. ``mint`` asks the registry for just the ticks that it fills and leaves nothing behind:
one round trip, no thread, no claim to give back.
"""

import time

from frazil.claim import Claim, Seen, Terms, Wait
from frazil.clock import boot_ns
from frazil.errors import PoolExhausted
from frazil.generator import Config, check_count, walk_arguments
from frazil.keeper import ask_of, jitter, pause_us
from frazil.machine import Sense
from frazil.registries.base import Registry
from frazil.walk import Walk

__all__ = ["mint"]


def mint(n: int, config: Config, registry: Registry) -> list[int]:
    """``n`` unique IDs, in order; see ``frazil.mint`` for when they come and what is raised."""
    terms = registry.terms
    per_tick = 1 if config.scheme.layout.axis == "sequence" else config.scheme.layout.sequences
    # What is minted is ours for good and used at once, so this walk needs no clock.
    sense = Sense()
    walk = Walk(sense, *walk_arguments(config.scheme, 0, None, clocked=False))
    ids: list[int] = []
    after = 0
    seen = Seen()
    deadline_ns = boot_ns() + config.timeout_us * 1000
    while len(ids) < check_count(n) and sense.intact():
        ticks = min(-(-(n - len(ids)) // per_tick), terms.horizon_ticks)
        sent_ns = boot_ns()
        reply = registry.mint(ask_of(seen), ticks)
        seen = reply.seen
        if isinstance(reply, Wait):
            _sleep(pause_us(reply, terms, jitter()) * 1000, deadline_ns, registry.url)
            continue
        _sleep(_early_ns(reply, terms, config.lead_us, sent_ns), deadline_ns, registry.url)
        # Another node's region may begin in an earlier tick, and IDs are minted in order.
        first = min(max(reply.start, after), reply.until)
        walk.adopt(reply.slot % terms.nodes, first, reply.until, 0, 0, 0)
        after = reply.until if terms.timed else 0
        ids += walk.take_ready(n - len(ids))
        deadline_ns = boot_ns() + config.timeout_us * 1000
    # A signal handler may have forked: the child has what its parent gathered.
    return ids if sense.intact() else mint(n, config, registry)


def _early_ns(claim: Claim, terms: Terms, lead_us: int, sent_ns: int) -> int:
    """How long until the claim's last tick is no more than ``lead_us`` ahead of the clock."""
    if not terms.timed:
        return 0
    now, into_ns = claim.time(terms)
    passed_ns = (boot_ns() - sent_ns) // 2
    return ((claim.until - 1 - now) * terms.tick_us - lead_us) * 1000 - into_ns - passed_ns


def _sleep(wait_ns: int, deadline_ns: int, url: str) -> None:
    if wait_ns <= 0:
        return
    if boot_ns() + wait_ns > deadline_ns:
        raise PoolExhausted(
            f"{url} has nothing to give for the next {wait_ns / 1e9:.1f} s; try again then",
            retry_after_s=wait_ns / 1e9,
        )
    time.sleep(wait_ns / 1e9)
