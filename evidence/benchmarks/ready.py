"""How long an ID takes to come, first and after a rest.

Command: ``python -m evidence.benchmarks.ready [STORE ...]``.

A benchmark of calls in a loop never sees what a web handler sees: the first ID of a process, and
one ID after seconds without any. This measures both, for each store, with servers started as in the
tests. First IDs are those of generators that one process opens one after the other. Each member
that rests is a process of its own (``ready_member``), and many rest at the same time, so that a
rest of 30 s gives many samples in 30 s. They are members of one namespace, and so all their IDs
must differ. The calls without a claim, which send a request, are counted. The last rest is that of
the generators in one process, whose claims one thread renews. In the row ``control`` the members
make no IDs: they call ``itertools.count``, and what that takes after a rest is the machine's part.

Round trips are counted by a proxy before the server, on a known namespace: those that connect, and
those of the claim. ``evidence.benchmarks.stall`` measures event loops, each in a new process; the
table has the medians. Prints a table in Markdown. The exit code is 1 if an ID repeats.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count
from statistics import median
from typing import Any

import frazil
from evidence.benchmarks.ready_member import CONTROL, asks
from evidence.benchmarks.ready_stores import STORES, Store
from frazil.claims.claim import LastSeen
from frazil.generator.verb_requests import ask_of
from frazil.registries import connect
from tests.tools.proxy import Proxy

__all__ = ["main"]

_MEMBERS = 50
_NEW = 3
_RESTS_S = (0.1, 1.0, 5.0, 30.0)
_LOOPS = 7
_FEWER = 10
_STAGGER_S = 0.4  # between the starts of two members, each of which imports a driver
_names = count()


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


def _new(store: Store, numbers: Iterator[int], stack: ExitStack) -> str:
    """First IDs of new namespaces."""
    if store.own:
        return "-"
    fresh = [
        stack.enter_context(
            frazil.open(store.url(next(numbers)), namespace=f"new-{next(_names)}", timeout=30)
        )
        for _ in range(_NEW)
    ]
    with ThreadPoolExecutor(_NEW) as pool:
        return _shown([taken_s for taken_s, _ in pool.map(_timed, fresh)])


def _trips(store: Store, issued: list[int]) -> str:
    """The round trips that connect, and those of the claim; for servers that make IDs, of an ID."""
    if not store.port:
        return "0"
    with Proxy(store.port) as wire:
        url = store.url(0).replace(f":{store.port}", f":{wire.port}", 1)
        with frazil.open(url, namespace=store.namespace, timeout=30) as ids:
            issued.append(ids())
            first = wire.turns
            if store.own:
                issued.append(ids())
                return f"{2 * first - wire.turns} + {wire.turns - first}"
        registry = connect(url, store.namespace, frazil.scheme("icicle"))
        registry.look()  # connects
        before = wire.turns
        registry.mint(ask_of(LastSeen()), 1)
        claim = wire.turns - before
        registry.close()
        return f"{first - claim} + {claim}"


def _loops(store: Store, numbers: Iterator[int], loops: int, issued: list[int]) -> str:
    """The delay of an event loop while a first ID is awaited, and without anything to do."""
    if not store.awaited:
        return "-"
    found = []
    for _ in range(loops):
        command = [sys.executable, "-m", "evidence.benchmarks.stall", store.url(next(numbers))]
        done = subprocess.run([*command, store.namespace], capture_output=True, check=True)
        found.append(json.loads(done.stdout))
    issued += [number for _, _, number in found] if store.shared else []
    idle_s, first_s = (median(each[i] for each in found) for i in (0, 1))
    return f"{_text(first_s)} / {_text(idle_s)}"


def _rested(store: Store, number: int, rests: Sequence[str]) -> list[dict[str, Any]]:
    """What a member in a process of its own measured."""
    time.sleep(number * _STAGGER_S)
    command = [sys.executable, "-m", "evidence.benchmarks.ready_member", store.url(number)]
    done = subprocess.run([*command, store.namespace, *rests], stdout=subprocess.PIPE, check=True)
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def _rests(store: Store, members: int, rests_s: Sequence[float], issued: list[int]) -> list[str]:
    """One ID after each rest, of members in processes of their own.

    If the server makes the IDs, each of them is a request, so fewer members rest more often.
    """
    fewer = _FEWER if store.own else 1
    members = max(1, members // fewer)
    rests = [f"{rest_s}x{max(1, int(2 * fewer / rest_s))}" for rest_s in rests_s]
    with ThreadPoolExecutor(members) as pool:
        found = list(pool.map(lambda n: _rested(store, n, rests), range(members)))
    if store.shared:
        issued += [number for member in found for rest in member for number in rest["ids"]]
    times = [[time for member in found for time in member[n]["times"]] for n in range(len(rests))]
    asked = sum(rest["asked"] for member in found for rest in member)
    return [*map(_shown, times), _part(store, asked, sum(map(len, times)))]


def _part(store: Store, asked: int, calls: int) -> str:
    return "-" if store.own else f"{asked} of {calls}"


def _together(
    store: Store, numbers: Iterator[int], members: int, rest_s: float, issued: list[int]
) -> tuple[str, str]:
    """First IDs of generators of one process, and how many sent a request after a rest."""
    asked = calls = 0
    with ExitStack() as stack:
        ids = [
            stack.enter_context(
                frazil.open(store.url(next(numbers)), namespace=store.namespace, timeout=30)
            )
            for _ in range(members)
        ]
        first = [_timed(each) for each in ids]
        issued += [number for _, number in first]
        for _ in range(max(1, int(2 / rest_s))):
            time.sleep(rest_s)
            asked += 0 if store.own else sum(map(asks, ids))
            issued += [each() for each in ids]
            calls += members
    return _shown([taken_s for taken_s, _ in first]), _part(store, asked, calls)


def _control(members: int, rests_s: Sequence[float]) -> None:
    """Print the row of members that make no IDs."""
    cells = _rests(Store(lambda _: CONTROL, shared=False), members, rests_s, [])[:-1]
    print(f"| {CONTROL} | - | - | - | {' | '.join(cells)} | - | - | - |", flush=True)


def _measure(name: str, store: Store, members: int, rests_s: Sequence[float], loops: int) -> bool:
    """Print the row of a store. Whether all IDs of its namespace differ."""
    issued: list[int] = []
    numbers = count()
    trips = _trips(store, issued)  # while there are no members whose writes could conflict
    with ExitStack() as stack:
        new = _new(store, numbers, stack)
    known, asked = _together(store, numbers, members, rests_s[0], issued)
    cells = [new, known, trips, *_rests(store, members, rests_s, issued), asked]
    cells.append(_loops(store, numbers, loops, issued))
    print(f"| {name} | {' | '.join(cells)} |", flush=True)
    repeats = len(issued) - len(set(issued))
    if repeats:
        print(f"{name}: {repeats} of {len(issued)} IDs repeat", file=sys.stderr)
    return not repeats


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the stores that are named, or all."""
    parser = argparse.ArgumentParser(
        prog="python -m evidence.benchmarks.ready", description=__doc__
    )
    parser.add_argument("stores", nargs="*", choices=[*STORES, []], help="default: all")
    parser.add_argument("--quick", action="store_true", help="few members, rests up to 1 s")
    given = parser.parse_args(arguments)
    members, rests_s, loops = (5, _RESTS_S[:2], 1) if given.quick else (_MEMBERS, _RESTS_S, _LOOPS)
    heads = ["store", "new", "known", "round trips", *(f"after {r:g} s" for r in rests_s)]
    heads += ["without a claim", "in one process", "loop"]
    print(f"p50 / p99, {members} members.\n\n| {' | '.join(heads)} |")
    print("|---|" + "--:|" * (len(heads) - 1))
    _control(members, rests_s)
    differ = True
    for name in given.stores or STORES:
        with STORES[name]() as store:
            differ &= _measure(name, store, members, rests_s, loops)
    return 0 if differ else 1


if __name__ == "__main__":
    sys.exit(main())
