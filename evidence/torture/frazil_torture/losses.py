"""Faults of the store: killed, emptied, and restored to an older state."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from frazil_torture.fault import Fault
from frazil_torture.file import WAYS, File
from frazil_torture.stores import Server
from frazil_torture.trial import EVIDENCE_S, Trial, Unavailable

__all__ = ["LOSSES", "repair_file", "restorable"]

_REFUSED = "frazil init"
"""Part of the error of a counter whose store is older than its values."""

_NOTHING_KEPT = "this system keeps nothing in the store that was made for the run"
_ALONE = (2, 5)  # the restores at which no process is alive
_AGE_S = 1.1  # the least age of a copy
_RUSH: dict[str, Any] = {"lead_s": 1.0, "burst": 4096, "nap_s": 0.0}  # ahead of the clock
_RUSH_S = 0.4
_SOON_S = 3.0  # a process without an ID by then may have found a damaged file


def _killed(trial: Trial) -> None:
    """A store that is killed and started again."""
    store = trial.store()
    if not isinstance(store, Server):
        raise Unavailable("a file has no process to kill; --own redis makes a server")
    _harm(trial, "kill -9", store.kill)


def _wiped(trial: Trial) -> None:
    """A store that loses everything, and is initialised again if an operator must do that."""
    store = trial.store()

    def wipe() -> bool:
        wiped = store.wipe()
        trial.world.repair()
        return wiped

    _harm(trial, "wipe", wipe)


def _harm(trial: Trial, what: str, harm: Callable[[], bool]) -> None:
    """Harm the store under live processes, twice, with a new process after each time."""
    store = trial.store()
    trial.start(node=1)
    for number in range(2):
        trial.pause(0.25)
        if not trial.until(store.holds, EVIDENCE_S):
            raise Unavailable(_NOTHING_KEPT)
        began_ns = time.monotonic_ns()
        trial.demand(harm(), f"the store was gone before {what}")
        trial.mark(what, "store", began_ns)
        trial.start(node=number + 2)


def restorable(trial: Trial) -> File:
    """The store, if it is a file that can be restored."""
    store = trial.store()
    if not isinstance(store, File):
        raise Unavailable("the store is not a file that can be restored; --own sqlite makes one")
    return store


def repair_file(trial: Trial, store: File) -> None:
    """Move a damaged file away, as an operator would."""
    if not store.sound():
        store.move_away()
        trial.mark("damaged, moved away", "store")


def _restored(trial: Trial) -> None:
    """Restore an older copy in each of the ways, with and without live processes.

    A copy is older than any claim that it contains. At the moment of the restore, waiting processes
    start; they are the first to use the store.
    """
    store, rng = restorable(trial), trial.random
    ways = [*WAYS, rng.choice(WAYS)]
    rng.shuffle(ways)
    alive = [trial.start(node=number + 1) for number in range(2)]
    tidy, plain = rng.random() < 0.5, rng.random() < 0.5
    for number, way in enumerate(ways):
        if not trial.until(store.holds, EVIDENCE_S):
            raise Unavailable(_NOTHING_KEPT)
        alone = number in _ALONE
        copy = trial.folder / f"copy-{number}"
        trial.demand(store.save(copy, plain=plain), "the store stayed locked")
        saved_ns = time.monotonic_ns()
        newcomers = [
            trial.launch(node=number + 3, waits=f"go-{number}", **_RUSH if alone else {})
            for _ in range(1 + alone)
        ]
        trial.pause(0.1)
        for name in newcomers:
            trial.until((trial.folder / f"{name}.ready").exists)
        time.sleep(max(0.0, _AGE_S - (time.monotonic_ns() - saved_ns) / 1e9))
        if alone:
            alive.append(trial.start(node=number + 4, **_RUSH))
            time.sleep(_RUSH_S)
            for name in alive:
                trial.kill(name)
            alive = []
        began_ns = time.monotonic_ns()
        trial.demand(store.put_back(copy, way, tidy=tidy), "the store stayed locked")
        (trial.folder / f"go-{number}").touch()
        trial.mark(f"restore, {way}{', no process alive' * alone}", "store", began_ns)
        _settle(trial, store, newcomers)
        if alone:
            for name in newcomers:
                trial.kill(name)
            newcomers = [trial.start(node=number + 4)]
        alive += newcomers
        tidy, plain = not tidy, plain if number % 2 else not plain


def _settle(trial: Trial, store: File, newcomers: list[str]) -> None:
    """After a loss: repair the store if a process correctly refuses, or the file is damaged."""
    for name in newcomers:
        trial.until(partial(trial.decided, name, _REFUSED), _SOON_S)
        repair_file(trial, store)
        trial.until_issuing(name, or_refusing=_REFUSED)
    if any(trial.refused(name, _REFUSED) for name in newcomers):
        trial.world.repair()


LOSSES = (
    Fault("store-kill", "store killed and restarted", _killed),
    Fault("store-wipe", "store wiped", _wiped),
    Fault("restore", "an older copy of the store's file restored", _restored, refusal=_REFUSED),
)
"""Faults of the store."""
