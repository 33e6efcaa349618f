"""A trial: one fault, applied to processes of one system, with a mark for each action.

A fault is a short script (see ``faults``): start processes, wait until they issue, act. This module
has the steps. A fault that is not possible on this machine or with this system raises
``Unavailable`` with the reason. It is reported as such, and never as a success.

Moments of marks are nanoseconds of the monotonic clock.
"""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from frazil_torture.clock import FakeClock
from frazil_torture.job import Job
from frazil_torture.processes import Processes
from frazil_torture.reaper import Reaper
from frazil_torture.stores import Store
from frazil_torture.system import Setting, System

__all__ = ["EVIDENCE_S", "GRACE_S", "Mark", "Trial", "Unavailable", "World"]

EVIDENCE_S = 8.0
"""How long to wait for the evidence of a fault."""

GRACE_S = 5.0
"""How much longer than its timeout a call may take on a busy machine."""

_PATIENCE_S = 20.0  # for a process to start issuing
_FORGOTTEN_S = 120.0  # how long a process may outlive a run that was killed
_LAST = 0.25


class Unavailable(Exception):
    """A fault is not available here; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Mark:
    """An action: its target, its begin and its end."""

    what: str
    whom: str
    began_ns: int
    ended_ns: int


@dataclass(slots=True)
class World:
    """Shared by the trials of a run: the system, its setting, one clock, one store, a pace.

    clock: or the reason why there is none. repair: what an operator does after a loss.
    """

    system: System
    setting: Setting
    reaper: Reaper
    clock: FakeClock | str
    store: Store | None
    process_count: int
    burst: int
    nap_s: float
    repair: Callable[[], None] = lambda: None


@dataclass(slots=True)
class Trial:
    """One fault in progress. ``seconds`` is how long its processes issue."""

    world: World
    folder: Path
    seconds: float
    random: random.Random
    marks: list[Mark] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    """The parts of the fault that were not observed."""
    faked: bool = False
    excused: set[str] = field(default_factory=set)
    """Processes that were killed before they could give an ID."""
    processes: Processes = field(init=False)
    _launched: int = 0
    _left: float = 1.0

    def __post_init__(self) -> None:
        self.processes = Processes(self.world.reaper)

    def start(self, role: str = "steady", *, node: int | None = 1, **job: Any) -> str:
        """Start a process and wait until it issues. Returns its name."""
        name = self.launch(role, node=node, **job)
        self.until_issuing(name)
        return name

    def launch(
        self,
        role: str = "steady",
        *,
        node: int | None = 1,
        url: str | None = None,
        lead_s: float = 0.0,
        env: dict[str, str] | None = None,
        **job: Any,
    ) -> str:
        """Start a process. url: if not the world's; env: additional environment variables."""
        world, name = self.world, f"p{self._launched}"
        self._launched += 1
        url = world.setting.url if url is None else url
        usual = {"burst": world.burst, "nap_s": world.nap_s, "faked": self.faked}
        started = Job(
            system=world.system.name,
            setting=replace(world.setting, node=node, url=url, lead_s=lead_s),
            folder=self.folder,
            name=name,
            end_ns=time.monotonic_ns() + int((self.seconds + _FORGOTTEN_S) * 1e9),
            role=role,
            several=world.process_count,
            seed=self.random.randrange(1 << 32),
            **usual | job,
        )
        clock = world.clock.env if self.faked and not isinstance(world.clock, str) else {}
        env = {"FRAZIL_URL": url} | clock | (env or {})
        self.processes.start(started, env)
        return name

    def until_issuing(self, name: str, or_refusing: str | None = None) -> None:
        """Wait until a process has issued, has refused (see ``refused``), or has ended."""
        self.until(lambda: self.decided(name, or_refusing))

    def decided(self, name: str, refusal: str | None) -> bool:
        """Whether a process has issued, has refused, or has ended."""
        return self.issued(name) or self.refused(name, refusal) or not self.processes.alive(name)

    def refused(self, name: str, refusal: str | None) -> bool:
        """Whether a process has given no ID, and has reported an error with this text."""
        return refusal is not None and not self.issued(name) and self.troubled(name, refusal)

    def troubled(self, name: str, *words: str) -> bool:
        """Whether a process has reported an error with any of these texts."""
        trouble = self.trouble(name)
        return trouble != "" and any(word in trouble for word in words)

    def trouble(self, name: str) -> str:
        """The errors that a process has reported."""
        path = self.folder / f"{name}.trouble"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def until(self, true: Callable[[], bool], patience_s: float = _PATIENCE_S) -> bool:
        """Wait for a condition, with a time limit. Returns whether it became true."""
        deadline = time.monotonic() + patience_s
        while not (came := true()) and time.monotonic() < deadline:
            time.sleep(0.002)
        return came

    def demand(self, seen: bool, otherwise: str) -> None:  # noqa: FBT001 - a condition
        """Require that a part of the fault was observed; otherwise the result says nothing."""
        if not seen:
            self.unseen.append(otherwise)

    def issued(self, pattern: str) -> bool:
        """Whether a generator with such a name has issued."""
        return any(self.folder.glob(f"{pattern}.first"))

    def written(self, name: str) -> int:
        """How many bytes of IDs a process has written."""
        path = self.folder / f"{name}.ids"
        return path.stat().st_size if path.exists() else 0

    def pause(self, share: float) -> None:
        """Wait for a share of the trial's seconds."""
        time.sleep(self.spend(share))

    def wait(self, seconds: float) -> None:
        """Wait for what takes this long, however short the trial is."""
        self._left -= seconds / self.seconds
        time.sleep(seconds)

    def spend(self, share: float) -> float:
        """Count a share of the trial's seconds as passed. Returns its seconds."""
        self._left -= share
        return share * self.seconds

    def fake_clock(self) -> FakeClock:
        """The clock of all processes started from now on. Raises Unavailable."""
        if isinstance(self.world.clock, str):
            raise Unavailable(self.world.clock)
        if not self.faked:
            self.faked = True
            sight = self.folder / f"{self.launch('witness')}.clock"
            self.until(lambda: sight.exists() and sight.stat().st_size > 0)
        return self.world.clock

    def store(self) -> Store:
        """The store of this run. Raises Unavailable if there is none, or it is the user's."""
        if self.world.store is None:
            raise Unavailable(
                "the store is the user's and is not harmed; --own makes one for the run"
                if self.world.setting.url
                else "the system has no store"
            )
        return self.world.store

    def mark(self, what: str, whom: str = "", began_ns: int = 0) -> int:
        """Record an action, now or since ``began_ns``. Returns the moment."""
        now_ns = time.monotonic_ns()
        self.marks.append(Mark(what, whom, began_ns or now_ns, now_ns))
        return now_ns

    def kill(self, name: str) -> None:
        """Kill a process with ``kill -9``."""
        self.demand(self.processes.kill(name), f"{name} had ended before it was killed")
        self.mark("kill -9", name)

    def finish(self) -> None:
        """Wait for the rest of the time, and end all processes.

        The last process has at least a share of the time, because starts are not counted.
        """
        self.pause(max(self._left, _LAST))
        (self.folder / "over").touch()
        self.processes.finish()

    def close(self) -> None:
        """End all processes and reset the clock."""
        self.processes.close()
        if not isinstance(self.world.clock, str):
            self.world.clock.step(0)
