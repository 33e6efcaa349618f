"""A mix: all faults of a host in one trial, on a schedule determined by a seed.

A process receives the faults that it inflicts on itself in its job; this module does the kills, the
stops, the clock steps and the restores. At the end each living process must give another ID.

A process hangs if it writes neither IDs nor errors for longer than its calls may take, or gives no
ID at the end. A child hangs if it gives no ID or does not end.
"""

import time
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from frazil_torture.fault import Fault, require_fork
from frazil_torture.file import WAYS
from frazil_torture.id_log import HUNG, bursts, complete_bytes
from frazil_torture.losses import repair_file, restorable
from frazil_torture.schedule import INSIDE, Event, schedule
from frazil_torture.trial import EVIDENCE_S, Mark, Trial

__all__ = ["mixture"]

_SHARE = 0.75  # the part of the trial's seconds with faults; the rest is for the end
_HANG_S = 10.0  # three times the timeout of a call
_LOOK_S = 0.2
_REPAIR_S = 0.1  # after a restore, before the check of the file

Act = Callable[[], None]


def mixture(seed: int, only: Collection[str]) -> Fault:
    """The mix of a seed, limited to the named faults."""
    words = "a mix of " + ", ".join(only)
    return Fault("mix", words, lambda trial: _Mix(trial, seed, only).run())


class _Mix:
    """One round in progress. A killed process gets a successor with the same number."""

    def __init__(self, trial: Trial, seed: int, only: Collection[str]) -> None:
        self._trial = trial
        self._count = max(2, trial.world.process_count)
        self._events = schedule(seed, self._count, WAYS, only)
        self._names: list[str] = []
        self._stopped: dict[str, int] = {}
        self._newcomers: dict[Path, dict[int, str]] = {}
        self._grown: dict[str, tuple[int, int]] = {}
        self._length_s = trial.spend(_SHARE)
        self._begin_ns = 0
        if set(only) & {"fork", "c-fork", "handler"}:
            require_fork()
        if "restore" in only:
            restorable(trial)
        if "clock" in only:
            trial.fake_clock()

    def run(self) -> None:
        """Run the round."""
        trial = self._trial
        self._names = [self._launch(process) for process in range(self._count)]
        for name in self._names:
            trial.until_issuing(name)
        self._begin_ns = time.monotonic_ns()
        half = trial.folder / "begin.half"
        half.write_text(str(self._begin_ns), encoding="ascii")
        half.rename(trial.folder / "begin")
        for event in self._events:
            if event.what in INSIDE:
                words = f"{event.what} of p{event.process}"
                trial.marks.append(Mark(words, "", self._at(event.at), self._at(event.until)))
        for share, act in sorted(self._acts(), key=lambda one: one[0]):
            self._wait_until(self._at(share))
            act()
        self._wait_until(self._at(1.0))
        self._all_must_issue()

    def _at(self, share: float) -> int:
        return self._begin_ns + int(share * self._length_s * 1e9)

    def _acts(self) -> Iterator[tuple[float, Act]]:
        """The faults of this module, and when they happen."""
        for number, event in enumerate(self._events):
            if event.what == "kill":
                yield event.at, partial(self._kill, event.process)
            elif event.what == "stop":
                yield event.at, partial(self._stop, event.process)
                yield event.until, partial(self._resume, event.process)
            elif event.what == "clock":
                yield event.at, partial(self._clock, event)
                if event.lasts:
                    yield event.until, partial(self._step, event.off)
            elif event.what == "restore":
                copy = self._trial.folder / f"copy-{number}"
                yield event.at - event.aged, partial(self._save, copy, event)
                yield event.at, partial(self._restore, copy, event)
                repair = partial(repair_file, self._trial, restorable(self._trial))
                yield event.at + _REPAIR_S, repair

    def _launch(self, process: int, **job: Any) -> str:
        nanoseconds = self._length_s * 1e9
        events = [
            (event.what, int(event.at * nanoseconds), int(event.until * nanoseconds))
            for event in self._events
            if event.what in INSIDE and event.process == process
        ]
        begin = str(self._trial.folder / "begin")
        lead_s = float(process % 2)
        return self._trial.launch(
            "mixed", node=process + 1, lead_s=lead_s, events=events, path=begin, **job
        )

    def _kill(self, process: int) -> None:
        self._end_of(process)
        self._names[process] = self._launch(process)

    def _end_of(self, process: int) -> None:
        name = self._names[process]
        self._stopped.pop(name, None)
        if not self._trial.issued(name):
            self._trial.excused.add(name)  # ``_find_hangs`` finds hangs
        self._trial.kill(name)

    def _stop(self, process: int) -> None:
        name = self._names[process]
        if name not in self._stopped:
            self._trial.demand(self._trial.processes.stop(name), f"{name} did not stop")
            self._stopped[name] = time.monotonic_ns()

    def _resume(self, process: int) -> None:
        name = self._names[process]
        if name in self._stopped:
            self._trial.processes.resume(name)
            self._trial.mark("SIGSTOP", name, self._stopped.pop(name))

    def _clock(self, event: Event) -> None:
        if event.way == "freeze":
            self._trial.fake_clock().freeze()
            self._trial.mark("clock frozen")
        else:
            self._step(event.off)

    def _step(self, off: float) -> None:
        self._trial.fake_clock().step(off * self._length_s)
        self._trial.mark(f"clock {off * self._length_s:+.1f} s")

    def _save(self, copy: Path, event: Event) -> None:
        """Copy the store, and start processes that will be the first after the restore."""
        if not restorable(self._trial).save(copy, plain=event.tidy):
            self._trial.mark("not copied, because it stayed locked", "store")
            return
        processes = range(self._count) if event.alone else [event.process]
        self._newcomers[copy] = {
            process: self._launch(process, waits=f"go-{copy.name}") for process in processes
        }

    def _restore(self, copy: Path, event: Event) -> None:
        trial, newcomers = self._trial, self._newcomers.pop(copy, {})
        if not newcomers:
            return
        for name in newcomers.values():
            trial.until((trial.folder / f"{name}.ready").exists)
        began_ns = time.monotonic_ns()
        if event.alone:
            for process in newcomers:
                self._end_of(process)
        done = restorable(trial).put_back(copy, event.way, tidy=event.tidy)
        (trial.folder / f"go-{copy.name}").touch()
        words = f"restore, {event.way}{', no process alive' * event.alone}"
        trial.mark(words if done else f"not done: {words}", "store", began_ns)
        if not event.alone:
            self._end_of(event.process)
        for process, name in newcomers.items():
            self._names[process] = name

    def _wait_until(self, moment_ns: int) -> None:
        """Wait until a moment, and check for hangs."""
        while (left_s := (moment_ns - time.monotonic_ns()) / 1e9) > 0:
            time.sleep(min(left_s, _LOOK_S))
            self._find_hangs()

    def _find_hangs(self) -> None:
        now_ns = time.monotonic_ns()
        for process, name in enumerate(self._names):
            written = self._trial.written(name)
            size, since_ns = self._grown.get(name, (-1, now_ns))
            if size != written or name in self._stopped:
                self._grown[name] = written, now_ns
            elif now_ns - since_ns > _HANG_S * 1e9:
                self._hangs(name, f"it wrote nothing for {_HANG_S:g} s")
                self._names[process] = self._launch(process)

    def _hangs(self, name: str, how: str) -> None:
        self._trial.processes.hung.append(f"{name}: {HUNG} {how}")
        self._trial.excused.add(name)
        self._trial.processes.kill(name)

    def _all_must_issue(self) -> None:
        """After the last fault each living process must give another ID."""
        paths = {name: self._trial.folder / f"{name}.ids" for name in self._names}
        sizes = {name: complete_bytes(path) for name, path in paths.items()}
        for name, path in paths.items():

            def issues(path: Path = path, at: int = sizes[name]) -> bool:
                return any(len(burst) for burst in bursts(path, at))

            if not self._trial.until(issues, EVIDENCE_S + _HANG_S):
                self._hangs(name, "it gave no ID at the end")
