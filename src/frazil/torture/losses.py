"""Faults of the store: killed, emptied, and put back as it was some time ago."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from frazil.torture.fault import Fault
from frazil.torture.file import WAYS, File
from frazil.torture.stores import Server
from frazil.torture.trial import EVIDENCE_S, Scene, Unavailable

__all__ = ["LOSSES", "mend_file", "restorable"]

_REFUSED = "frazil init"
"""What stands in the error of a counter whose store is older than what it gave."""

_ALONE = (2, 5)  # which of the restores find nobody alive
_AGE_S = 1.1  # of a copy, at least
_RUSH: dict[str, Any] = {"lead_s": 1.0, "burst": 4096, "nap_s": 0.0}  # ahead of the clock
_RUSH_S = 0.4
_SOON_S = 3.0  # and who has no ID then may have met a damaged file


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


def restorable(scene: Scene) -> File:
    """The store, if it is a file that can be put back."""
    store = scene.store()
    if not isinstance(store, File):
        raise Unavailable("it is no file that can be put back; --own sqlite makes one")
    return store


def mend_file(scene: Scene, store: File) -> None:
    """What an operator does with a file that a copy was laid over while somebody wrote."""
    if not store.sound():
        store.move_away()
        scene.mark("damaged, moved away", "store")


def _restored(scene: Scene) -> None:
    """An older copy put back in each of the ways, under live processes and with nobody alive.

    A copy is older than any claim that it tells of. At the moment at which it is put back,
    processes start that have waited for it: they are the first to ask the store.
    """
    store, dice = restorable(scene), scene.random
    ways = [*WAYS, dice.choice(WAYS)]
    dice.shuffle(ways)
    alive = [scene.start(node=number + 1) for number in range(2)]
    tidy, plain = dice.random() < 0.5, dice.random() < 0.5
    for number, way in enumerate(ways):
        if not scene.until(store.holds, EVIDENCE_S):
            raise Unavailable("this system keeps nothing in the store that was made for the run")
        alone = number in _ALONE
        copy = scene.folder / f"copy-{number}"
        scene.demand(store.save(copy, plain=plain), "the store stayed locked")
        saved_ns = time.monotonic_ns()
        newcomers = [
            scene.launch(node=number + 3, waits=f"go-{number}", **_RUSH if alone else {})
            for _ in range(1 + alone)
        ]
        scene.pause(0.1)
        for name in newcomers:
            scene.until((scene.folder / f"{name}.ready").exists)
        time.sleep(max(0.0, _AGE_S - (time.monotonic_ns() - saved_ns) / 1e9))
        if alone:
            alive.append(scene.start(node=number + 4, **_RUSH))
            time.sleep(_RUSH_S)
            for name in alive:
                scene.kill(name)
            alive = []
        began_ns = time.monotonic_ns()
        scene.demand(store.put_back(copy, way, tidy=tidy), "the store stayed locked")
        (scene.folder / f"go-{number}").touch()
        scene.mark(f"restore, {way}{', nobody alive' * alone}", "store", began_ns)
        _look_after(scene, store, newcomers)
        if alone:
            for name in newcomers:
                scene.kill(name)
            newcomers = [scene.start(node=number + 4)]
        alive += newcomers
        tidy, plain = not tidy, plain if number % 2 else not plain


def _look_after(scene: Scene, store: File, newcomers: list[str]) -> None:
    """After a loss: who rightly refuses is helped, and a file that cannot be read is moved away."""
    for name in newcomers:
        scene.until(partial(scene.decided, name, _REFUSED), _SOON_S)
        mend_file(scene, store)
        scene.until_issuing(name, or_refusing=_REFUSED)
    if any(scene.refused(name, _REFUSED) for name in newcomers):
        scene.world.mend()


LOSSES = (
    Fault("store-kill", "store killed and restarted", _killed),
    Fault("store-wipe", "store wiped", _wiped),
    Fault("restore", "the store's file put back as it was", _restored, refusal=_REFUSED),
)
"""The store."""
