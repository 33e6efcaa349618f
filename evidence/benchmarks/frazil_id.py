"""``frazil_id`` under faults: ``python -m evidence.benchmarks.frazil_id --ids 10000000``.

Sessions take IDs from a PostgreSQL server (the newest here) in transactions that commit, roll back
or are cut off, while the server or one of its processes is killed, its clock steps, and standbys
that missed the last IDs are promoted. Every ID that a client received is compared. The faults come
in turns, at equal distances in IDs, until there are as many IDs as asked for.

The clock steps back by up to an hour while a killed server is down; at a promotion it steps back by
less than the horizon, the limit that docs/how-to/sql.md states.

``--broken`` puts a function in place that repeats under one of the faults, and must be found.
The exit code is 1 if an ID repeats.
"""

import argparse
import time
from collections import Counter

from tests.faults.inside import BROKEN, Trial, trial
from tests.tools.waiting import until

__all__ = ["main"]

_HORIZON_S = 2.0
_PATIENCE_S = 3600.0


def _fault(running: Trial, number: int) -> None:
    """The next fault; of eight, one is a promotion."""
    kind = number % 8
    if kind == 7:
        running.promote_stale(step_s=-0.8 * _HORIZON_S)
    elif kind % 4 == 1:
        running.kill_session(step_s=(-3600, 0, -30, 3600)[number // 4 % 4])
    elif kind % 2:
        running.step((-3600, -0.5, 3600, 30)[number // 2 % 4])
    else:
        running.kill(step_s=(-3600, 0, 3600, -30)[number // 2 % 4])


def _kind(fault: str) -> str:
    return "clock step" if fault.startswith("clock") else fault


def main(arguments: list[str] | None = None) -> int:
    """Run the sessions and the faults. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m evidence.benchmarks.frazil_id")
    parser.add_argument("--ids", type=int, default=1_000_000, help="as many at least")
    parser.add_argument("--sessions", type=int, default=16)
    parser.add_argument("--faults", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--broken", choices=BROKEN, default="")
    options = parser.parse_args(arguments)
    begun = time.monotonic()
    horizon = f"{_HORIZON_S:g}s"
    with trial(
        options.sessions, broken=options.broken, horizon=horizon, seed=options.seed
    ) as running:
        version = running.server.sql("SHOW server_version")[0][0]
        for number in range(options.faults):
            goal = options.ids * (number + 1) // (options.faults + 1)
            until(lambda goal=goal: running.taken >= goal, "IDs", patience_s=_PATIENCE_S)
            _fault(running, number)
            running.progress()
        until(lambda: running.taken >= options.ids, "IDs", patience_s=_PATIENCE_S)
        repeats = running.repeats()
        print(f"PostgreSQL {version}, seed {options.seed}")
        print(
            f"{running.taken:,} IDs in {options.sessions} sessions, {running.rolled_back:,} of "
            f"them rolled back or cut off, in {time.monotonic() - begun:.0f} s"
        )
        for fault, count in Counter(map(_kind, running.faults)).items():
            print(f"{count:4} x {fault}")
        print(f"{repeats:,} repeats")
    return 1 if repeats else 0


if __name__ == "__main__":
    raise SystemExit(main())
