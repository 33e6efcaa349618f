"""What can be done to an ID system, each by name, and none of it simulated.

Each fault is one that somebody met: a web server that forks its workers, a container that is killed
and comes back at the same millisecond, a laptop that sleeps, a clock that is set while everything
runs, two processes that nobody told apart, a flush of the store. They are done to real processes by
the means of the operating system; a clock is set by libfaketime, for the whole scene alike.
"""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from frazil.testing.torture.scene import EVIDENCE_S, Scene, Unavailable
from frazil.testing.torture.stores import Server

__all__ = ["FAULTS", "Fault"]

_LIVES = 3  # of a process that is killed
_LIFE = 0.3  # of the scene's seconds, at most: how long one of them lasts


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault: its name, what it is, and how it is done.

    clock_off: how far from the true time, in shares of the scene's seconds, a process must have
    seen its clock; otherwise the clock was not faked, and the fault was not there.
    """

    name: str
    what: str
    run: Callable[[Scene], None]
    clock_off: float = 0.0


def _need_fork() -> None:
    if not hasattr(os, "fork"):
        raise Unavailable("this system has no fork")


def _alone(how: str, *heirs: str) -> Callable[[Scene], None]:
    """A fault that a process does to itself. heirs: who must issue then; ``N`` is for each."""

    def run(scene: Scene) -> None:
        if "fork" in how or "multiprocessing" in how:
            _need_fork()
        name = scene.start(how)
        scene.mark(how, name)
        numbers = range(scene.world.processes)
        each = dict.fromkeys(heir.replace("N", str(n)) for heir in heirs for n in numbers)
        _must_issue(scene, name, [name + heir for heir in each])

    return run


def _must_issue(scene: Scene, name: str, heirs: list[str]) -> None:
    """Wait for children, threads or copies of a process; those that never issue were not there."""
    refused = scene.folder / f"{name}.refused"

    def decided() -> bool:
        return all(map(scene.issued, heirs)) or refused.exists() or not scene.crew.alive(name)

    scene.until(decided, EVIDENCE_S)
    for heir in heirs:
        scene.demand(refused.exists() or scene.issued(heir), f"{heir} gave no ID")


def _pickled(scene: Scene) -> None:
    path = scene.folder / "generator.pickle"
    first = scene.start("pickled", path=str(path))
    refused = scene.folder / f"{first}.refused"
    scene.until(lambda: path.exists() or refused.exists())
    if path.exists():
        scene.mark("pickle", scene.start("unpickled", path=str(path)))
    scene.demand(path.exists() or refused.exists(), "nothing was pickled")


def _together(scene: Scene) -> None:
    """Processes that are started at once, with no setting at all."""
    names = [scene.launch(node=None, waits="go") for _ in range(max(2, scene.world.processes))]
    scene.until(lambda: all((scene.folder / f"{name}.ready").exists() for name in names))
    (scene.folder / "go").touch()
    scene.mark("start", " ".join(names))
    for name in names:
        scene.until_issuing(name)
    scene.pause(1)


def _kill(scene: Scene) -> None:
    """Lives that end by ``kill -9`` at a random moment, beside one that does not."""
    scene.start(node=2)
    name = scene.start()
    for _ in range(_LIVES):
        scene.pause(_LIFE * scene.random.random())
        scene.kill(name)
        name = scene.start()


def _stop(scene: Scene) -> None:
    """SIGSTOP for half of the time, in which another process issues, and SIGCONT."""
    if not hasattr(signal, "SIGSTOP"):
        raise Unavailable("this system has no SIGSTOP")
    scene.start(node=2)
    name = scene.start()
    scene.pause(0.2)
    scene.demand(scene.crew.stop(name), f"{name} did not stop")
    began_ns, written = time.monotonic_ns(), scene.written(name)
    scene.pause(0.5)
    scene.demand(scene.written(name) == written, f"{name} issued while it was stopped")
    scene.crew.go_on(name)
    scene.mark("SIGSTOP", name, began_ns)
    went_on = scene.until(lambda: scene.written(name) > written, EVIDENCE_S)
    scene.demand(went_on, f"{name} gave no ID after its stop")


def _restart_earlier(scene: Scene) -> None:
    """``kill -9``, and a start at a moment when the one before was alive.

    How long a start takes is not known, so the new process waits before it makes its generator,
    until its clock has been set.
    """
    clock = scene.fake_clock()
    name, began_ns = scene.start(), time.monotonic_ns()
    for number in range(_LIVES):
        scene.pause(_LIFE)
        scene.kill(name)
        name = scene.launch(waits=f"go-{number}")
        scene.until((scene.folder / f"{name}.ready").exists)
        now_ns = time.monotonic_ns()
        clock.step(clock.seconds - (now_ns - began_ns) / 1e9)
        began_ns = scene.mark(f"clock {clock.seconds:+.1f} s", name, began_ns)
        (scene.folder / f"go-{number}").touch()
        scene.until_issuing(name)


def _step(*steps: tuple[float, float]) -> Callable[[Scene], None]:
    """Steps of the clock under live processes: (after which share of the time, how far off)."""

    def run(scene: Scene) -> None:
        clock = scene.fake_clock()
        names = [scene.start(node=number + 1) for number in range(2)]
        for after, off in steps:
            scene.pause(after)
            clock.step(off * scene.seconds)
            scene.mark(f"clock {clock.seconds:+.1f} s", " ".join(names))

    return run


def _frozen(scene: Scene) -> None:
    """A clock that stands still under live processes for a third of the time."""
    clock = scene.fake_clock()
    names = [scene.start(node=number + 1) for number in range(2)]
    scene.pause(0.25)
    began_ns = time.monotonic_ns()
    clock.freeze()
    scene.pause(0.4)
    clock.step(0)
    scene.mark("clock frozen", " ".join(names), began_ns)


def _killed(scene: Scene) -> None:
    """A store that is killed and started again."""
    store = scene.store()
    if not isinstance(store, Server):
        raise Unavailable("a file has no process of its own; --own redis makes a server")
    _harm(scene, "kill -9", store.kill)


def _wiped(scene: Scene) -> None:
    """A store that forgets everything, and is set up again where that is an operator's."""
    store = scene.store()

    def wipe() -> bool:
        wiped = store.wipe()
        scene.world.mend()
        return wiped

    _harm(scene, "wipe", wipe)


def _harm(scene: Scene, what: str, harm: Callable[[], bool]) -> None:
    """Harm under live processes, twice, with a newcomer after each time."""
    store = scene.store()
    scene.start(node=1)
    for number in range(2):
        scene.pause(0.25)
        if not scene.until(store.holds, EVIDENCE_S):
            raise Unavailable("this system keeps nothing in the store that was made for the run")
        began_ns = time.monotonic_ns()
        scene.demand(harm(), f"the store was gone before {what}")
        scene.mark(what, "store", began_ns)
        scene.start(node=number + 2)


_ALL = (
    Fault("fork", "fork; parent, children and grandchildren go on", _alone("fork", ".N", ".0.0")),
    Fault(
        "fork-burst",
        "forks in the midst of bursts, beside a thread",
        _alone("fork_burst", ".*", "-thread"),
    ),
    Fault("multiprocessing", "children of multiprocessing", _alone("by_multiprocessing", ".N")),
    Fault("threads", "threads with one generator", _alone("threads", "-N")),
    Fault("copy", "copies of a generator, flat and deep", _alone("copies", "-*copy")),
    Fault("pickle", "a generator pickled to another process", _pickled),
    Fault("together", "processes started at once, without any setting", _together),
    Fault("kill", "kill -9 and restart", _kill),
    Fault("stop", "SIGSTOP, SIGCONT", _stop),
    Fault("earlier", "kill -9 and restart with an earlier clock", _restart_earlier, 0.2),
    Fault("back", "clock stepped back", _step((0.4, -0.4)), 0.3),
    Fault("forward", "clock stepped forward and corrected", _step((0.2, 0.3), (0.3, 0.0)), 0.2),
    Fault("frozen", "clock frozen", _frozen, 0.2),
    Fault("store-kill", "store killed and restarted", _killed),
    Fault("store-wipe", "store wiped", _wiped),
)

FAULTS = {fault.name: fault for fault in _ALL}
"""The faults by name, in the order in which they are done."""
