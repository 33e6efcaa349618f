"""What claims cost a Redis or Valkey server: ``python -m evidence.benchmarks.stores [URL]``.

Without a URL it starts a Valkey server (as the tests do) that keeps nothing on disk. It uses the
server's own counters (commands, processor time), so a noisy machine disturbs only the rates. Prints
a table in Markdown with versions and date. The exit code is 1 if an ID repeats or a life fails.
"""

import argparse
import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import redis

import frazil
from evidence.benchmarks.lives import KINDS, WORDS
from frazil.claims.claim import Claim, LastSeen
from frazil.generator.verb_requests import ask_of
from frazil.registries import connect

__all__ = ["main"]

_GRANTS = 2_000
_REST_S = 20
_BUSY_ASKS = 16
_HORIZONS_S = (5, 10)  # the default, and the advice for a server full of busy members
_MEMBERS = 1_024
_LIVES_S = 10
_PARENTS = 4
_SCHEME = frazil.scheme("icicle")


class Store:
    """A server and its counters."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.client: Any = redis.Redis.from_url(url)

    def calls(self) -> int:
        """How often the script was run."""
        found = self.client.info("commandstats")
        return sum(found.get(f"cmdstat_{name}", {}).get("calls", 0) for name in ("eval", "evalsha"))

    def busy_s(self) -> float:
        """The processor time that it has used, with the system's share."""
        found = self.client.info("cpu")
        return float(found["used_cpu_sys"]) + float(found["used_cpu_user"])

    def version(self) -> str:
        """Its name and version."""
        found = self.client.info("server")
        name = "Valkey" if "valkey_version" in found else "Redis"
        return f"{name} {found.get('valkey_version', found['redis_version'])}"

    def registry(self, namespace: str, more: str = "") -> Any:
        """A new namespace."""
        registry = connect(self.url + more, namespace, _SCHEME)
        registry.initialise(ask_of(LastSeen()), 0)
        return registry


def grants(store: Store) -> tuple[str, str]:
    """One grant is one round trip."""
    registry = store.registry(f"grants {time.time_ns()}")
    before, begun = store.calls(), time.perf_counter()
    for _ in range(_GRANTS):
        claim = registry.grant(ask_of(LastSeen()), 1)
        registry.release(ask_of(claim.seen, claim), claim.start)
    took_us = (time.perf_counter() - begun) / _GRANTS / 2 * 1e6
    asked = (store.calls() - before) / _GRANTS / 2
    return "requests per grant or release", f"{asked:.2f}, {took_us:.0f} µs each"


def rest(store: Store, horizon_s: int) -> float:
    """Requests a second of a generator in constant use, once its claims have grown."""
    namespace, more = f"rest {time.time_ns()}", f"?horizon={horizon_s}s"
    store.registry(namespace, more)
    with frazil.open(store.url + more, _SCHEME, namespace=namespace) as ids:
        end = time.monotonic() + horizon_s
        while time.monotonic() < end:
            ids.take(100)
        before, busy_s = store.calls(), _BUSY_ASKS / 2 * horizon_s  # one request in each half of it
        end += busy_s
        while time.monotonic() < end:
            ids.take(100)
        return (store.calls() - before) / busy_s


def busy(store: Store) -> Iterator[tuple[str, str]]:
    """The requests of a generator in constant use, and what a server full of them costs."""
    for horizon_s in _HORIZONS_S:
        rate_hz = rest(store, horizon_s)
        yield f"?horizon={horizon_s}s: requests a second of a busy generator", f"{rate_hz:.2f}"
        yield members(store, rate_hz, horizon_s)


def members(store: Store, rate_hz: float, horizon_s: int) -> tuple[str, str]:
    """All node numbers held, each claim renewed ``rate_hz`` times a second.

    At that pace an otherwise idle server sleeps between two requests, and waking up costs it more
    than the request. The cost for a server with other work is measured without pauses. Both are
    processor time with the system's share; as many PINGs show how large that is.
    """
    more = f"?horizon={horizon_s}s"
    first = store.registry(f"members {time.time_ns()}", more)
    terms = first.terms
    crowd = [connect(store.url + more, first.namespace, _SCHEME) for _ in range(_MEMBERS)]
    claims: list[Any] = [one.grant(ask_of(LastSeen()), terms.horizon_ticks) for one in crowd]

    def renew(done: int) -> None:
        number = done % _MEMBERS
        claim = claims[number]
        target = claim.until + terms.horizon_ticks
        longer = crowd[number].renew(ask_of(claim.seen, claim), target)
        if not isinstance(longer, Claim):
            raise SystemExit(f"member {number} lost its claim")
        claims[number] = longer

    pace_hz = rate_hz * _MEMBERS
    share = _spent_s(store, renew, pace_hz, _REST_S) * pace_hz
    bare = _spent_s(store, lambda _: store.client.ping(), pace_hz, _REST_S / 4) * pace_hz
    awake = _spent_s(store, renew, math.inf, _REST_S / 4) * pace_hz
    alert = _spent_s(store, lambda _: store.client.ping(), math.inf, _REST_S / 4) * pace_hz
    return (
        f"{more}: {_MEMBERS:,} members renewing ({pace_hz:.0f} a second), of one core",
        f"{share:.1%} (PINGs: {bare:.1%}); {awake:.1%} without pauses (PINGs: {alert:.1%})",
    )


def _spent_s(store: Store, ask: Callable[[int], Any], pace_hz: float, for_s: float) -> float:
    """Processor time of the server for each request, at a pace."""
    before_s, begun, done = store.busy_s(), time.monotonic(), 0
    while time.monotonic() < begun + for_s:
        ask(done)
        done += 1
        time.sleep(max(0.0, begun + done / pace_hz - time.monotonic()))
    return (store.busy_s() - before_s) / done


def lives(store: Store, kind: str) -> tuple[float, list[int]]:
    """Lives of a kind a second, one after another in several programs, and their IDs."""
    namespace = f"lives {time.time_ns()}"
    store.registry(namespace).link.drop()
    command = [
        sys.executable,
        "-m",
        "evidence.benchmarks.lives",
        kind,
        store.url,
        namespace,
        str(_LIVES_S),
    ]
    parents = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(_PARENTS)]
    with ThreadPoolExecutor(_PARENTS) as readers:
        output = b"".join(readers.map(lambda parent: parent.communicate()[0], parents))
    if any(parent.returncode for parent in parents):
        raise SystemExit("a life failed")
    numbers = [number for life in WORDS.iter_unpack(output) for number in life]
    return len(numbers) / 3 / _LIVES_S, numbers


def short_lives(store: Store) -> Iterator[tuple[str, str]]:
    """How many lives a store serves, and how many processes this machine can start for it."""
    rates = {}
    for kind in KINDS:
        rates[kind], ids = lives(store, kind)
        if any(ids) and len(set(ids)) < len(ids):
            raise SystemExit(f"{len(ids) - len(set(ids))} repeats")
    of = f"a second, on {_MEMBERS:,} node numbers"
    yield f"short lives, each with its connection and claim, {of}", f"{rates['unforked']:.0f}"
    bare = f"the driver's two PINGs: {rates['visit']:.0f}, nothing: {rates['nothing']:.0f}"
    served = f"{rates['open']:.0f}, {rates['mint']:.0f} with frazil.mint (only {bare})"
    yield f"short processes (forks), {of}", served


@contextmanager
def _server(url: str | None) -> Iterator[str]:
    if url:
        yield url
        return
    from tests.servers.redis import Server

    with Server("valkey") as server:
        yield server.url


def _rows(store: Store) -> Iterator[tuple[str, str]]:
    yield from short_lives(store)
    yield grants(store)
    yield from busy(store)


def main(arguments: Sequence[str]) -> None:
    """See the module."""
    parser = argparse.ArgumentParser(
        prog="python -m evidence.benchmarks.stores", description=__doc__
    )
    parser.add_argument("url", nargs="?", help="of a server; default: a Valkey of its own")
    options = parser.parse_args(arguments)
    with _server(options.url) as url:
        store = Store(url)
        version = store.version()
        print("| What | Measured |\n|---|--:|")
        for what, found in _rows(store):
            print(f"| {what} | {found} |", flush=True)
    now = datetime.now(UTC).strftime("%Y-%m-%d")
    python = platform.python_version()
    core = "compiled" if frazil.COMPILED else "interpreted"
    print(
        f"\n{now}, {version}, frazil {frazil.__version__} ({core}), Python {python}, "
        f"redis-py {redis.__version__}, {os.cpu_count()} cores."
    )


if __name__ == "__main__":
    main(sys.argv[1:])
