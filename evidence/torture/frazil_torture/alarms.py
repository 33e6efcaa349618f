"""Alarms that interrupt a process anywhere, to raise, request IDs, or fork.

A signal handler runs between any two bytecodes, also during a step of a generator or its registry.
Task queues and web servers have handlers that raise (a time limit, Ctrl-C), and programs have
handlers that return. Both happen here at random moments, by an interval timer and by signals from
outside.

A handler raises only while the gate is open, which is during a call of the generator. So it
interrupts the generator, and not the writing of its IDs. An exception closes the gate.
"""

import math
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from frazil_torture.life import SLICE_S, Children, Life, deadline_ns

__all__ = ["Alarms", "Struck"]

_SOONEST_S, _LATEST_S = 5e-6, 3e-3
_CHILDREN = 2  # at once
_FORKS = 0.04  # the share of forks among the actions of handlers
_MOST = 20
_HERE = str(Path(__file__).parent)

Ask = Callable[[int], list[Any]]


class Struck(Exception):
    """Raised by a handler, like a time limit."""


class Alarms:
    """Alarms of one process. ``asks``: ways to request some IDs.

    raising, handling: whether handlers raise, and whether they request IDs and fork. begun: the IDs
    of the current call so far.
    """

    def __init__(self, life: Life, asks: list[Ask]) -> None:
        self._life = life
        self._asks = asks
        self._children = Children(life)
        self._inside = life.other(f"{life.job.name}-handler")
        self._rng = random.Random(life.job.seed + 1)  # noqa: S311 - moments, no secrets
        self._gate = False
        self._within = self._wound = False
        self._forks = 0
        self._had: int | None = None
        self.begun: list[Any] = []
        self.raising = self.handling = False
        self.child: Callable[[], None] | None = None
        """In a child that a handler forked and that continues: the function to run."""
        signal.signal(signal.SIGALRM, self._rang)
        signal.signal(signal.SIGINT, self._interrupted)

    def start(self, *, raising: bool, handling: bool) -> None:
        """Start or stop the alarms."""
        self.raising, self.handling = raising, handling
        self._wind()

    def ask(self, ask: Ask, count: int, given: list[Any]) -> BaseException | None:
        """Request IDs under alarms and add them to ``given``. Returns what was raised."""
        if not self._wound:
            self._wind()
        self.begun = []
        try:
            self._gate = True
            self.begun = ask(count)
            self._gate = False
            given += self.begun
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - whatever is raised
            self._gate = False
            return error
        return None

    def end(self) -> None:
        """Stop the alarms; wait for the children."""
        self.start(raising=False, handling=False)
        self._children.reap()

    def _wind(self) -> None:
        """Set the next alarm, between microseconds and milliseconds from now."""
        self._wound = self.raising or self.handling
        spread = self._rng.uniform(math.log(_SOONEST_S), math.log(_LATEST_S))
        signal.setitimer(signal.ITIMER_REAL, math.exp(spread) if self._wound else 0)

    def _interrupted(self, _number: int, _frame: FrameType | None) -> None:
        """Ctrl-C."""
        if self._gate and not self._within:
            self._gate = False
            raise KeyboardInterrupt

    def _rang(self, _number: int, frame: FrameType | None) -> None:
        if self._within:
            return
        if self.handling and not (self.raising and self._rng.random() < 0.5):
            self._within = True
            try:
                self._handle(frame)
            finally:
                self._within = False
                if self.child is None:
                    self._wind()
            return
        self._wound = False
        if self.raising and self._gate:
            self._gate = False
            raise Struck if self._rng.random() < 0.5 else KeyboardInterrupt

    def _handle(self, frame: FrameType | None) -> None:
        """Request some IDs, or fork."""
        self._children.look()
        # Outside a call the child would continue writing its parent's IDs.
        if self._gate and self._rng.random() < _FORKS and len(self._children) < _CHILDREN:
            self._fork(frame)
            return
        ask = self._rng.choice(self._asks)
        began_ns = time.monotonic_ns()
        given: list[Any] = []
        interrupted, self.begun = self.begun, []
        try:
            given = ask(self._rng.randrange(1, _MOST))
        except Exception as error:  # noqa: BLE001 - whatever a foreign generator raises
            self._inside.id_log.report(error)
        finally:
            self.begun = interrupted
        self._inside.id_log.keep(began_ns, int(not given), given)

    def _fork(self, frame: FrameType | None) -> None:
        """Fork inside the interrupted code. The child ends there, or continues with it.

        If that is a frame of the system, its call returns in the child too, and the result belongs
        to the child.
        """
        name = f"{self._life.job.name}.h{self._forks}"
        self._forks += 1
        inside = frame is not None and not frame.f_code.co_filename.startswith(_HERE)
        goes_on, end_ns = inside or self._rng.random() < 0.5, deadline_ns(SLICE_S)
        pid = os.fork()
        if pid:
            self._children.adopt(pid, end_ns)
            return
        self.raising = self.handling = False
        if inside:
            self._had = len(self.begun)

        def live() -> None:
            life = self._life.other(name)
            if goes_on and self._had is not None:
                own = [one for one in self.begun[self._had :] if one is not None]
                life.id_log.keep(time.monotonic_ns(), 0, own)
            life.until_first(end_ns)
            self.child = sys.exit  # once more after the call: in a __del__ Python ignores this one
            sys.exit()

        if goes_on:
            self.child = live
        else:
            live()
