"""Generators that are wrong on purpose, each in one way, and each the way of some that are in use.

``frazil torture`` is pointed at them as at anybody's, by module:callable; every fault must find
duplicates in one of them.
"""

import os
import socket
import time
from pathlib import Path
from urllib.parse import urlsplit

from frazil.testing.torture.published import say

_RACE_S = 2e-6


class Naive:
    """Time, a fixed node, a sequence that begins anew with every *other* millisecond."""

    def __init__(self):
        self.last = self.sequence = 0

    def __call__(self):
        now = time.time_ns() // 1_000_000
        self.sequence = (self.sequence + 1) % 4096 if now == self.last else 0
        self.last = now
        return now << 22 | 1 << 12 | self.sequence


class Counter:
    """A number that goes up, and is forgotten with its process."""

    def __init__(self):
        self.number = 0

    def __call__(self):
        self.number += 1
        return self.number


class Racing:
    """A number that is read, and written some time later."""

    def __init__(self):
        self.number = time.time_ns()

    def __call__(self):
        number = self.number + 1
        time.sleep(_RACE_S)
        self.number = number
        return number


class Leased:
    """Blocks of a hundred numbers under a lease that lapses, and is looked at between blocks only.

    Who is stopped within a block goes on with it, though somebody else has begun it anew.
    """

    def __init__(self):
        self.left = self.number = 0

    def __call__(self):
        while not self.left:
            self.ask()
        self.left -= 1
        self.number += 1
        if not self.left:
            self.write(0, 0)
        return self.number

    def ask(self):
        path = Path(os.environ["FRAZIL_TEST_LEASE"])
        owner, until, number = map(float, path.read_text().split())
        if owner and time.monotonic() < until:
            time.sleep(0.001)
            return
        self.number = int(number)
        self.write(os.getpid(), time.monotonic() + 0.1)
        self.left = 100

    def write(self, owner, until):
        path = Path(os.environ["FRAZIL_TEST_LEASE"])
        half = path.with_suffix(f".{os.getpid()}")
        half.write_text(f"{owner} {until} {self.number}")
        half.rename(path)


class Stored:
    """Numbers that a Redis counts; while it is away, and when it has forgotten, from 1 on."""

    def __init__(self):
        self.process = self.number = 0

    def __call__(self):
        try:
            if self.process != os.getpid():
                place = urlsplit(os.environ["FRAZIL_URL"])
                wire = socket.create_connection((place.hostname, place.port), 1)
                self.process, self.wire = os.getpid(), wire.makefile("rwb")
            return say(self.wire, "INCR", "number")
        except OSError:
            self.process = 0
            self.number += 1
            return self.number


class Childless:
    """Unique, and of no use after a fork: what a fork would do to it is never seen."""

    def __init__(self):
        self.process = os.getpid()

    def __call__(self):
        if os.getpid() != self.process:
            raise RuntimeError("no children")
        return time.time_ns()


class Dying:
    """Ends its process after a while, with what it was about to repeat."""

    def __init__(self):
        self.left = 2000

    def __call__(self):
        self.left -= 1
        if not self.left:
            os._exit(3)
        return time.time_ns()


class Mortal:
    """Kills every child of a fork after a while."""

    def __init__(self):
        self.process, self.left = os.getpid(), 2000

    def __call__(self):
        if os.getpid() != self.process:
            self.left -= 1
            if not self.left:
                os._exit(3)
            return time.time_ns() << 32 | os.getpid()
        return time.time_ns() << 32


naive = Naive()
mortal = Mortal()
childless = Childless()
dying = Dying()
counter = Counter()
racing = Racing()
leased = Leased()
stored = Stored()
