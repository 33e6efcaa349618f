"""What can be measured: for each subject a function that makes one batch of IDs.

A batch is what is timed. For single calls it is a list of a thousand: long enough that reading the
clock costs nothing in comparison, short enough to stay in the cache, so that storing the IDs is not
measured. All subjects of a case make batches of the same size in the same way.

The peers are set up as in their documentation, and as wide as they can be: oneflake with frazil's
own wide layout, sonyflake-turbo with 4,096 machine numbers.
"""

import random
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import repeat
from threading import Lock, Thread
from typing import Any

import frazil

__all__ = [
    "NAMESPACES",
    "WIDE",
    "Batch",
    "Subject",
    "Work",
    "arange",
    "frazil_array",
    "frazil_calls",
    "frazil_take",
    "frazil_threads",
    "list_range",
    "peer_calls",
    "peer_take",
    "peer_threads",
    "starting",
]

WIDE = "sign:1=0 time:39 node:4 sequence:20 @1ms since 2025-01-01T00:00:00Z"

NAMESPACES = {
    "default": "icicle",
    "wide": WIDE,
    "reversed": "sign:1=0 time:39~ node:4 sequence:20 @1ms since 2025-01-01T00:00:00Z",
    "split": "node[3..2] sequence[19..10] time:40 sequence[9..0] node[1..0] "
    "@1ms since 2025-01-01T00:00:00Z",
    "shuffled": WIDE,
    "128 bits": "globalid-128",
}
"""The schemes that frazil is measured with. Each has a namespace of its name."""

_CALLS = 1_000

Batch = Callable[[], Any]


@dataclass(frozen=True)
class Work:
    """What a subject's process does: ``batch`` is timed.

    one: makes a single ID, to measure a generator that has been in use for a while: a round begins
    with a trickle of calls, and the claims have grown, as those of a service have.
    """

    batch: Batch
    one: Callable[[], Any] | None = None


@dataclass(frozen=True)
class Subject:
    """Something to measure, in ``workers`` processes at once.

    make: returns the work; called in the subject's process with the URL of the run's registry.
    package: the distribution it needs, None for Python's own. namespace: where frazil's IDs may not
    repeat, None for other subjects. pure: with the interpreted walk.
    """

    name: str
    make: Callable[[str], Work]
    package: str | None = None
    namespace: str | None = None
    pure: bool = False
    workers: int = 1


def _calls(call: Callable[[], Any], count: int = _CALLS) -> Batch:
    return lambda: [call() for _ in repeat(None, count)]


def _threads(call: Callable[[], Any], threads: int, count: int) -> Batch:
    """``count`` calls, divided among threads; a list of IDs for each thread."""

    def batch() -> list[list[Any]]:
        made: list[list[Any]] = []

        def work() -> None:
            made.append([call() for _ in repeat(None, count // threads)])

        team = [Thread(target=work) for _ in range(threads)]
        for thread in team:
            thread.start()
        for thread in team:
            thread.join()
        return made

    return batch


def _generator(url: str, namespace: str, lead: str) -> frazil.Generator:
    shuffle = "seed:v1:bench" if namespace == "shuffled" else None
    scheme = frazil.scheme(NAMESPACES[namespace], shuffle=shuffle)
    return frazil.open(url, scheme, namespace=namespace, lead=lead, timeout="60s")


def frazil_calls(
    name: str,
    namespace: str,
    *,
    lead: str = "0s",
    count: int = _CALLS,
    pure: bool = False,
    workers: int = 1,
) -> Subject:
    """Single calls of ``ids()``."""

    def make(url: str) -> Work:
        return Work(_calls(_generator(url, namespace, lead), count))

    return Subject(name, make, None, namespace, pure, workers)


def frazil_threads(name: str, threads: int, count: int) -> Subject:
    """Single calls of one generator, by several threads."""

    def make(url: str) -> Work:
        return Work(_threads(_generator(url, "wide", "0s"), threads, count))

    return Subject(name, make, None, "wide")


def frazil_take(name: str, namespace: str, count: int) -> Subject:
    """``ids.take(count)`` of a generator in use, with a lead of one second."""

    def make(url: str) -> Work:
        ids = _generator(url, namespace, "1s")
        return Work(lambda: ids.take(count), ids)

    return Subject(name, make, None, namespace)


def frazil_array(name: str, namespace: str, count: int, *, in_use: bool = True) -> Subject:
    """``ids.array(count)`` with a lead of one second, of a generator in use or an idle one."""

    def make(url: str) -> Work:
        ids = _generator(url, namespace, "1s")
        return Work(lambda: ids.array(count), ids if in_use else None)

    return Subject(name, make, "numpy", namespace)


def _first(namespace: str) -> int:
    """The least ID of this moment: floors count from it, because large numbers cost more."""
    now = datetime.now(UTC)
    return frazil.scheme(NAMESPACES[namespace]).window(now, now + timedelta(seconds=1)).start


def list_range(namespace: str, count: int) -> Subject:
    """The floor of a take: a list of as many numbers of the same magnitude."""

    def make(_: str) -> Work:
        first = _first(namespace)
        return Work(lambda: list(range(first, first + count)))

    return Subject("list(range(n, m))", make)


def arange(namespace: str, count: int) -> Subject:
    """The floor of an array."""

    def make(_: str) -> Work:
        import numpy as np

        first = _first(namespace)
        return Work(lambda: np.arange(first, first + count, dtype=np.uint64))

    return Subject("numpy.arange", make, "numpy")


def starting(module: str, package: str | None = None, then: str = "") -> Subject:
    """A new interpreter that imports a module and exits at once, without cleaning up.

    then: a statement to run before the exit.
    """

    def make(_: str) -> Work:
        command = [sys.executable, "-c", f"import {module}, os; {then or 'pass'}; os._exit(0)"]

        def batch() -> None:
            subprocess.run(command, check=True)

        return Work(batch)

    return Subject(f"import {module}; {then}" if then else f"import {module}", make, package)


def _locked_def() -> Callable[[], Any]:
    lock = Lock()
    last = 0

    def count() -> int:
        nonlocal last
        with lock:
            last += 1
            return last

    return count


def _oneflake_wide() -> Callable[[], Any]:
    from oneflake import FlakeGenerator

    return FlakeGenerator(1, timestamp_bits=39, worker_bits=4, sequence_bits=20).generate


def _oneflake() -> Callable[[], Any]:
    from oneflake import FlakeGenerator

    return FlakeGenerator(1, timestamp_bits=41, worker_bits=10, sequence_bits=12).generate


def _sonyflake_turbo() -> Any:
    from sonyflake_turbo import SonyFlake

    return SonyFlake(*random.sample(range(1 << 16), 4096), start_time=1749081600)


def _snowflake_id() -> Callable[[], Any]:
    from snowflake import SnowflakeGenerator

    return SnowflakeGenerator(1).__next__


def _flakeid() -> Any:
    import flakeid

    return flakeid.make_generator(flakeid.PRESET_TWITTER, datacenter_id=1, machine_id=1)


def _tsidpy() -> Callable[[], Any]:
    from tsidpy import TSIDGenerator

    return TSIDGenerator(node=1, node_bits=10).create


def _fastuuidv7() -> Callable[[], Any]:
    from fastuuidv7 import gen_id

    return gen_id


def _uuid_utils() -> Callable[[], Any]:
    from uuid_utils import uuid7

    return uuid7


def _python_ulid() -> Callable[[], Any]:
    from ulid import ULID

    return ULID


_PEERS: dict[str, tuple[str | None, Callable[[], Callable[[], Any]]]] = {
    "object()": (None, lambda: object),
    "time.time_ns()": (None, lambda: time.time_ns),
    "a def with a lock": (None, _locked_def),
    "oneflake, 20-bit sequence": ("oneflake", _oneflake_wide),
    "oneflake, 12-bit sequence": ("oneflake", _oneflake),
    "sonyflake-turbo, 4,096 machines": (
        "sonyflake-turbo",
        lambda: _sonyflake_turbo().__next__,
    ),
    "fastuuidv7, gen_id": ("fastuuidv7", _fastuuidv7),
    "uuid-utils, uuid7": ("uuid-utils", _uuid_utils),
    "snowflake-id": ("snowflake-id", _snowflake_id),
    "flakeid": ("flakeid", lambda: _flakeid().next_id),
    "tsidpy": ("tsidpy", _tsidpy),
    "python-ulid": ("python-ulid", _python_ulid),
    "uuid.uuid1": (None, lambda: uuid.uuid1),
    "uuid.uuid4": (None, lambda: uuid.uuid4),
}

_BULK_PEERS: dict[str, tuple[str, Callable[[], Callable[[int], Sequence[Any]]]]] = {
    "sonyflake-turbo, 4,096 machines": ("sonyflake-turbo", _sonyflake_turbo),
    "flakeid": ("flakeid", lambda: _flakeid().next_ids),
}


def peer_calls(
    peer: str, *, count: int = _CALLS, workers: int = 1, name: str | None = None
) -> Subject:
    """Single calls of a peer, or of a floor."""
    package, build = _PEERS[peer]

    def make(_: str) -> Work:
        return Work(_calls(build(), count))

    return Subject(name or peer, make, package, workers=workers)


def peer_threads(peer: str, name: str, threads: int, count: int) -> Subject:
    """Single calls of one peer's generator, by several threads."""
    package, build = _PEERS[peer]

    def make(_: str) -> Work:
        return Work(_threads(build(), threads, count))

    return Subject(name, make, package)


def peer_take(peer: str, count: int) -> Subject:
    """A peer's function that makes many at once."""
    package, build = _BULK_PEERS[peer]

    def make(_: str) -> Work:
        bulk = build()
        return Work(lambda: bulk(count))

    return Subject(peer, make, package)
