"""What claims cost a Redis or Valkey server: ``python -m benchmarks.stores [URL]``.

Without a URL it starts a Valkey of its own (as the tests do) that keeps nothing on disk. It counts
what the server itself counts (commands, processor time), so a noisy machine disturbs only the
rates. Prints a table in Markdown with versions and date; exits with 1 if an ID repeats or a life
fails.
"""

import argparse
import math
import os
import platform
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import redis

import frazil
from frazil.claim import Claim, Seen
from frazil.keeper import ask_of
from frazil.registries import connect

__all__ = ["main"]

_GRANTS = 2_000
_REST_S = 20
_BUSY_ASKS = 16
_HORIZONS_S = (5, 10)  # what is built in, and what a server full of busy members had better name
_MEMBERS = 1_024
_LIVES_S = 10
_PARENTS = 4
_SCHEME = frazil.scheme("icicle")

Live = Callable[[str, str, int], None]
"""A life at a URL, in a namespace; its IDs go into a pipe."""


class Store:
    """A server and what it says of itself."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.client: Any = redis.Redis.from_url(url)

    def calls(self) -> int:
        """How many times the script was run."""
        found = self.client.info("commandstats")
        return sum(found.get(f"cmdstat_{name}", {}).get("calls", 0) for name in ("eval", "evalsha"))

    def busy_s(self) -> float:
        """Processor time it has used."""
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
        registry.initialise(ask_of(Seen()), 0)
        return registry


def grants(store: Store) -> tuple[str, str]:
    """One grant is one round trip."""
    registry = store.registry(f"grants {time.time_ns()}")
    before, begun = store.calls(), time.perf_counter()
    for _ in range(_GRANTS):
        claim = registry.grant(ask_of(Seen()), 1)
        registry.release(ask_of(claim.seen, claim), claim.start)
    took_us = (time.perf_counter() - begun) / _GRANTS / 2 * 1e6
    asked = (store.calls() - before) / _GRANTS / 2
    return "requests per grant or release", f"{asked:.2f}, {took_us:.0f} µs each"


def rest(store: Store, horizon_s: int) -> float:
    """Requests a second of a generator that is used all the time, once its claims have grown."""
    namespace, more = f"rest {time.time_ns()}", f"?horizon={horizon_s}s"
    store.registry(namespace, more)
    with frazil.open(store.url + more, _SCHEME, namespace=namespace) as ids:
        end = time.monotonic() + horizon_s
        while time.monotonic() < end:
            ids.take(100)
        before, busy_s = store.calls(), _BUSY_ASKS / 2 * horizon_s  # it asks in each half of it
        end += busy_s
        while time.monotonic() < end:
            ids.take(100)
        return (store.calls() - before) / busy_s


def busy(store: Store) -> Iterator[tuple[str, str]]:
    """What a generator in constant use asks for, and what a server full of them costs."""
    for horizon_s in _HORIZONS_S:
        rate_hz = rest(store, horizon_s)
        yield f"?horizon={horizon_s}s: requests a second of a busy generator", f"{rate_hz:.2f}"
        yield members(store, rate_hz, horizon_s)


def members(store: Store, rate_hz: float, horizon_s: int) -> tuple[str, str]:
    """All node numbers held, each claim made longer ``rate_hz`` times a second.

    At that pace a server with nothing else to do sleeps between two requests, and to be woken costs
    it more than the request. What it costs one that has other work is measured without pauses.
    """
    more = f"?horizon={horizon_s}s"
    first = store.registry(f"members {time.time_ns()}", more)
    terms = first.terms
    crowd = [connect(store.url + more, first.namespace, _SCHEME) for _ in range(_MEMBERS)]
    claims: list[Any] = [one.grant(ask_of(Seen()), terms.horizon_ticks) for one in crowd]

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
    return (
        f"{more}: {_MEMBERS:,} members renewing ({pace_hz:.0f} a second), of one core",
        f"{share:.1%} (as many PINGs: {bare:.1%}); {awake:.1%} if asked without pauses",
    )


def _spent_s(store: Store, ask: Callable[[int], Any], pace_hz: float, for_s: float) -> float:
    """Processor time of the server for each request, asked at that pace."""
    before_s, begun, done = store.busy_s(), time.monotonic(), 0
    while time.monotonic() < begun + for_s:
        ask(done)
        done += 1
        time.sleep(max(0.0, begun + done / pace_hz - time.monotonic()))
    return (store.busy_s() - before_s) / done


def _live(url: str, namespace: str, pipe: int) -> None:
    """One short life: open, issue, close."""
    with frazil.open(url, _SCHEME, namespace=namespace, timeout="60s") as ids:
        os.write(pipe, struct.pack("<3Q", *ids.take(3)))


def _mint(url: str, namespace: str, pipe: int) -> None:
    """A shorter one: what ``frazil.mint`` is for."""
    ids = frazil.mint(3, url, _SCHEME, namespace=namespace, timeout="60s")
    os.write(pipe, struct.pack("<3Q", *ids))


def _visit(url: str, _namespace: str, pipe: int) -> None:
    """What the driver alone does in a life: connect, ask twice, close."""
    with redis.Redis.from_url(url) as client:
        client.ping()
        client.ping()
    os.write(pipe, bytes(24))


def lives(store: Store, live: Live, *, forked: bool) -> tuple[float, list[int]]:
    """Lives a second, one after another in several processes, and the IDs that they had.

    forked: each in a process of its own.
    """
    namespace = f"lives {time.time_ns()}"
    store.registry(namespace).link.drop()
    live(store.url, namespace, os.open(os.devnull, os.O_WRONLY))  # all is imported before a fork
    reader, writer = os.pipe()
    told: list[bytes] = []
    listening = threading.Thread(target=lambda: told.extend(iter(lambda: os.read(reader, 24), b"")))
    end = time.monotonic() + _LIVES_S
    parents = []
    for _ in range(_PARENTS):
        parent = os.fork()
        if not parent:
            os._exit(_generations(lambda: live(store.url, namespace, writer), end, forked=forked))
        parents.append(parent)
    os.close(writer)
    listening.start()
    failed = sum(os.waitpid(parent, 0)[1] != 0 for parent in parents)
    listening.join()
    os.close(reader)
    if failed:
        raise SystemExit(f"{failed} parents saw a failure")
    return len(told) / _LIVES_S, [number for each in told for number in struct.unpack("<3Q", each)]


def _generations(live: Callable[[], None], end: float, *, forked: bool) -> int:
    while time.monotonic() < end:
        child = os.fork() if forked else 0
        if child:
            if os.waitpid(child, 0)[1]:
                return 1
            continue
        try:
            live()
        except BaseException as error:  # noqa: BLE001 - a child must end here
            print(error, file=sys.stderr)
            os._exit(1)
        if forked:
            os._exit(0)
    return 0


def short_lives(store: Store) -> Iterator[tuple[str, str]]:
    """How many lives a store serves, and how many processes this machine can make for it."""
    of = f"a second, on {_MEMBERS:,} node numbers"
    rate, ids = lives(store, _live, forked=False)
    yield f"short lives, each with its connection and claim, {of}", f"{rate:.0f}"
    rate, forked = lives(store, _live, forked=True)
    minting, minted = lives(store, _mint, forked=True)
    bare, _ = lives(store, _visit, forked=True)
    yield (
        f"short processes (forks), {of}",
        f"{rate:.0f}, {minting:.0f} with frazil.mint (the driver's two PINGs alone: {bare:.0f})",
    )
    for each in (ids, forked, minted):
        if len(set(each)) < len(each):
            raise SystemExit(f"{len(each) - len(set(each))} repeats")


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
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stores", description=__doc__)
    parser.add_argument("url", nargs="?", help="of a server; default: a Valkey of its own")
    told = parser.parse_args(arguments)
    with _server(told.url) as url:
        store = Store(url)
        version = store.version()
        store.client.connection_pool.disconnect()  # no connection is carried into the forks
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
