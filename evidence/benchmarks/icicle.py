"""Servers that issue IDs, and the published algorithm: ``python -m evidence.benchmarks.icicle``.

Needs ``pip install ./evidence/torture``. Starts three servers (as the tests do) on this machine.
The published algorithm increments a sequence, sets a lock of one millisecond when that is used up,
refuses while the lock exists, and then reads the time. Both are driven the same way: one connection
of the driver, one call after the other. A refused call is repeated at once, or after the wait that
the reply names. The cases take turns in short rounds, so a noisy machine disturbs all alike. The
tables show the median of the rounds, and the median of the ratio of two cases in each round.
Batches may be 20 ms ahead of the clock, and the IDs available in that lead are taken before the
measurement.

The exit code is 1 if an ID of frazil repeats.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np

import frazil
from evidence.benchmarks.report import setting
from frazil.redis_link.access import Access
from frazil.remote.icicle.server import IcicleServer, icicle_script
from frazil_torture.original_icicle import SCRIPT
from tests.servers.redis import FLAVOURS, Server

__all__ = ["main"]

_CAP = 4_096_000.0  # IDs a second of one shard
_LEAD_US = 20_000
_WARM_S = 0.1
_CALLERS = 4

_COMPARED = (
    ("driver, published, one at a time", "driver, an empty script"),
    ("driver, icicle.lua, one at a time", "driver, an empty script"),
    ("frazil, one at a time", "frazil, an empty script"),
    (f"frazil, one at a time, {_CALLERS} threads", f"frazil, an empty script, {_CALLERS} threads"),
    ("frazil, one at a time, ?prefetch=65536", "frazil, an empty script"),
    ("driver, icicle.lua, 4096 at a time", "driver, published, 4096 at a time"),
    ("frazil, batches, three servers", "frazil, batches, one server"),
)

_EMPTY = "return { 'ids', ARGV[2], '', '1', '0', '0', '4096', '1' }"

Case = Callable[[float], tuple[float, float]]
"""Runs for some seconds. Returns IDs a second, and the share of calls that were refused."""


def _client(server: Server) -> Any:
    return server.client(single_connection_client=True)


def published(server: Server, batch: int) -> Case:
    """The published algorithm."""
    import redis

    client = _client(server)
    sha = client.script_load(SCRIPT)

    def run(seconds: float) -> tuple[float, float]:
        made = calls = refused = 0
        begun = time.perf_counter()
        while time.perf_counter() - begun < seconds:
            calls += 1
            try:
                first, last, *_ = client.evalsha(sha, 2, "{old}sequence", "{old}lock", batch)
                made += last - first + 1
            except redis.ResponseError:
                refused += 1
        return made / (time.perf_counter() - begun), refused / calls

    return run


def bare(server: Server, source: str, *arguments: str | int) -> Case:
    """A script with an answer like that of icicle.lua, through the driver's client alone."""
    client = _client(server)
    sha = client.script_load(source)
    key = "frazil:icicle:{default}"

    def run(seconds: float) -> tuple[float, float]:
        if arguments:
            client.evalsha(sha, 1, key, "issue", "", int(_CAP) // 50, _LEAD_US)
        made = calls = refused = 0
        begun = time.perf_counter()
        while time.perf_counter() - begun < seconds:
            answer = client.evalsha(sha, 1, key, "issue", "", *arguments)
            calls += 1
            refused += len(answer) == 6
            made += sum(map(int, answer[7::2]))
            if int(answer[5]):
                time.sleep(int(answer[5]) / 1e6)
        return made / (time.perf_counter() - begun), refused / calls

    return run


def single(ids: frazil.Generator) -> Case:
    """One at a time through frazil's client."""

    def run(seconds: float) -> tuple[float, float]:
        made = 0
        begun = time.perf_counter()
        while time.perf_counter() - begun < seconds:
            for _ in range(100):
                ids()
            made += 100
        return made / (time.perf_counter() - begun), 0.0

    return run


def shared(ids: frazil.Generator) -> Case:
    """The same by several threads, as in a server."""

    def run(seconds: float) -> tuple[float, float]:
        with ThreadPoolExecutor(_CALLERS) as threads:
            rates = list(threads.map(lambda case: case(seconds)[0], [single(ids)] * _CALLERS))
        return sum(rates), 0.0

    return run


def arrays(ids: frazil.Generator, servers: int, kept: list[Any]) -> Case:
    """Many at a time through frazil's client, once the lead is used up."""

    def run(seconds: float) -> tuple[float, float]:
        made = 0
        begun = time.perf_counter()
        while time.perf_counter() - begun < _WARM_S:
            ids.array(16_384 * servers)
        begun = time.perf_counter()
        while time.perf_counter() - begun < seconds:
            kept.append(ids.array(16_384 * servers))
            made += 16_384 * servers
        return made / (time.perf_counter() - begun), 0.0

    return run


def _cases(servers: list[Server], kept: list[Any]) -> Iterator[tuple[str, Case]]:
    one = f"icicle://127.0.0.1:{servers[0].port}"
    all_ = f"icicle://{','.join(f'127.0.0.1:{server.port}' for server in servers)}"
    empty = frazil.open(one)
    pool = empty._alive().pool  # noqa: SLF001 - the same client, another script
    for standing in pool.standings:
        link = standing.server.link
        link.script = replace(
            link.script, source=_EMPTY, sha=_client(servers[0]).script_load(_EMPTY)
        )
    pool.checked = True
    yield "driver, an empty script", bare(servers[0], _EMPTY)
    yield "driver, published, one at a time", published(servers[0], 1)
    yield "driver, icicle.lua, one at a time", bare(servers[0], icicle_script().source)
    yield "frazil, an empty script", single(empty)
    yield "frazil, one at a time", single(frazil.open(one))
    yield f"frazil, an empty script, {_CALLERS} threads", shared(empty)
    yield f"frazil, one at a time, {_CALLERS} threads", shared(frazil.open(one))
    yield (
        "frazil, one at a time, ?prefetch=65536",
        single(frazil.open(one + "?prefetch=65536", lead="1s")),
    )
    yield "driver, published, 4096 at a time", published(servers[0], 4096)
    yield (
        "driver, icicle.lua, 4096 at a time",
        bare(servers[0], icicle_script().source, 4096, _LEAD_US),
    )
    yield "frazil, batches, one server", arrays(frazil.open(one, lead=_LEAD_US / 1e6), 1, kept)
    every = frazil.open(all_, lead=_LEAD_US / 1e6)
    yield "frazil, batches, three servers", arrays(every, len(servers), kept)


def main(arguments: list[str]) -> int:
    """Measure and print. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m evidence.benchmarks.icicle")
    parser.add_argument("--seconds", type=float, default=0.25, help="of each case in a round")
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--flavour", choices=FLAVOURS, default="valkey")
    options = parser.parse_args(arguments)
    kept: list[Any] = []
    repeats = 0
    with ExitStack() as stack:
        servers = [stack.enter_context(Server(options.flavour)) for _ in range(3)]
        for shard, server in enumerate(servers):
            access = Access(server.url, (("127.0.0.1", server.port),))
            IcicleServer(access, "default").initialise(shard, new=True)
        version = servers[0].info("server")
        cases = dict(_cases(servers, kept))
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in cases}
        for _ in range(options.rounds):
            for name, case in cases.items():
                found[name].append(case(options.seconds))
                repeats += _repeats(kept)
    about = setting("python -m evidence.benchmarks.icicle", 0, options.rounds, options.flavour)
    about["server"] = str(version.get("valkey_version", version["redis_version"]))
    print("\n".join(f"{name}: {value}" for name, value in about.items() if name != "seed"))
    print("\n| Case | IDs/s | of the cap | calls refused |\n|---|---|---|---|")
    for name, rounds in found.items():
        rate, refused = median(r[0] for r in rounds), median(r[1] for r in rounds)
        print(f"| {name} | {rate:,.0f} | {rate / _CAP:.1%} | {refused:.0%} |")
    print("\n| Compared in each round | ratio |\n|---|---|")
    for name, other in _COMPARED:
        times = median(a / b for (a, _), (b, _) in zip(found[name], found[other], strict=True))
        print(f"| {name}, to {other} | {times:,.2f} |")
    print(f"\nfrazil {frazil.__version__}: {repeats} repeats in its batches")
    return 1 if repeats else 0


def _repeats(kept: list[Any]) -> int:
    """How many of the IDs kept so far repeat; they are then forgotten."""
    if not kept:
        return 0
    ids = np.sort(np.concatenate(kept))
    kept.clear()
    return int(np.count_nonzero(ids[1:] == ids[:-1]))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
