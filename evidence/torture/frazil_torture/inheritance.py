"""Faults of inherited memory: in children, threads, copies and signal handlers.

A process inflicts them on itself, so most of their code is in ``worker``; this module starts the
process and checks that the fault happened.
"""

import signal
import time
from collections.abc import Callable
from functools import partial

from frazil_torture.fault import Fault, must_issue, require_fork
from frazil_torture.trial import EVIDENCE_S, Trial, Unavailable

__all__ = ["INHERITANCE", "INTERRUPTION"]

_CTRL_C_S = 0.004


def _alone(role: str, *descendants: str) -> Callable[[Trial], None]:
    """A fault within one process. descendants: names that must issue; ``N`` is a number."""

    def run(trial: Trial) -> None:
        if role not in ("threads", "copies"):
            require_fork()
        name = trial.start(role)
        trial.mark(role, name)
        numbers = range(trial.world.process_count)
        each = dict.fromkeys(
            descendant.replace("N", str(n)) for descendant in descendants for n in numbers
        )
        must_issue(trial, name, [name + descendant for descendant in each])

    return run


def _pickled(trial: Trial) -> None:
    path = trial.folder / "generator.pickle"
    first = trial.start("pickled", path=str(path))
    refused = trial.folder / f"{first}.refused"
    trial.until(lambda: path.exists() or refused.exists())
    if path.exists():
        trial.mark("pickle", trial.start("unpickled", path=str(path)))
    trial.demand(path.exists() or refused.exists(), "nothing was pickled")


def _raised(trial: Trial) -> None:
    """Handlers that raise: of a timer inside, and of SIGINT from outside."""
    if not hasattr(signal, "setitimer"):
        raise Unavailable("this system has no interval timers")
    names = [trial.start("raising", node=number + 1) for number in range(2)]
    began_ns = time.monotonic_ns()
    end_ns = began_ns + int(trial.spend(0.9) * 1e9)
    while time.monotonic_ns() < end_ns:
        for name in names:
            trial.processes.interrupt(name)
        time.sleep(trial.random.uniform(0, _CTRL_C_S))
    for name in names:
        trial.mark("raise", name, began_ns)
        struck = partial(trial.troubled, name, "Struck", "KeyboardInterrupt")
        trial.demand(trial.until(struck, EVIDENCE_S), f"nothing was raised in {name}")


def _handled(trial: Trial) -> None:
    """Handlers that request IDs and fork."""
    if not hasattr(signal, "setitimer"):
        raise Unavailable("this system has no interval timers")
    require_fork()
    name = trial.start("handler")
    trial.mark("handler", name)
    must_issue(trial, name, [f"{name}-handler", f"{name}.h*"])


INHERITANCE = (
    Fault("fork", "fork; parent and descendants continue", _alone("fork", ".N", ".0.0")),
    Fault(
        "fork-burst",
        "forks during bursts, beside a thread",
        _alone("fork_burst", ".*", "-thread"),
    ),
    Fault("c-fork", "forks made in C, beside a thread", _alone("c_fork", ".*", "-thread")),
    Fault(
        "chdir",
        "a relative path; a fork, and all change their folder",
        _alone("chdir", ".N"),
    ),
    Fault("multiprocessing", "children of multiprocessing", _alone("by_multiprocessing", ".N")),
    Fault("threads", "threads with one generator", _alone("threads", "-N")),
    Fault("copy", "copies of a generator, flat and deep", _alone("copies", "-*copy")),
    Fault("pickle", "a generator pickled to another process", _pickled),
)
"""Faults of inherited memory."""

INTERRUPTION = (
    Fault("raise", "signal handlers that raise, and Ctrl-C, at random moments", _raised),
    Fault("handler", "signal handlers that request IDs and fork, at random moments", _handled),
)
"""Faults of signal handlers."""
