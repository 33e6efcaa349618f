"""Faults of the wall clock: set back, set forward, stopped, and earlier after a restart."""

import time
from collections.abc import Callable

from frazil_torture.fault import Fault
from frazil_torture.trial import Trial

__all__ = ["CLOCK_STEPS"]

_LIVES = 3
_LIFE = 0.3


def _restart_earlier(trial: Trial) -> None:
    """``kill -9``, and a restart at a time when the earlier process was alive.

    The time that a start takes is unknown, so the new process waits until its clock has been set
    before it creates its generator.
    """
    clock = trial.fake_clock()
    name, began_ns = trial.start(), time.monotonic_ns()
    for number in range(_LIVES):
        trial.pause(_LIFE)
        trial.kill(name)
        name = trial.launch(waits=f"go-{number}")
        trial.until((trial.folder / f"{name}.ready").exists)
        now_ns = time.monotonic_ns()
        clock.step(clock.seconds - (now_ns - began_ns) / 1e9)
        began_ns = trial.mark(f"clock {clock.seconds:+.1f} s", name, began_ns)
        (trial.folder / f"go-{number}").touch()
        trial.until_issuing(name)


def _step(*steps: tuple[float, float]) -> Callable[[Trial], None]:
    """Steps of the clock under live processes: (after which share of the time, how far off)."""

    def run(trial: Trial) -> None:
        clock = trial.fake_clock()
        names = [trial.start(node=number + 1) for number in range(2)]
        for after, off in steps:
            trial.pause(after)
            clock.step(off * trial.seconds)
            trial.mark(f"clock {clock.seconds:+.1f} s", " ".join(names))

    return run


def _frozen(trial: Trial) -> None:
    """A clock that stops under live processes for a third of the time."""
    clock = trial.fake_clock()
    names = [trial.start(node=number + 1) for number in range(2)]
    trial.pause(0.25)
    began_ns = time.monotonic_ns()
    clock.freeze()
    trial.pause(0.4)
    clock.step(0)
    trial.mark("clock frozen", " ".join(names), began_ns)


CLOCK_STEPS = (
    Fault("earlier", "kill -9 and restart with an earlier clock", _restart_earlier, 0.2),
    Fault("back", "clock stepped back", _step((0.4, -0.4)), 0.3),
    Fault("forward", "clock stepped forward and corrected", _step((0.2, 0.3), (0.3, 0.0)), 0.2),
    Fault("frozen", "clock frozen", _frozen, 0.2),
)
"""Faults of the wall clock."""
