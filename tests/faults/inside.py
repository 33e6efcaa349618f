"""Sessions that take IDs from ``frazil_id`` of a PostgreSQL server that is killed under them."""

import os
import random
import signal
import tempfile
import threading
from array import array
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

import frazil
from frazil.claims.claim import LastSeen
from frazil.generator.verb_requests import ask_of
from frazil.registries import connect
from frazil.registries.postgres.registry import PostgresRegistry
from tests.servers.clock import SteppedClock
from tests.servers.postgres import Postgres, postgres, programs
from tests.tools.verbs import begin
from tests.tools.waiting import until

_PATIENCE_S = 180.0
_ROWS = 400  # of one statement
_REPLAY_LAG_S = 0.5

_TAKEN = "renew := pg_advisory_xact_lock(738492610, c.cell::oid::integer) IS NULL;"
_LOSS = "IF seal = 0 OR life <> coalesce(pg_sequence_last_value(c.life), -1) THEN"
_IN_A_ROW = """
CREATE TABLE IF NOT EXISTS counter AS SELECT 0::bigint AS n;
CREATE OR REPLACE FUNCTION frazil_id(namespace text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE made bigint;
BEGIN UPDATE counter SET n = n + 1 RETURNING n INTO made; RETURN made; END $$;
"""
BROKEN = ("without_lock", "without_guard", "in_a_row")
"""Functions that repeat, each under one of the faults."""


def set_up(
    server: Postgres, horizon: str = "1s", namespace: str = "orders", **place: str
) -> PostgresRegistry:
    """The registry of a namespace with ``frazil_id``; its record is new."""
    scheme = frazil.scheme()
    url = server.url(options=f"?horizon={horizon}", **place)
    registry = connect(url, namespace, scheme)
    assert isinstance(registry, PostgresRegistry)
    begin(registry)
    registry.add_ids(ask_of(LastSeen()), scheme)
    return registry


def change(run: Callable[[str], list[tuple[Any, ...]]], *changes: tuple[str, str]) -> None:
    """Change the function. run: a statement."""
    ((text,),) = run("SELECT pg_get_functiondef('frazil_id(text)'::regprocedure)")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    run(text)


def _break(server: Postgres, how: str) -> None:
    changes = {"without_lock": (_TAKEN, ""), "without_guard": (_LOSS, "IF false THEN")}
    if how == "in_a_row":
        server.sql(_IN_A_ROW)
    else:
        change(server.sql, changes[how])


class _Session(threading.Thread):
    """One client, which takes IDs until it is told to stop, and connects again after an error."""

    def __init__(self, owner: "Trial", seed: int) -> None:
        super().__init__()
        self.owner = owner
        self.ids = array("q")
        self.committed = 0
        self.errors: list[str] = []
        self._random = random.Random(seed)

    def run(self) -> None:
        """See Thread."""
        while not self.owner.over.is_set():
            try:
                with psycopg.connect(self.owner.server.url(), connect_timeout=3) as link:
                    while not self.owner.over.is_set():
                        self._take(link)
            except psycopg.Error as error:
                self.errors.append(f"{error.sqlstate}: {error}")
                self.owner.over.wait(0.05)

    def _take(self, link: psycopg.Connection[Any]) -> None:
        """One transaction: its IDs count, however it ends."""
        count = self._random.randrange(1, _ROWS)
        one = "SELECT frazil_id('orders') FROM generate_series(1, %s)"
        kind = self._random.randrange(4)
        before = len(self.ids)
        with link.cursor() as cursor:
            if kind == 0:  # each row as it arrives
                for (made,) in cursor.stream(one, (min(count, 50),)):
                    self.ids.append(made)
            elif kind == 1:
                cursor.execute(
                    "INSERT INTO orders SELECT FROM generate_series(1, %s) RETURNING id",
                    (min(count, 50),),
                )
                self.ids.extend(made for (made,) in cursor.fetchall())
            else:
                cursor.execute(one, (count,))
                self.ids.extend(made for (made,) in cursor.fetchall())
        if kind == 1 or self._random.random() < 0.1:
            link.commit()
            self.committed += len(self.ids) - before
        else:
            link.rollback()


class Trial:
    """A server, its standby, and sessions that take IDs. server: the present primary."""

    def __init__(self, server: Postgres, clock: SteppedClock, sessions: int, seed: int) -> None:
        self.server = server
        self.over = threading.Event()
        self.faults: list[str] = []
        self._clock, self._offset_s = clock, 0.0
        self._standby: Postgres | None = None
        self._servers = [server]
        self._sessions = [_Session(self, seed + i) for i in range(sessions)]
        for session in self._sessions:
            session.start()
        self.progress()

    @property
    def taken(self) -> int:
        """How many IDs were received so far."""
        return sum(len(session.ids) for session in self._sessions)

    @property
    def rolled_back(self) -> int:
        """How many of them are not of a committed transaction."""
        return self.taken - sum(session.committed for session in self._sessions)

    def progress(self) -> None:
        """Wait until each session has received more IDs."""
        before = [len(session.ids) for session in self._sessions]
        until(
            lambda: all(
                len(session.ids) > size
                for session, size in zip(self._sessions, before, strict=True)
            ),
            "IDs for each session",
            patience_s=_PATIENCE_S,
        )

    def step(self, seconds: float) -> None:
        """Step the clock of the servers by some seconds from where it is."""
        self.faults.append(f"clock {seconds:+g} s")
        self._offset_s += seconds
        self._clock.step(self._offset_s)

    def kill(self, step_s: float = 0.0) -> None:
        """Kill every process of the server, step its clock while it is down, and start it."""
        self.faults.append("kill -9")
        self.server.close()
        if step_s:
            self.step(step_s)
        self.server.start()

    def kill_session(self, step_s: float = 0.0) -> None:
        """Step the clock and kill one process: the others end, but the postmaster goes on."""
        self.faults.append("kill -9 of one process")
        with closing(psycopg.connect(self.server.url())) as victim:
            if step_s:
                self.step(step_s)
            os.kill(victim.info.backend_pid, signal.SIGKILL)

    def promote_stale(self, step_s: float = 0.0) -> None:
        """Let a standby miss the last writes, kill the primary, and go on with the standby."""
        self.faults.append("stale standby promoted")
        standby = self.server.replica(f"replica{len(self._servers)}")
        self._servers.append(standby)
        standby.sql("ALTER SYSTEM SET primary_conninfo = ''")
        standby.sql("SELECT pg_reload_conf()")
        until(lambda: not standby.sql("TABLE pg_stat_wal_receiver"), "the standby to lag")
        self.progress()
        self.over.wait(_REPLAY_LAG_S)
        self.server.close()
        if step_s:
            self.step(step_s)
        standby.promote()
        self.server = standby

    def repeats(self) -> int:
        """End the sessions; returns how many IDs repeat."""
        self.over.set()
        for session in self._sessions:
            session.join(_PATIENCE_S)
            assert not session.is_alive()
        ids = np.sort(np.concatenate([np.asarray(session.ids) for session in self._sessions]))
        return int(np.count_nonzero(ids[1:] == ids[:-1]))

    def errors(self) -> set[str]:
        """The kinds of errors that sessions met."""
        return {error for session in self._sessions for error in session.errors}

    def close(self) -> None:
        """End all sessions and servers."""
        self.over.set()
        for server in self._servers:
            server.close()
        for session in self._sessions:
            session.join(_PATIENCE_S)


@contextmanager
def trial(
    sessions: int, *, broken: str = "", horizon: str = "1s", seed: int = 1, bin_: Path | None = None
) -> Iterator[Trial]:
    """Sessions on a new server. broken: one of ``BROKEN``."""
    with tempfile.TemporaryDirectory(prefix="frazil-") as name:
        Path(name).chmod(0o755)
        clock = SteppedClock(Path(name))
        with postgres(bin_ or programs()[-1], env=clock.env) as server:
            set_up(server, horizon)
            server.sql("CREATE TABLE orders (id bigint DEFAULT frazil_id('orders'))")
            if broken:
                _break(server, broken)
            running = Trial(server, clock, sessions, seed)
            try:
                yield running
            finally:
                running.close()
