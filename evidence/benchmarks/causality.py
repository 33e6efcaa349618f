"""IDs after those that were seen, between hosts whose clocks differ.

Command: ``python -m evidence.benchmarks.causality [STORE...]``.

Four processes with clocks of an hour behind, right, an hour ahead, and one that steps, answer each
other's IDs: each in turn answers the last one (a chain), and every tenth time all of them answer
it, and the next one answers all of these (a fan). With ``sqlite`` all have one clock, since a host
has one, and it steps by seconds. With ``service``, services run on the hosts, and a
JavaScript client asks them in turn and carries only the last ID. An *inversion* is an answer that
is not greater.

Then two members answer each other as fast as they can. Beside them, a thread calls one of the two
generators without ``after``, and in the second half eight threads send it forged IDs, as far ahead
as there can be one.

Prints tables in Markdown. The exit code is 1 if an ID repeats, or if an answer with ``after`` is
not greater.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from itertools import cycle
from pathlib import Path
from statistics import quantiles
from typing import Any, NamedTuple

import frazil
from evidence.benchmarks.claims import STORES
from tests.servers.clock import WallClock
from tests.servers.redis import Server

__all__ = ["main"]

_CLOCKS_S = (-3600, 0, 3600, 0)  # the last one steps
_STEPS_S = (3600, -60, -3600, 0)
_SMALL_STEPS_S = (3, -2, 1, 0)
_STEP_EACH = 5_000  # hops
_FAN = 10  # one turn of so many
_SAMPLE = 100  # the distance to the true time is looked at once in so many hops
_FORGERS = 8
_AHEAD_S = 4.5  # within the horizon of 5 s
_KINDS = ("redis", "postgresql", "sqlite", "icicle", "service")

_CLIENT = """
const [hops, after, ...urls] = JSON.parse(process.argv[1]);
(async () => {
  const ids = []; let last = "", inverted = 0;
  for (let i = 0; i < hops; i++) {
    const query = after && last ? "?after=" + last : "";
    const answer = await fetch(urls[i % urls.length] + "/v1/default/id" + query);
    const { id } = await answer.json();
    if (last && BigInt(id) <= BigInt(last)) inverted++;
    ids.push(last = id);
  }
  console.log(JSON.stringify([ids, inverted]));
})();
"""


class _Hops(NamedTuple):
    issued: list[int]
    inverted: int
    ahead_ms: float
    took_s: float


class _Host:
    """A process with a clock of its own, which answers IDs."""

    def __init__(self, url: str, clock: WallClock) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "evidence.benchmarks.causality", "--answer", url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **clock.env},
            text=True,
        )
        self.answer()

    def ask(self, seen: Sequence[int]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{json.dumps(seen)}\n")
        self._process.stdin.flush()

    def answer(self) -> int:
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()


def _answer(url: str) -> None:
    """The other end of a host: read IDs, and write one after them."""
    with frazil.open(url) as ids:
        print(ids(), flush=True)
        for line in sys.stdin:
            print(ids.after(*json.loads(line)), flush=True)


@contextmanager
def _hosts(make: Callable[[WallClock], Any], *, one_clock: bool) -> Iterator[Any]:
    """Hosts, and what steps the clock of the last one, or of all."""
    with ExitStack() as stack:
        clocks = []
        for ahead_s in _CLOCKS_S[-1:] if one_clock else _CLOCKS_S:
            clock = WallClock(Path(stack.enter_context(tempfile.TemporaryDirectory())))
            clock.step(0 if one_clock else ahead_s)
            clocks.append(clock)
        hosts = [make(clocks[i % len(clocks)]) for i in range(len(_CLOCKS_S))]
        for host in hosts:
            stack.callback(host.close)
        steps = cycle(_SMALL_STEPS_S if one_clock else _STEPS_S)
        yield hosts, lambda: clocks[-1].step(next(steps))


def _ahead_ms(issued: Sequence[int]) -> float:
    """How far the last ID is ahead of the true time."""
    moment = frazil.scheme("icicle").unpack(issued[-1]).moment
    assert moment is not None
    return (moment - datetime.now(UTC)).total_seconds() * 1000


def _hops(hosts: Sequence[_Host], step: Callable[[], None], hops: int, *, after: bool) -> _Hops:
    """Chains and fans between the hosts."""
    issued: list[int] = []
    inverted, ahead_ms, began = 0, -1e9, time.monotonic()
    seen: list[int] = []
    for turn in range(hops):
        some = hosts if turn % _FAN == _FAN - 1 else [hosts[turn % len(hosts)]]
        for host in some:
            host.ask(seen if after else [])
        answers = [host.answer() for host in some]
        inverted += sum(one <= max(seen) for one in answers if seen)
        issued += answers
        seen = answers
        if turn % _SAMPLE == 0:
            ahead_ms = max(ahead_ms, _ahead_ms(issued))
        if turn % _STEP_EACH == _STEP_EACH - 1:
            step()
        if len(issued) >= hops:
            break
    return _Hops(issued, inverted, ahead_ms, time.monotonic() - began)


class _Served:
    """``frazil serve`` on a host."""

    def __init__(self, url: str, clock: WallClock) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "frazil", "serve", url, "--port", "0"],
            stderr=subprocess.PIPE,
            env={**os.environ, **clock.env},
            text=True,
        )
        assert self._process.stderr is not None
        lines = map(json.loads, self._process.stderr)
        self.url = next(line["url"] for line in lines if line["event"] == "listening")
        threading.Thread(target=list, args=(lines,), daemon=True).start()  # or its pipe gets full

    def close(self) -> None:
        self._process.terminate()
        self._process.wait()


def _asked(hosts: Sequence[_Served], hops: int, *, after: bool) -> _Hops:
    """The hops of a JavaScript client."""
    began = time.monotonic()
    arguments = json.dumps([hops, after, *(host.url.rstrip("/") for host in hosts)])
    command = ["node", "-e", _CLIENT, arguments]
    ids, inverted = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    issued = [int(each) for each in ids]
    return _Hops(issued, inverted, _ahead_ms(issued), time.monotonic() - began)


@contextmanager
def _store(kind: str) -> Iterator[str]:
    """The URL of a new store."""
    if kind == "icicle":
        with Server("valkey") as server:
            url = server.url.replace("redis://", "icicle://")
            init = [sys.executable, "-m", "frazil", "init", url, "--shard", "1"]
            subprocess.run(init, stdout=subprocess.DEVNULL, check=True)
            yield url
        return
    with STORES["redis" if kind == "service" else kind]() as store:
        frazil.init(store.url, new=True)
        yield store.url


def _rows(kind: str, hops: int) -> Iterator[tuple[str, bool]]:
    """The rows of a store, and whether something is wrong."""
    for after in (True, False):
        with _store(kind) as url:
            if kind == "service":
                with _hosts(lambda clock: _Served(url, clock), one_clock=False) as (hosts, _):
                    found = _asked(hosts, hops, after=after)
            else:
                one = kind == "sqlite"
                with _hosts(lambda clock: _Host(url, clock), one_clock=one) as (hosts, step):
                    found = _hops(hosts, step, hops, after=after)
        repeats = len(found.issued) - len(set(found.issued))
        row = (
            f"| {kind} | {'yes' if after else 'no'} | {len(found.issued):,} | {found.inverted:,} | "
            f"{repeats} | {found.ahead_ms:,.0f} ms | {len(found.issued) / found.took_s:,.0f} |"
        )
        yield row, bool(repeats or (after and found.inverted))


# --- two members


def _two(seconds: float) -> Iterator[str]:
    """Two members that answer each other, and a caller without ``after`` beside them."""
    with _store("redis") as url, ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        other = _Host(url, WallClock(place))
        stack.callback(other.close)
        ids = stack.enter_context(frazil.open(url))
        for forged in (False, True):
            yield _answered(ids, other, seconds / 2, forged=forged)


def _answered(ids: frazil.Generator, other: _Host, seconds: float, *, forged: bool) -> str:
    over, took_s = threading.Event(), []

    def call() -> None:
        while not over.wait(0.002):
            began = time.perf_counter()
            ids()
            took_s.append(time.perf_counter() - began)

    def forge() -> None:
        while not over.is_set():
            ids.after(ids.scheme.pack(moment=time.time_ns() // 1000 + int(_AHEAD_S * 1e6)))

    threads = [threading.Thread(target=call)]
    threads += [threading.Thread(target=forge) for _ in range(_FORGERS * forged)]
    for thread in threads:
        thread.start()
    issued, began, ahead_ms = [ids()], time.monotonic(), -1e9
    while (passed_s := time.monotonic() - began) < seconds:
        other.ask(issued[-1:])
        issued.append(other.answer())
        issued.append(ids.after(issued[-1]))
        if len(issued) % _SAMPLE == 1:
            ahead_ms = max(ahead_ms, _ahead_ms(issued))
    over.set()
    for thread in threads:
        thread.join()
    assert issued == sorted(set(issued))
    percent = [each * 1e3 for each in quantiles(took_s, n=100)]
    return (
        f"| {_FORGERS * forged} | {len(issued) / passed_s:,.0f} | {ahead_ms:,.0f} ms | "
        f"{percent[49]:.3f} ms | {percent[98]:.3f} ms | {max(took_s) * 1e3:.1f} ms |"
    )


def main() -> int:
    """Measure the stores that are named, or all."""
    parser = argparse.ArgumentParser(prog="python -m evidence.benchmarks.causality")
    parser.add_argument("kinds", nargs="*", default=_KINDS, help=" ".join(_KINDS))
    parser.add_argument("--hops", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=60, help="of the two members")
    parser.add_argument("--answer", metavar="URL", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.answer:
        _answer(options.answer)
        return 0
    if shutil.which("node") is None and "service" in options.kinds:
        parser.error("service needs node; install it, or name other stores")
    print(
        "| Store | `after` | hops | inversions | repeats | ahead of the true time "
        "| hops a second |\n|---|---|--:|--:|--:|--:|--:|"
    )
    wrong = False
    for kind in options.kinds:
        for row, bad in _rows(kind, options.hops):
            print(row, flush=True)
            wrong |= bad
    print(
        "\n| Forgers | hops a second | ahead of the true time | a call without `after`: p50 | p99 "
        "| longest |\n|--:|--:|--:|--:|--:|--:|"
    )
    for row in _two(options.seconds):
        print(row, flush=True)
    version = f"frazil {frazil.__version__}, Python {platform.python_version()}"
    load = f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}"
    print(f"\n{datetime.now(UTC):%Y-%m-%d}, {version}, {load}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
