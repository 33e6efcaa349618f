"""A program of short lives, one after another.

Command: ``python -m evidence.benchmarks.lives KIND URL NAMESPACE S``.

The cost of a fork is mostly the parent's memory that the child touches. So the parent must be like
a user's program, and not a benchmark with a server and a report in it: this program imports only
frazil and its driver. It writes the IDs of each life to standard output, as three words of eight
bytes. The exit code is 1 if a life failed.
"""

import os
import struct
import sys
import time
from collections.abc import Callable

import redis

import frazil

__all__ = ["KINDS", "WORDS"]

WORDS = struct.Struct("<3Q")
_SCHEME = frazil.scheme("icicle")

Live = Callable[[str, str], list[int]]


def _open(url: str, namespace: str) -> list[int]:
    """One short life: open, issue, close."""
    with frazil.open(url, _SCHEME, namespace=namespace, timeout=60) as ids:
        return ids.take(3)


def _mint(url: str, namespace: str) -> list[int]:
    """A shorter one, with ``frazil.mint``."""
    return frazil.mint(3, url, _SCHEME, namespace=namespace, timeout=60)


def _visit(url: str, _namespace: str) -> list[int]:
    """The driver alone: connect, send two commands, close."""
    with redis.Redis.from_url(url) as client:
        client.ping()
        client.ping()
    return [0, 0, 0]


def _nothing(_url: str, _namespace: str) -> list[int]:
    """Only a fork and its end."""
    return [0, 0, 0]


KINDS: dict[str, tuple[Live, bool]] = {
    "unforked": (_open, False),
    "open": (_open, True),
    "mint": (_mint, True),
    "visit": (_visit, True),
    "nothing": (_nothing, True),
}
"""What a life does, and whether it is a separate process."""


def _live(live: Live, url: str, namespace: str) -> None:
    os.write(1, WORDS.pack(*live(url, namespace)))


def _forked(live: Live, url: str, namespace: str) -> None:
    child = os.fork()
    if child:
        if os.waitpid(child, 0)[1]:
            sys.exit("a life failed")
        return
    try:
        _live(live, url, namespace)
    except BaseException as error:  # noqa: BLE001 - a child must end here
        print(error, file=sys.stderr)
        os._exit(1)
    os._exit(0)


def main(kind: str, url: str, namespace: str, seconds: str) -> None:
    """See the module. The first life imports everything, and does not count."""
    live, forked = KINDS[kind]
    live(url, namespace)
    step = _forked if forked else _live
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        step(live, url, namespace)


if __name__ == "__main__":
    main(*sys.argv[1:])
