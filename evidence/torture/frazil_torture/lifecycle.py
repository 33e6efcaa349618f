"""Faults of whole processes: simultaneous starts, kills, stops, separate hosts."""

import signal
import time
from pathlib import Path

from frazil_torture.fault import Fault
from frazil_torture.file import File
from frazil_torture.id_log import HUNG, bursts
from frazil_torture.trial import EVIDENCE_S, GRACE_S, Trial, Unavailable

__all__ = ["LIFECYCLE"]

_LIVES = 3  # how often a process is killed
_LIFE = 0.3  # the longest life, as a part of the trial's seconds
_FEWEST, _MOST = 8, 200  # processes at once
_PER_SECOND = 20


def _together(trial: Trial) -> None:
    """Processes that start at once, with default settings."""
    _at_once(trial, max(2, trial.world.process_count), trial.world.nap_s)


def _starts(trial: Trial) -> None:
    """As many processes as the time permits, up to 200, at once.

    Together they issue no faster than a few. A refused first call is repeated, but a process that
    has no ID some time after its system's timeout counts as hung.
    """
    count = max(_FEWEST, min(_MOST, int(trial.seconds * _PER_SECOND)))
    timeout_s = trial.world.system.timeout_s
    for name in _at_once(trial, count, trial.world.nap_s * count / _FEWEST):
        waited_s = _waited_s(trial.folder / f"{name}.ids")
        if timeout_s is not None and waited_s > timeout_s + GRACE_S:
            trial.processes.hung.append(f"{name}: {HUNG} no ID for {waited_s:.1f} s")


def _waited_s(path: Path) -> float:
    """How long a process waited for its first ID."""
    began_ns = 0
    for burst in bursts(path):
        began_ns = began_ns or burst.began_ns
        if len(burst):
            return (burst.ended_ns - began_ns) / 1e9
    return 0.0  # it is silent


def _at_once(trial: Trial, count: int, nap_s: float) -> list[str]:
    names = [trial.launch(node=None, waits="go", nap_s=nap_s) for _ in range(count)]
    trial.until(
        lambda: all((trial.folder / f"{name}.ready").exists() for name in names), 20 + count
    )
    began_ns = time.monotonic_ns()
    (trial.folder / "go").touch()
    for name in names:
        trial.until_issuing(name)
    trial.mark("start", f"{names[0]} to {names[-1]}", began_ns)
    trial.pause(1)
    return names


def _kill(trial: Trial) -> None:
    """Processes that end by ``kill -9`` at a random moment, beside one that does not."""
    trial.start(node=2)
    name = trial.start()
    for _ in range(_LIVES):
        trial.pause(_LIFE * trial.random.random())
        trial.kill(name)
        name = trial.start()


def _stop(trial: Trial) -> None:
    """SIGSTOP for half of the time, while another process issues, and SIGCONT."""
    if not hasattr(signal, "SIGSTOP"):
        raise Unavailable("this system has no SIGSTOP")
    trial.start(node=2)
    name = trial.start()
    trial.pause(0.2)
    trial.demand(trial.processes.stop(name), f"{name} did not stop")
    began_ns, written = time.monotonic_ns(), trial.written(name)
    trial.pause(0.5)
    trial.demand(trial.written(name) == written, f"{name} issued while it was stopped")
    trial.processes.resume(name)
    trial.mark("SIGSTOP", name, began_ns)
    went_on = trial.until(lambda: trial.written(name) > written, EVIDENCE_S)
    trial.demand(went_on, f"{name} gave no ID after its stop")


def _hosts(trial: Trial) -> None:
    """The default store in two containers, each with its own state directory.

    They cannot be distinguished, so a system must refuse to avoid repeats.
    """
    if not isinstance(trial.world.store, File | None) or (
        trial.world.store is None and trial.world.setting.url
    ):
        raise Unavailable("its store has an address that both hosts reach")
    names = []
    for number in range(2):
        home = trial.folder / f"host{number}"
        home.mkdir()
        inside = {"XDG_STATE_HOME": str(home), "KUBERNETES_SERVICE_HOST": "10.0.0.1"}
        inside["FRAZIL_URL"] = ""
        names.append(trial.launch(node=None, url="", env=inside))
    for name in names:
        trial.until_issuing(name, or_refusing="")
        trial.mark("host", name)


LIFECYCLE = (
    Fault("together", "processes started at once, with default settings", _together),
    Fault("starts", "up to 200 processes started at once", _starts),
    Fault("hosts", "the default store in two containers", _hosts, refusal=""),
    Fault("kill", "kill -9 and restart", _kill),
    Fault("stop", "SIGSTOP, SIGCONT", _stop),
)
"""Faults of whole processes."""
