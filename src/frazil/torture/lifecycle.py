"""Faults of processes as wholes: started at once, killed, stopped, on hosts that share nothing."""

import signal
import time
from pathlib import Path

from frazil.torture.fault import Fault
from frazil.torture.file import File
from frazil.torture.id_log import HUNG, bursts
from frazil.torture.trial import EVIDENCE_S, GRACE_S, Scene, Unavailable

__all__ = ["LIFECYCLE"]

_LIVES = 3  # of a process that is killed
_LIFE = 0.3  # of the scene's seconds, at most: how long one of them lasts
_FEWEST, _MOST = 8, 200  # processes at once
_PER_SECOND = 20


def _together(scene: Scene) -> None:
    """Processes that are started at once, with no setting at all."""
    _at_once(scene, max(2, scene.world.processes), scene.world.nap_s)


def _starts(scene: Scene) -> None:
    """As many processes as there is time for, up to 200, at once.

    Together they issue no faster than a few. One whose first call is refused asks again, but a
    process that has no ID after its system's timeout, and some more, counts as hung.
    """
    count = max(_FEWEST, min(_MOST, int(scene.seconds * _PER_SECOND)))
    timeout_s = scene.world.system.timeout_s
    for name in _at_once(scene, count, scene.world.nap_s * count / _FEWEST):
        waited_s = _waited_s(scene.folder / f"{name}.ids")
        if timeout_s is not None and waited_s > timeout_s + GRACE_S:
            scene.crew.hung.append(f"{name}: {HUNG} no ID for {waited_s:.1f} s")


def _waited_s(path: Path) -> float:
    """How long a process has asked until its first ID came."""
    began_ns = 0
    for burst in bursts(path) if path.exists() else ():
        began_ns = began_ns or burst.began_ns
        if len(burst):
            return (burst.ended_ns - began_ns) / 1e9
    return 0.0  # it is silent


def _at_once(scene: Scene, count: int, nap_s: float) -> list[str]:
    names = [scene.launch(node=None, waits="go", nap_s=nap_s) for _ in range(count)]
    scene.until(
        lambda: all((scene.folder / f"{name}.ready").exists() for name in names), 20 + count
    )
    began_ns = time.monotonic_ns()
    (scene.folder / "go").touch()
    for name in names:
        scene.until_issuing(name)
    scene.mark("start", f"{names[0]} to {names[-1]}", began_ns)
    scene.pause(1)
    return names


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


def _hosts(scene: Scene) -> None:
    """The default store in two containers: each has a folder for state that is its own.

    Nothing tells one from the other, so the only way not to repeat is to refuse.
    """
    if not isinstance(scene.world.store, File | None) or (
        scene.world.store is None and scene.world.setting.url
    ):
        raise Unavailable("its store has an address, under which two hosts meet")
    names = []
    for number in range(2):
        home = scene.folder / f"host{number}"
        home.mkdir()
        inside = {"XDG_STATE_HOME": str(home), "KUBERNETES_SERVICE_HOST": "10.0.0.1"}
        inside["FRAZIL_URL"] = ""
        names.append(scene.launch(node=None, url="", env=inside))
    for name in names:
        scene.until_issuing(name, or_refusing="")
        scene.mark("host", name)


LIFECYCLE = (
    Fault("together", "processes started at once, without any setting", _together),
    Fault("starts", "up to 200 processes started at once", _starts),
    Fault("hosts", "the default store in two containers", _hosts, refusal=""),
    Fault("kill", "kill -9 and restart", _kill),
    Fault("stop", "SIGSTOP, SIGCONT", _stop),
)
"""Processes as wholes."""
