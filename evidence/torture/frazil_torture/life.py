"""One generator in one process: it issues IDs, and its forked children are monitored.

An error of a generator is recorded, and the call is repeated. A child that does not end on time is
killed and counts as hung.
"""

import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from itertools import repeat, tee
from operator import call
from typing import Any

from frazil_torture.id_log import DIED, HUNG, IdLog
from frazil_torture.job import Job
from frazil_torture.system import Setting
from frazil_torture.systems import known

__all__ = ["SLICE_S", "Children", "Life", "deadline_ns", "fork_c"]

SLICE_S = 0.03
"""How long a child issues, and a parent between two faults."""

_WARM_UP_S = 0.1
_REST_S = 0.005  # after a burst without IDs
_FAREWELL_S = 7.0  # for children to end: a call's timeout, and the end of the program
_FIRST_S = 9.0  # for a child's first ID: three times the timeout of a call


class Life:
    """One generator in one process, and its log."""

    def __init__(self, job: Job, holder: Any, name: str) -> None:
        self.job = job
        self.holder = holder
        self.id_log = IdLog(job.folder, name, known(job.system).bind(holder))
        self._claim: Any = None

    @classmethod
    def begin(cls, job: Job, setting: Setting | None = None) -> "Life":
        """Create the generator of a process; try again while its system raises.

        A process that never gets one ends without an error: its files contain the reason.
        """
        while True:
            try:
                return cls(job, known(job.system).make(setting or job.setting), job.name)
            except Exception as error:
                if job.over:
                    raise SystemExit(0) from error
                path = job.folder / f"{job.name}.trouble"
                text = f"{type(error).__name__}: {error}\n"
                path.write_text(text, encoding="utf-8", errors="backslashreplace")
                time.sleep(0.05)

    def warm_up(self) -> "Life":
        """Issue for a moment before the fault."""
        self.issue(deadline_ns(_WARM_UP_S))
        return self

    def other(self, name: str) -> "Life":
        """The same generator with another log: in a child or a thread."""
        return Life(self.job, self.holder, name)

    def issue(self, end_ns: int | None = None) -> None:
        """Issue until a moment, or to the end of the job."""
        while not self.job.over and (end_ns is None or time.monotonic_ns() < end_ns):
            self.burst(self.job.burst)

    def until_first(self, end_ns: int) -> None:
        """Issue until a moment, and on until the first ID; report a hang if there is none."""
        patient_ns = end_ns + int(_FIRST_S * 1e9)
        self.issue(end_ns)
        while not self.id_log.begun and not self.job.over:
            if time.monotonic_ns() > patient_ns:
                self.id_log.note(f"{HUNG} no ID in {_FIRST_S:g} s")
                return
            self.burst(self.job.burst)

    def burst(self, count: int, given: list[Any] | None = None) -> None:
        """Issue some IDs, and pause."""
        self.rest(self.id_log.burst(count, given))

    def rest(self, issued: int) -> None:
        """Pause after a burst of so many IDs."""
        time.sleep(self.job.nap_s if issued else _REST_S)
        if issued:
            self._note_claim()

    def take(self, count: int) -> list[Any]:
        """Issue IDs without writing them, until an error."""
        given: list[Any] = []
        with contextlib.suppress(Exception):
            given.extend(self.id_log.call() for _ in range(count))
        return given

    def _note_claim(self) -> None:
        """Record the claim of a frazil generator when it changes."""
        claim = known(self.job.system).claim(self.holder)
        if claim is not None and claim != self._claim:
            self._claim = claim
            line = json.dumps(claim)
            with self.id_log.path.with_suffix(".claims").open("a", encoding="ascii") as file:
                file.write(line + "\n")


def deadline_ns(seconds: float) -> int:
    """A moment of the monotonic clock, some seconds from now."""
    return time.monotonic_ns() + int(seconds * 1e9)


def fork_c() -> int:
    """Fork as an application server in C does: Python is informed afterwards, in the child.

    No bytecode may run in between: the interpreter's lock is a copy, and a thread that releases it
    there may wait forever. So iterators, which run in C, make the two calls. The import lock is
    held, because ``PyOS_AfterFork_Child`` of Python 3.13 ends a process that does not have it. On a
    Python without that lock it ends one whose fork was not announced, too.
    """
    import _imp
    import ctypes

    python = ctypes.PyDLL(None)  # keeps the interpreter's lock, which the child needs
    number, forked = tee(map(call, [python.fork]))
    announced = "free-threading" in sys.version
    in_parent = python.PyOS_AfterFork_Parent if announced else _imp.release_lock
    deeds = map({0: python.PyOS_AfterFork_Child}.get, forked, repeat(in_parent))
    (python.PyOS_BeforeFork if announced else _imp.acquire_lock)()
    next(map(call, deeds))
    pid: int = next(number)
    return pid


class Children:
    """The forked children of a process; each one runs a function and exits."""

    def __init__(self, life: Life) -> None:
        self._life = life
        self._until: dict[int, int] = {}

    def add(
        self,
        live: Callable[[], None],
        end_ns: int | None = None,
        fork: Callable[[], int] | None = None,
    ) -> None:
        """Fork; the child calls ``live`` and exits. end_ns: when it must end, if before the job."""
        pid = (fork or os.fork)()
        if pid == 0:
            live()
            sys.exit(0)
        self.adopt(pid, end_ns)

    def adopt(self, pid: int, end_ns: int | None = None) -> None:
        """Monitor a child that was forked elsewhere."""
        patience_ns = int((_FIRST_S + _FAREWELL_S) * 1e9)
        end_ns = self._life.job.end_ns if end_ns is None else end_ns
        self._until[pid] = end_ns + patience_ns

    def __len__(self) -> int:
        return len(self._until)

    def look(self) -> None:
        """Record children that ended; kill those that should have."""
        for pid, until_ns in list(self._until.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if not ended:
                if time.monotonic_ns() <= until_ns:
                    continue
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                self._life.id_log.note(f"{HUNG} a child of a fork, which was killed")
            elif status:
                self._life.id_log.note(f"a child {DIED}, with {os.waitstatus_to_exitcode(status)}")
            del self._until[pid]

    def reap(self) -> None:
        """Wait for all children to end."""
        end_ns = deadline_ns(_FAREWELL_S)
        self._until = {pid: min(until, end_ns) for pid, until in self._until.items()}
        while self._until:
            self.look()
            time.sleep(0.002)
