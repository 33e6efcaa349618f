"""How long an ID takes to come, first and after a rest: ``python -m benchmarks.ready [STORE ...]``.

A benchmark of calls in a loop never sees what a web handler sees: the first ID of a process, and
one ID after seconds without any. This measures both, for each store, with servers started as in the
tests. Many generators rest at the same time, so that a rest of 30 s gives many samples in 30 s.
It also measures the longest stall of an event loop while a first ID is awaited, and what a fleet
that rests costs a server. Prints tables in Markdown. The exit code is 1 if an ID repeats.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import count

import redis

import frazil
from tests.servers.etcd import etcd
from tests.servers.icicle import Caller
from tests.servers.postgres import postgres
from tests.servers.redis import Server

__all__ = ["main"]

_MEMBERS = 50
_NEW = 3
_RESTS_S = (0.1, 1.0, 5.0, 30.0)
_FLEET_S = 20
_names = count()


@contextmanager
def _redis() -> Iterator[str]:
    with Server() as server:
        yield server.url


@contextmanager
def _icicle() -> Iterator[str]:
    with Server() as server:
        Caller(server).init()
        yield f"icicle://127.0.0.1:{server.port}"


@contextmanager
def _etcd() -> Iterator[str]:
    with etcd() as cluster:
        yield cluster.url


@contextmanager
def _postgres() -> Iterator[str]:
    with postgres() as server:
        yield server.url


@contextmanager
def _sqlite() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        yield f"sqlite://{folder}/claims.db"


@contextmanager
def _memory() -> Iterator[str]:
    yield "memory:ready"


STORES: dict[str, Callable[[], object]] = {
    "memory": _memory,
    "sqlite": _sqlite,
    "redis": _redis,
    "postgres": _postgres,
    "etcd": _etcd,
    "icicle": _icicle,
}


def _timed(call: Callable[[], int]) -> tuple[float, int]:
    """How long a call takes in seconds, and its ID."""
    began = time.perf_counter()
    number = call()
    return time.perf_counter() - began, number


def _shown(times: Sequence[float]) -> str:
    """The median and the 99th percentile."""
    ordered = sorted(times)
    return " / ".join(_text(ordered[int(len(ordered) * part)]) for part in (0.5, 0.99))


def _text(seconds: float) -> str:
    return f"{seconds * 1e6:.0f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.1f} ms"


async def _stall_s(url: str, namespace: str) -> float:
    """The longest time for which the loop did nothing else while a first ID was awaited."""
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0)
            longest = max(longest, time.perf_counter() - before)

    async with frazil.aio.open(url, namespace=namespace) as ids:
        watching = asyncio.create_task(watch())
        await asyncio.sleep(0.01)
        await ids()
        watching.cancel()
    return longest


def _measure(name: str, url: str, members: int, rests_s: Sequence[float]) -> bool:
    """Print the row of a store. Whether all IDs differ."""
    own = name == "icicle"  # one namespace, which the server has
    namespaces = ["test" if own else f"ready-{next(_names)}" for _ in range(members)]
    issued: list[int] = []
    cells = []
    with ExitStack() as stack:
        fresh = [
            stack.enter_context(frazil.open(url, namespace=f"new-{next(_names)}"))
            for _ in range(0 if own else _NEW)
        ]
        with ThreadPoolExecutor(_NEW) as pool:
            cells.append(_shown([t for t, _ in pool.map(_timed, fresh)]) if fresh else "-")
        if not own and name != "memory":
            for namespace in namespaces:
                frazil.init(url, namespace=namespace, new=True)
        ids = [stack.enter_context(frazil.open(url, namespace=each)) for each in namespaces]
        found = [_timed(each) for each in ids]
        cells.append(_shown([t for t, _ in found]))
        issued += [number for _, number in found] if own else []
        for rest_s in rests_s:
            times = []
            for _ in range(max(1, int(2 / rest_s))):
                time.sleep(rest_s)
                times += [_timed(each)[0] for each in ids]
            cells.append(_shown(times))
        cells.append(_text(asyncio.run(_stall_s(url, namespaces[0]))))
    print(f"| {name} | {' | '.join(cells)} |", flush=True)
    return len(set(issued)) == len(issued)


def _fleet(members: int) -> None:
    """Print how many requests a server gets from members that rest."""
    with Server() as server, ExitStack() as stack:
        frazil.init(server.url, new=True)
        client = redis.Redis.from_url(server.url)
        fleet = [stack.enter_context(frazil.open(server.url)) for _ in range(members)]
        for each in fleet:
            each()
        time.sleep(2)

        def calls() -> int:
            found = client.info("commandstats")
            return sum(found.get(f"cmdstat_{n}", {}).get("calls", 0) for n in ("eval", "evalsha"))

        before = calls()
        time.sleep(_FLEET_S)
        rate_hz = (calls() - before) / _FLEET_S
        print(
            f"\n{members} members of one namespace that rest: {rate_hz:.0f} requests a second, "
            f"{rate_hz / members:.2f} of each."
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the stores that are named, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ready", description=__doc__)
    parser.add_argument("stores", nargs="*", choices=[*STORES, []], help="default: all")
    parser.add_argument("--quick", action="store_true", help="few members, rests up to 1 s")
    parser.add_argument("--fleet", type=int, default=100, help="members that rest; 0: none")
    given = parser.parse_args(arguments)
    members, rests_s = (5, _RESTS_S[:2]) if given.quick else (_MEMBERS, _RESTS_S)
    heads = ["store", "new namespace", "known", *(f"after {r:g} s" for r in rests_s), "loop stall"]
    print(f"p50 / p99, {members} generators each.\n\n| {' | '.join(heads)} |")
    print("|---|" + "--:|" * (len(heads) - 1))
    differ = True
    for name in given.stores or STORES:
        with ExitStack() as stack:
            url = stack.enter_context(STORES[name]())  # type: ignore[arg-type]
            differ &= _measure(name, str(url), members, rests_s)
    if given.fleet:
        _fleet(given.fleet)
    return 0 if differ else 1


if __name__ == "__main__":
    sys.exit(main())
