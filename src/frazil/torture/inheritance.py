"""Faults of memory that is carried on: to children, threads and copies, and through handlers.

They are what a process does to itself, so most of each is in its worker; here it is started, and
seen to take place.
"""

import signal
import time
from collections.abc import Callable
from functools import partial

from frazil.torture.fault import Fault, must_issue, need_fork
from frazil.torture.trial import EVIDENCE_S, Scene, Unavailable

__all__ = ["INHERITANCE", "INTERRUPTION"]

_CTRL_C_S = 0.004


def _alone(how: str, *heirs: str) -> Callable[[Scene], None]:
    """A fault that a process does to itself. heirs: who must issue then; ``N`` is for each."""

    def run(scene: Scene) -> None:
        if how not in ("threads", "copies"):
            need_fork()
        name = scene.start(how)
        scene.mark(how, name)
        numbers = range(scene.world.processes)
        each = dict.fromkeys(heir.replace("N", str(n)) for heir in heirs for n in numbers)
        must_issue(scene, name, [name + heir for heir in each])

    return run


def _pickled(scene: Scene) -> None:
    path = scene.folder / "generator.pickle"
    first = scene.start("pickled", path=str(path))
    refused = scene.folder / f"{first}.refused"
    scene.until(lambda: path.exists() or refused.exists())
    if path.exists():
        scene.mark("pickle", scene.start("unpickled", path=str(path)))
    scene.demand(path.exists() or refused.exists(), "nothing was pickled")


def _raised(scene: Scene) -> None:
    """Handlers that raise: of a timer inside, and of SIGINT from outside."""
    if not hasattr(signal, "setitimer"):
        raise Unavailable("this system has no interval timers")
    names = [scene.start("raising", node=number + 1) for number in range(2)]
    began_ns = time.monotonic_ns()
    end_ns = began_ns + int(scene.spend(0.9) * 1e9)
    while time.monotonic_ns() < end_ns:
        for name in names:
            scene.crew.interrupt(name)
        time.sleep(scene.random.uniform(0, _CTRL_C_S))
    for name in names:
        scene.mark("raise", name, began_ns)
        struck = partial(scene.troubled, name, "Struck", "KeyboardInterrupt")
        scene.demand(scene.until(struck, EVIDENCE_S), f"nothing was raised in {name}")


def _handled(scene: Scene) -> None:
    """Handlers that ask for IDs, and fork."""
    if not hasattr(signal, "setitimer"):
        raise Unavailable("this system has no interval timers")
    need_fork()
    name = scene.start("handler")
    scene.mark("handler", name)
    must_issue(scene, name, [f"{name}-handler", f"{name}.h*"])


INHERITANCE = (
    Fault("fork", "fork; parent, children and grandchildren go on", _alone("fork", ".N", ".0.0")),
    Fault(
        "fork-burst",
        "forks in the midst of bursts, beside a thread",
        _alone("fork_burst", ".*", "-thread"),
    ),
    Fault("c-fork", "forks made in C, beside a thread", _alone("c_fork", ".*", "-thread")),
    Fault(
        "chdir",
        "a relative path; fork, and everybody changes the folder",
        _alone("chdir", ".N"),
    ),
    Fault("multiprocessing", "children of multiprocessing", _alone("by_multiprocessing", ".N")),
    Fault("threads", "threads with one generator", _alone("threads", "-N")),
    Fault("copy", "copies of a generator, flat and deep", _alone("copies", "-*copy")),
    Fault("pickle", "a generator pickled to another process", _pickled),
)
"""Memory that is carried on."""

INTERRUPTION = (
    Fault("raise", "signal handlers that raise, and Ctrl-C, at random moments", _raised),
    Fault("handler", "signal handlers that ask for IDs and fork, at random moments", _handled),
)
"""Handlers that run in the midst of a step."""
