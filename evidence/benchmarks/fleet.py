"""The load of a mostly idle fleet on a server: ``python -m evidence.benchmarks.fleet``.

1,000 members of one namespace, on a Redis as the tests start one: a generator each, in one process,
which the server cannot tell from 1,000 processes. Each takes an ID at the start. Then the server's
own counters say how many requests it gets, and the record says how many node numbers are held:

- while all rest, and their claims are kept warm (``keep``);
- while one of each hundred takes an ID every 50 ms, and the others rest;
- after ``keep``, when those that rest have given their numbers back.

A second fleet has one node number for four to eight members. All members rest and keep their
claims, and then one of each hundred becomes busy. Measured is how long these wait for an ID, first
and afterwards. Prints tables in Markdown. The exit code is 1 if an ID repeats.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import redis

import frazil
from frazil.registries import connect
from tests.servers.redis import Server

__all__ = ["main"]

_LAYOUT = "sign:1=0 time:41 node:{bits} sequence:12 @1ms since 2025-01-01T00:00:00Z"
_BUSY = 100  # one of so many
_PAUSE_S = 0.05
_HORIZON_S = 5.0  # a number is given back when its claim is used up
_LATE_S = 2.0  # the background thread on a busy machine


class _Fleet:
    """Members of one namespace, and what the server has of them."""

    def __init__(self, url: str, bits: int, members: int, keep_s: float, stack: ExitStack) -> None:
        self.issued: list[int] = []
        self.taken_s: list[float] = []
        scheme = frazil.scheme(_LAYOUT.format(bits=bits))
        namespace = f"fleet-{bits}"
        frazil.init(url, scheme=scheme, namespace=namespace, new=True)
        self._registry = connect(url, namespace, scheme)
        self._client = redis.Redis.from_url(url)
        self.members = [
            stack.enter_context(
                frazil.open(url, scheme, namespace=namespace, keep=keep_s, timeout=60)
            )
            for _ in range(members)
        ]

    def take(self, some: Sequence[Callable[[], int]]) -> None:
        """Take an ID of each, 500 of them a second at most."""
        for each in some:
            time.sleep(0.002)
            began = time.perf_counter()
            self.issued.append(each())
            self.taken_s.append(time.perf_counter() - began)

    def held(self) -> int:
        """How many node numbers have an owner whose claim has not ended."""
        found = self._registry.look()
        assert found is not None
        now = self._registry.terms.tick_at(found.now_us)
        return sum(each.held and each.until > now for each in found.holdings)

    def calls(self) -> int:
        """How many scripts the server has run."""
        stats: Any = self._client.info("commandstats")
        return sum(stats.get(f"cmdstat_{name}", {}).get("calls", 0) for name in ("eval", "evalsha"))

    def phase(self, what: str, seconds: float, busy: Sequence[Callable[[], int]] = ()) -> None:
        """Print a row: the requests a second meanwhile, and the numbers held at its end."""
        before, self.taken_s = self.calls(), []
        until_s = time.monotonic() + seconds
        while time.monotonic() < until_s:
            self.take(busy)
            time.sleep(_PAUSE_S)
        rate_hz = (self.calls() - before) / seconds
        print(f"| {what} | {rate_hz:.1f} | {self.held()} | {_waits(self.taken_s)} |", flush=True)


def _waits(taken_s: Sequence[float]) -> str:
    """The median, the 99th percentile and the longest, in ms."""
    if not taken_s:
        return "-"
    ordered = sorted(taken_s)
    some = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)], ordered[-1]
    return " / ".join(f"{each * 1e3:.3g}" for each in some)


def _rests(url: str, members: int, keep_s: float) -> bool:
    """The fleet that has numbers enough. Whether no ID repeats."""
    with ExitStack() as stack:
        fleet = _Fleet(url, 10, members, keep_s, stack)
        busy = fleet.members[::_BUSY]
        fleet.take(fleet.members)
        print(f"| first IDs of all | | {fleet.held()} | {_waits(fleet.taken_s)} |", flush=True)
        fleet.phase("all rest", keep_s / 2)
        fleet.phase(f"{len(busy)} are busy", keep_s / 2, busy)
        time.sleep(_HORIZON_S)
        fleet.phase(f"{len(busy)} are busy, after keep", keep_s / 2, busy)
        time.sleep(keep_s + _HORIZON_S + _LATE_S)
        fleet.phase("all rest, after keep", keep_s / 2)
        return len(fleet.issued) == len(set(fleet.issued))


def _scarce(url: str, members: int, phase_s: float) -> bool:
    """The fleet that has too few numbers. Whether no ID repeats."""
    bits = (members // 4).bit_length() - 1
    with ExitStack() as stack:
        fleet = _Fleet(url, bits, members, 60.0, stack)
        busy = fleet.members[::_BUSY]
        fleet.take(fleet.members)
        print(f"| first IDs of all | | {fleet.held()} | {_waits(fleet.taken_s)} |", flush=True)
        fleet.phase("all rest", phase_s)
        fleet.phase(f"{len(busy)} become busy", phase_s, busy)
        fleet.phase(f"{len(busy)} are busy", phase_s, busy)
        return len(fleet.issued) == len(set(fleet.issued))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure both fleets."""
    parser = argparse.ArgumentParser(
        prog="python -m evidence.benchmarks.fleet", description=__doc__
    )
    parser.add_argument("--members", type=int, default=1000)
    parser.add_argument("--keep", type=float, default=60.0, help="seconds; of the first fleet")
    parser.add_argument(
        "--scarce", type=float, default=20.0, help="seconds of a phase of the other"
    )
    given = parser.parse_args(arguments)
    head = "| Fleet | requests a second | numbers held | an ID, ms: p50 / p99 / longest |"
    differ = True
    with Server() as server:
        print(f"{given.members} members, 1,024 node numbers, keep={given.keep:g}s\n\n{head}")
        print("|---|--:|--:|--:|", flush=True)
        differ &= _rests(server.url, given.members, given.keep)
        few = 1 << (given.members // 4).bit_length() - 1
        print(f"\n{given.members} members, {few} node numbers, keep=60s\n\n{head}")
        print("|---|--:|--:|--:|", flush=True)
        differ &= _scarce(server.url, given.members, given.scarce)
    return 0 if differ else 1


if __name__ == "__main__":
    sys.exit(main())
