"""Generators that are wrong on purpose, each in one way, and each the way of some that are in use.

``frazil torture`` is pointed at them as at anybody's, by module:callable; every fault must find
duplicates in one of them.
"""

import fcntl
import os
import socket
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

import frazil
from frazil.claims.claim import LastSeen
from frazil.generator.verb_requests import ask_of
from frazil.registries import connect
from frazil_torture.original_icicle import say

_RACE_S = 2e-6
BLOCK = 1000


class Naive:
    """Time, a fixed node, a sequence that begins anew with every *other* millisecond."""

    def __init__(self):
        self.last = self.sequence = 0

    def __call__(self):
        now = time.time_ns() // 1_000_000
        self.sequence = (self.sequence + 1) % 4096 if now == self.last else 0
        self.last = now
        return now << 22 | 1 << 12 | self.sequence


class Inattentive(Naive):
    """The same with a node number for each process, and an order that nobody looks at."""

    def __call__(self):
        return super().__call__() & ~(1023 << 12) | (os.getpid() & 1023) << 12

    def after(self, *_seen):
        return self()


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


class Succeeded(Stored):
    """Numbers that a Redis counts; while it is away, none. Its replica may have missed some."""

    def __call__(self):
        while True:
            number = super().__call__()
            if self.process:
                return number
            time.sleep(0.01)


class Overtaken:
    """Numbers of a sequence of PostgreSQL; while it is away, none. A standby may lack some."""

    def __init__(self):
        self.link = None

    def __call__(self):
        while True:
            try:
                if self.link is None:
                    self.link = psycopg.connect(self.url(), autocommit=True)
                    self.link.execute("CREATE SEQUENCE IF NOT EXISTS number")
                return self.link.execute("SELECT nextval('number')").fetchone()[0]
            except psycopg.Error:
                self.link = None
                time.sleep(0.01)

    def url(self):
        return os.environ["FRAZIL_URL"].partition("?")[0]


class Unsealed:
    """``frazil_id`` without what notices that its sequences were restored."""

    def __init__(self):
        self.link = None

    def __call__(self):
        if self.link is None:
            self.link = self.connected()
        return self.link.execute("SELECT frazil_id('torture')").fetchone()[0]

    def connected(self):
        link = psycopg.connect(os.environ["FRAZIL_URL"].partition("?")[0], autocommit=True)
        ((made,),) = link.execute("SELECT to_regprocedure('frazil_id(text)') IS NOT NULL")
        if not made:
            registry = connect(os.environ["FRAZIL_URL"], "torture", frazil.scheme())
            registry.initialise(ask_of(LastSeen()), 0)
            registry.add_ids(ask_of(LastSeen()), frazil.scheme())
            ((text,),) = link.execute("SELECT pg_get_functiondef('frazil_id(text)'::regprocedure)")
            assert "seal = 0 OR" in text
            link.execute(text.replace("seal = 0 OR", ""))
        return link


class Inherited:
    """A random part and a number that goes up: a child of a fork has both."""

    def __init__(self):
        self.own, self.number, self.sequence = int.from_bytes(os.urandom(5)) << 40, 0, 0

    def __call__(self):
        self.number += 1
        return self.own | self.number


class Unsteady(Inherited):
    """The same in blocks; an exception between two lines begins a block that was begun before."""

    def __call__(self):
        low = self.number & 7
        if low == 7:
            self.number &= ~7
            time.sleep(_RACE_S)
            self.number += 8
        else:
            self.number += 1
        return self.own | self.number


class Nested(Inherited):
    """The same; who interrupts it reads the number that it is about to give."""

    def __call__(self):
        number = self.number + 1
        time.sleep(_RACE_S)
        self.number = number
        return self.own | number


class Timed(Inherited):
    """A random part, the time, and a sequence that begins anew with every other millisecond."""

    def __call__(self):
        now = time.time_ns() // 1_000_000
        self.sequence = (self.sequence + 1) % 4096 if now == self.number else 0
        self.number = now
        return self.own << 16 | now << 12 | self.sequence


class Shared:
    """Blocks of a thousand numbers of a counter in a file, taken one at a time."""

    def __init__(self, place):
        self.place, self.left, self.number = place, 0, 0

    def __call__(self):
        if not self.left:
            self.number, self.left = self.take(), BLOCK
        self.left -= 1
        self.number += 1
        return self.number

    def take(self):
        with self.place().open("a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            number = int(file.read() or 0)
            file.truncate(0)
            file.write(str(number + BLOCK))
        return number


class Crowded(Shared):
    """The same without a lock, and with one block for a life: two that start at once share it."""

    def take(self):
        if self.number:
            raise RuntimeError("the block is used up")
        path = self.place()
        number = int(path.read_text() or 0) if path.exists() else 0
        time.sleep(0.001)
        path.write_text(str(number + BLOCK))
        return number


class Kept:
    """A seat that no other process has, and a number that is written down at every hundredth."""

    def __init__(self):
        self.file = None

    def __call__(self):
        if self.file is None:
            self.sit()
        self.number += 1
        if self.number % 100 == 0:
            self.file.seek(0)
            self.file.write(str(self.number))
            self.file.flush()
        return self.seat << 40 | self.number

    def sit(self):
        for self.seat in range(100):
            path = Path(f"{os.environ['FRAZIL_TEST_LEASE']}.{self.seat}")
            path.touch()
            file = path.open("r+")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.close()
                continue
            self.file, self.number = file, int(file.read() or 0)
            return


class Filed(Shared):
    """The same in an SQLite file, whose transactions are real and whose past is believed."""

    def take(self):
        path = os.environ["FRAZIL_URL"].removeprefix("sqlite:")
        with closing(sqlite3.connect(path, timeout=10, isolation_level=None)) as db:
            db.execute("BEGIN IMMEDIATE")
            db.execute("CREATE TABLE IF NOT EXISTS counter (number INTEGER)")
            row = db.execute("SELECT number FROM counter").fetchone()
            if row is None:
                db.execute("INSERT INTO counter VALUES (0)")
            db.execute("UPDATE counter SET number = number + ?", (BLOCK,))
            db.execute("COMMIT")
        return row[0] if row else 0


class Stuck(Inherited):
    """Never comes to an end of a call in a child."""

    def __init__(self):
        super().__init__()
        self.process = os.getpid()

    def __call__(self):
        while os.getpid() != self.process:
            time.sleep(0.01)
        return super().__call__()


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


def here():
    return Path("counter")


def at_home():
    return Path(os.environ["XDG_STATE_HOME"], "counter")


def in_common():
    return Path(os.environ["FRAZIL_TEST_LEASE"] + ".counter")


naive = Naive()
inattentive = Inattentive()
inherited = Inherited()
unsteady = Unsteady()
nested = Nested()
timed = Timed()
relative = Shared(here)
homed = Shared(at_home)
crowded = Crowded(in_common)
kept = Kept()
filed = Filed(None)
stuck = Stuck()
mortal = Mortal()
childless = Childless()
dying = Dying()
counter = Counter()
overtaken = Overtaken()
racing = Racing()
leased = Leased()
stored = Stored()
succeeded = Succeeded()
unsealed = Unsealed()
