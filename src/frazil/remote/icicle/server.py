"""One server of the pool: the script's verbs as methods, and its refusals as errors.

Both forms of the script are made from ``icicle.lua``, which begins with a description of the keys,
arguments, units and the reply. Servers from Redis 7 on store libraries of functions on disk and
copy them to their replicas. So a caller in any language needs only ``FCALL``.

The client remembers the highest ``top_us`` of a server and sends it with each call. A server that
loses its state while its clock is behind continues after it.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from functools import cache, partial
from math import inf
from secrets import token_hex
from typing import Any, NamedTuple

from frazil.errors import ClockError, ConfigError, FrazilError, LayoutExhausted
from frazil.redis_link.access import Access, Script
from frazil.redis_link.link import Link
from frazil.system.clock import boot_ns, wall_us
from frazil.system.imports import text_beside
from frazil.system.steps import Steps, run

FUNCTION = "frazil_icicle"  # the name of the function, and of the library
MOST_IDS = 4_096_000
MOST_LEAD_US = 1_000_000
LAST_SHARD = 1023

_REFUSED = re.compile(r"ICICLE ([A-Z]+): (.*)", re.DOTALL)
_APART = re.compile(r"its clock says (\d+) us and the caller's (\d+)")
_KINDS: dict[str, type[FrazilError]] = {"CLOCK": ClockError, "EXHAUSTED": LayoutExhausted}


class Issued(NamedTuple):
    """IDs of a server. spans: first ID and how many; wait_us: until there are more."""

    shard: int
    top_us: int
    wait_us: int
    spans: tuple[tuple[int, int], ...] = ()


class State(NamedTuple):
    """The state of a namespace on a server, at ``now_us`` of its clock. shard: None if unset.

    (tick, sequence) is the first cell not issued, and nothing is issued before tick ``guard``.
    pool: the text about the pool that ``init`` stored.
    """

    shard: int | None
    pool: str
    top_us: int
    wait_us: int
    tick: int
    sequence: int
    guard: int
    last_us: int
    offset_us: int
    now_us: int


@cache
def icicle_script() -> Script:
    """Return the script, with the SHA-1 by which a server knows it."""
    source = text_beside(__name__, "icicle.lua")
    return Script(source, hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest())


def icicle_library() -> str:
    """Return the text for ``FUNCTION LOAD``; ``FCALL frazil_icicle 1 KEY issue …`` calls it."""
    return (
        f"#!lua name={FUNCTION}\n"
        f"redis.register_function('{FUNCTION}', function(KEYS, ARGV)\n"
        f"{icicle_script().source}"
        "end)\n"
    )


def key_of(namespace: str) -> str:
    """Return the key of a namespace; the braces keep it on one node of a cluster."""
    return f"frazil:icicle:{{{namespace}}}"


def arguments(
    verb: str,
    *,
    count: int = 1,
    lead_us: int = 0,
    shard: int | None = None,
    seen_us: int = 0,
    replicas: int = 0,
    new: bool = False,
    pool: str = "",
    continued_us: int = 0,
) -> list[str]:
    """Return the arguments of the script; see its first lines."""
    numbers = (count, lead_us, "" if shard is None else shard, seen_us, wall_us(), replicas)
    return [verb, token_hex(6), *map(str, (*numbers, int(new), pool, continued_us))]


def issued(answer: Sequence[str], most: int) -> Issued | None:
    """Return the answer to ``issue`` or ``init``, or None if it is not valid."""
    if answer[0] not in ("ids", "init") or len(answer) < 6 or len(answer) % 2:
        return None
    spans = zip(map(int, answer[6::2]), map(int, answer[7::2]), strict=True)
    given = Issued(int(answer[3]), int(answer[4]), int(answer[5]), tuple(spans))
    return given if sum(count for _, count in given.spans) <= most else None


def state(answer: Sequence[str]) -> State | None:
    """Return the answer to ``look``, or None if it is not valid."""
    if answer[0] != "look" or len(answer) != 13:
        return None
    shard = int(answer[3]) if answer[3] else None
    return State(shard, answer[12], *map(int, answer[4:12]))


def refusal(error: Exception, name: str) -> FrazilError | None:
    """Return the script's refusal as an error of the server ``name``, or None for other errors."""
    found = _REFUSED.match(str(error))
    if found is None:
        return None
    facts: dict[str, Any] = {"url": name, "code": found[1]}
    if apart := _APART.match(found[2]):
        facts |= {"reading_us": int(apart[1]), "witness_us": int(apart[2])}
    return _KINDS.get(found[1], ConfigError)(f"{name}: {found[2]}", **facts)


class ServerCalls:
    """A server, or a cluster, that issues IDs of one namespace: its verbs, as steps.

    shard: the one that it must have; None for any. apart_us: the server's clock less this host's
    boot clock, as of the last answer that shows it; else None. Raises RegistryUnavailable,
    ConfigError, ClockError and LayoutExhausted.
    """

    link_of: Callable[..., Any]  # Link or AsyncLink

    def __init__(self, access: Access, namespace: str, shard: int | None = None) -> None:
        self.link = self.link_of(access, icicle_script(), refusal)
        self.access = access
        self.name = access.name  # without a password
        self.namespace = namespace
        self.shard = shard
        self.apart_us: int | None = None
        self._key = key_of(namespace)
        self._seen_us = 0
        self._ahead_us = 0  # the server's clock less this host's boot clock, at most; 0: unknown

    def issuing(self, count: int, lead_us: int, within_s: float) -> Steps[Issued]:
        """Get up to ``count`` IDs, of the ticks up to now or up to ``lead_us`` ahead."""
        return self._giving("issue", count, within_s, lead_us=lead_us, shard=self.shard)

    def looking(self, within_s: float) -> Steps[State]:
        """Read the state of the namespace."""
        sent_us = boot_ns() // 1000
        found = state((yield from self._calling("look", within_s)))
        if found is None:
            raise (yield from self.link.distrust())
        self._compare(found.now_us, sent_us)
        return found

    def _giving(self, verb: str, most: int, within_s: float, **about: Any) -> Steps[Issued]:
        """Get IDs, and remember the highest ``top_us``."""
        sent_us = boot_ns() // 1000
        about |= {"count": max(most, 1), "seen_us": self._seen_us}
        about |= {"continued_us": sent_us + self._ahead_us}
        answer = yield from self._calling(verb, within_s, **about)
        given = issued(answer, most)
        if given is None:
            raise (yield from self.link.distrust())
        self._ahead_us = max(self._ahead_us, given.top_us - sent_us)
        self._seen_us = max(self._seen_us, given.top_us)
        if given.spans:  # after a loss, IDs begin when its clock has passed the lost one
            self._compare(given.top_us, sent_us)
        return given

    def _calling(self, verb: str, within_s: float, **about: Any) -> Steps[list[str]]:
        asked = arguments(verb, replicas=self.access.replicas, **about)
        again = ["incarnation", *asked[1:]]
        sent_us = boot_ns() // 1000
        try:
            answer: list[str] = yield partial(self.link.call, self._key, asked, again, within_s)
        except ClockError as error:
            if "reading_us" in error.facts:
                self._compare(error.facts["reading_us"], sent_us)
            raise
        return answer

    def _compare(self, server_us: int, sent_us: int) -> None:
        """Remember what its clock showed, half way between the request and now."""
        self.apart_us = server_us - (sent_us + boot_ns() // 1000) // 2


class IcicleServer(ServerCalls):
    """A server for threads, which may share it."""

    link_of = Link

    def initialise(self, shard: int, *, new: bool = False, pool: str = "") -> Issued:
        """Assign the shard. new: no server ever had it, so the first ID does not wait.

        pool: the text about the pool to store; "" keeps the stored one.
        """
        return run(self._giving("init", 0, inf, shard=shard, new=new, pool=pool))

    def look(self, within_s: float = inf) -> State:
        """See ``looking``."""
        return run(self.looking(within_s))
