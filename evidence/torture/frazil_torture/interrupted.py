"""Roles of processes with signal handlers that interrupt them, and of processes in a mix.

The main thread requests one ID, many IDs, and minted IDs in turn. IDs of a call in which a handler
raised may be lost, and must not come again. When a handler forks during a call of the system, the
call returns in the parent and in the child, and each writes its own IDs. In one of two processes
each tick begins at a random number, since that is one more step that a handler may interrupt.
"""

import os
import random
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from frazil_torture.alarms import Alarms, Ask
from frazil_torture.id_log import SLOW_NS
from frazil_torture.job import Job
from frazil_torture.life import Children, Life, fork_c
from frazil_torture.system import Setting
from frazil_torture.systems import known

__all__ = ["chdir", "handler", "mixed", "raising"]

_AT_ONCE = 32


class _Main:
    """The main thread of a process under alarms."""

    def __init__(self, life: Life) -> None:
        # Minted IDs use the job's setting, also where the generator has another one.
        self.life, job = life, life.job
        ways = known(job.system).ways(job.setting, life.holder)
        self._asks: list[Ask] = [self._one_by_one, *ways]
        self._rng = random.Random(job.seed)  # noqa: S311 - moments, no secrets
        self.alarms = Alarms(life, self._asks)

    def _one_by_one(self, count: int) -> list[Any]:
        call, begun = self.life.id_log.call, self.alarms.begun
        until_ns = time.monotonic_ns() + SLOW_NS
        for _ in range(count):
            begun.append(call())
            if time.monotonic_ns() > until_ns:
                break
        return begun

    def burst(self) -> None:
        """Request IDs in one of the ways, and write them."""
        ask = self._asks[0] if self._rng.random() < 0.8 else self._rng.choice(self._asks)
        given: list[Any] = []
        began_ns = time.monotonic_ns()
        error = None
        for _ in range(max(1, self.life.job.burst // _AT_ONCE)):
            error = self.alarms.ask(ask, self._rng.randrange(1, _AT_ONCE), given)
            if error is not None or ask is not self._asks[0] or self.alarms.child is not None:
                break
            if time.monotonic_ns() > began_ns + SLOW_NS:
                break
        if self.alarms.child is not None:
            self.alarms.child()
        kept = [one for one in given if one is not None]
        self.life.id_log.keep(began_ns, int(error is not None) + len(given) - len(kept), kept)
        if error is not None:
            self.life.id_log.report(error)
        self.life.rest(len(kept))


def raising(job: Job) -> None:
    """Issue under handlers that raise."""
    _under(job, raising=True, handling=False)


def handler(job: Job) -> None:
    """Issue under handlers that request IDs and fork."""
    _under(job, raising=False, handling=True)


def _under(job: Job, *, raising: bool, handling: bool) -> None:
    main = _Main(Life.begin(job, _varied(job, job.setting)))
    main.life.warm_up()
    main.alarms.start(raising=raising, handling=handling)
    while not job.over:
        main.burst()
    main.alarms.end()


def _varied(job: Job, setting: Setting) -> Setting:
    """The setting of a process under alarms."""
    return replace(setting, random_start=job.seed % 2 == 1)


def _settle(job: Job) -> Setting:
    """Change to the directory of the store's file; returns a setting with a relative path."""
    kind, _, rest = job.setting.url.partition(":")
    path, mark, options = rest.partition("?")
    if kind != "sqlite" or not path:
        os.chdir(job.folder)
        return job.setting
    directory = Path(path)
    os.chdir(directory.parent)
    return replace(job.setting, url=f"sqlite:{directory.name}{mark}{options}")


def _depart(job: Job, name: str) -> None:
    """Change to a new directory."""
    folder = job.folder / f"{name}.at"
    folder.mkdir(exist_ok=True)
    os.chdir(folder)


def chdir(job: Job) -> None:
    """Use a relative path; fork, and change the directory in the children, then in the parent."""
    life = Life.begin(job, _settle(job)).warm_up()
    children = Children(life)

    def childhood(name: str) -> None:
        _depart(job, name)
        life.other(name).issue()

    for number in range(job.several):
        children.add(partial(childhood, f"{job.name}.{number}"))
    life.warm_up()
    _depart(job, job.name)
    life.issue()
    children.reap()


def mixed(job: Job) -> None:
    """Issue, and inflict the job's faults: forks, alarms, changes of the directory."""
    main = _Main(Life.begin(job, _varied(job, _settle(job))))
    children = Children(main.life)
    begin, forks, before = Path(job.path), 0, (False, False)
    due: list[tuple[str, int, int]] | None = None
    windows: list[tuple[str, int, int]] = []

    def childhood(name: str, end_ns: int) -> None:
        main.life.other(name).until_first(end_ns)

    while not job.over:
        if due is None and begin.exists():
            at_ns = int(begin.read_text(encoding="ascii"))
            due = [(what, at_ns + start, at_ns + end) for what, start, end in job.events]
            windows = [event for event in due if event[0] in ("raise", "handler")]
        now_ns = time.monotonic_ns()
        active = {what for what, start_ns, end_ns in windows if start_ns <= now_ns < end_ns}
        alarms = "raise" in active, "handler" in active
        if alarms != before:
            main.alarms.start(raising=alarms[0], handling=alarms[1])
            before = alarms
        while due and due[0][1] <= now_ns:
            what, _, end_ns = due.pop(0)
            if what in ("fork", "c-fork") and end_ns > now_ns:
                fork = fork_c if what == "c-fork" else None
                children.add(partial(childhood, f"{job.name}.{forks}", end_ns), end_ns, fork)
                forks += 1
            elif what == "chdir":
                _depart(job, job.name)
        main.burst()
        children.look()
    main.alarms.end()
    children.reap()
