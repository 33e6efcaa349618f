"""The original algorithm of Icicle, rewritten: a sequence and a lock, without stored time.

One Redis server issues. Its script increments a sequence. When the sequence is used up, the script
sets a lock for one millisecond and starts again at 0; a request during the lock is refused and
retried. Then the script reads the server's clock. It stores no time, so a millisecond that occurs
twice is used twice, and a loss of data is not noticed.

The client implements the few commands that it needs, so it does not require a driver.
"""

import os
import socket
import threading
import time
from typing import Any
from urllib.parse import urlsplit

__all__ = ["SCRIPT", "OriginalIcicle", "say"]

_EPOCH_MS = 1_455_788_600_316
_SHARD = 1  # the shard of the server
_BATCH = 64
_KEYS = ("published:sequence", "published:lock")
_ATTEMPTS = 5
_TIMEOUT_S = 1.0

SCRIPT = """
if redis.call('EXISTS', KEYS[2]) == 1 then return redis.error_reply('locked') end
local last = redis.call('INCRBY', KEYS[1], ARGV[1])
local first = last - ARGV[1] + 1
if last >= 4095 then
  redis.call('PSETEX', KEYS[2], 1, 'lock')
  redis.call('SET', KEYS[1], -1)
  last = 4095
end
local now = redis.call('TIME')
return { first, last, now[1], now[2] }
"""


class OriginalIcicle:
    """IDs of one shard of one server, fetched in batches.

    A call returns an ID, or None after five refusals.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._place = (parts.hostname or "127.0.0.1", parts.port or 6379)
        self._process = 0
        self._lock = threading.Lock()
        self._wire: Any = None
        self._batch = iter(range(0))

    def __call__(self) -> int | None:
        """The next ID."""
        if self._process != os.getpid():  # a child needs its own connection, batch and lock
            self._process, self._wire, self._batch = os.getpid(), None, iter(range(0))
            self._lock = threading.Lock()
        with self._lock:
            for attempt in range(_ATTEMPTS):
                for n in self._batch:
                    return n
                if not self._refill():
                    time.sleep(attempt * attempt / 1000)
        return None

    def _refill(self) -> bool:
        """Fetch a batch. Returns whether there is one."""
        try:
            answer = self._ask("EVAL", SCRIPT, 2, *_KEYS, _BATCH)
        except OSError:
            self._wire = None
            raise
        if not isinstance(answer, list):
            return False
        first, last, seconds, us = map(int, answer)
        lowest = seconds * 1000 + us // 1000 - _EPOCH_MS << 22 | _SHARD << 12
        self._batch = iter(range(lowest | first, (lowest | last) + 1))
        return True

    def __reduce__(self) -> tuple[Any, ...]:
        return OriginalIcicle, (f"redis://{self._place[0]}:{self._place[1]}",)

    def _ask(self, *words: str | int) -> Any:
        if self._wire is None:
            self._wire = socket.create_connection(self._place, _TIMEOUT_S).makefile("rwb")
        return say(self._wire, *words)


def say(wire: Any, *words: str | int) -> Any:
    """Send one command. Returns its answer; an error is returned as a text."""
    parts = [str(word).encode() for word in words]
    told = b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)
    wire.write(b"*%d\r\n%s" % (len(parts), told))
    wire.flush()
    return _answer(wire)


def _answer(wire: Any) -> Any:
    line = wire.readline()
    if not line.endswith(b"\r\n"):
        raise ConnectionError("the server went away")
    kind, rest = line[:1], line[1:-2]
    if kind == b"*":
        return [_answer(wire) for _ in range(int(rest))]
    if kind == b"$":
        return None if int(rest) < 0 else wire.read(int(rest) + 2)[:-2].decode()
    return int(rest) if kind == b":" else rest.decode()
