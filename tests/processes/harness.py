"""What the tests of real processes share: starting workers, and counting what they issued.

Each test has a worker script under ``workers/``, started as a process of its own. A worker appends
the IDs that it was given, packed as 64-bit words, to ``<out>/<name>.u64``, so that a worker killed
at any moment leaves what it had written. The test then counts repeats exactly, by sorting.

A test that finds no repeat proves little unless it would have found one. So each runs a second time
with frazil broken in one place (``workers/broken.py``) and must then find repeats, by the same
worker, the same files and the same count.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import libfaketime
import numpy as np

import frazil
from frazil.claims.claim import Holding
from frazil.registries import connect
from tests.tools.verbs import new

WORKERS = Path(__file__).parent / "workers"
PATIENCE_S = 300

# A wide sequence goes at memory speed. With a narrow one, IDs asked for at once reach far ahead, so
# two processes with one claim must meet. One slot is always somebody else's next.
WIDE = "sign:1=0 time:41 node:8 sequence:14 @1ms since 2025-01-01T00:00:00Z"
NARROW = "sign:1=0 time:41 node:8 sequence:8 @1ms since 2025-01-01T00:00:00Z"
ONE_SLOT = "sign:1=0 time:41 sequence:8 @1ms since 2025-01-01T00:00:00Z"

INTERPRETED = {"FRAZIL_PURE": "1"}


class Processes:
    """The worker processes of one test. ``place`` is a directory for its files."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self._started: list[subprocess.Popen[bytes]] = []

    def start(
        self,
        script: str,
        *,
        env: dict[str, str] | None = None,
        before: Sequence[str] = (),
        python: str = sys.executable,
        **order: Any,
    ) -> Any:
        """Start ``workers/<script>.py``; ``order`` is what it finds in its ``work.order()``.

        before: a command to put before Python's, which starts it in its own way.
        """
        order = {"out": str(self.place), "broken": ""} | order
        command = [python, str(WORKERS / f"{script}.py"), json.dumps(order)]
        return self.spawn([*before, *command], env=env)

    def spawn(self, command: list[str], *, env: dict[str, str] | None = None, **how: Any) -> Any:
        """Start any command in a process group of its own; what it says goes to files."""
        number = len(self._started)
        with (
            (self.place / f"{number}.stdout").open("wb") as out,
            (self.place / f"{number}.stderr").open("wb") as err,
        ):
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env={**os.environ, "PYTHONFAULTHANDLER": "1", **(env or {})},
                start_new_session=True,
                **how,
            )
        self._started.append(process)
        return process

    def said(self, process: Any, stream: str = "stdout") -> str:
        """What a worker has printed so far."""
        number = self._started.index(process)
        return (self.place / f"{number}.{stream}").read_text()

    def finish(self, process: Any, *, code: int = 0, patience_s: float = PATIENCE_S) -> str:
        """Wait for a worker's end, which must be a good one; answers what it printed."""
        try:
            ended = process.wait(patience_s)
        except subprocess.TimeoutExpired:
            ended = _examined(process)
        assert ended == code, f"ended with {ended}:\n{self.said(process, 'stderr')[-4000:]}"
        return self.said(process)

    def run(self, script: str, *, env: dict[str, str] | None = None, **order: Any) -> str:
        """Start a worker and wait for its end; answers what it printed."""
        return self.finish(self.start(script, env=env, **order))

    def stop(self, process: Any) -> str:
        """Ask a worker to come to its end, and wait for it."""
        process.send_signal(signal.SIGTERM)
        return self.finish(process)

    def close(self) -> None:
        """Leave no process behind, of the workers' own children neither."""
        for process in self._started:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(PATIENCE_S)
            for left in ("faketime_shm", "sem.faketime_sem"):  # by a killed one, see clock_set_to
                Path(f"/dev/shm/{left}_{process.pid}").unlink(missing_ok=True)


def _examined(process: Any) -> str:
    """What a process that does not end is doing; it writes its threads' stacks to its stderr."""
    found = ["no end"]
    for task in Path(f"/proc/{process.pid}/task").iterdir():
        with suppress(OSError):
            state = (task / "stat").read_text().rpartition(")")[2].split()[0]
            found.append(f"thread {task.name}: {state} in {(task / 'wchan').read_text()}")
    process.send_signal(signal.SIGCONT)
    process.send_signal(signal.SIGABRT)  # as faulthandler has it
    with suppress(subprocess.TimeoutExpired):
        process.wait(10)
    return "; ".join(found)


def issued(place: Path, pattern: str = "*.u64") -> "np.ndarray[Any, np.dtype[np.uint64]]":
    """All IDs in the files of that pattern, in the order in which each file has them."""
    parts = [np.zeros(0, dtype=np.uint64)]
    for path in sorted(place.glob(pattern)):
        whole = path.stat().st_size // 8  # a worker killed while it wrote may leave a part
        parts.append(np.fromfile(path, dtype=np.uint64, count=whole))
    return np.concatenate(parts)


def size(place: Path, name: str) -> int:
    """How many bytes of IDs a worker has written so far."""
    path = place / f"{name}.u64"
    return path.stat().st_size if path.exists() else 0


def count(place: Path, pattern: str = "*.u64") -> tuple[int, int]:
    """How many IDs were issued, and how many of them repeat an earlier one."""
    ids = np.sort(issued(place, pattern))
    repeats = int(np.count_nonzero(ids[1:] == ids[:-1]))
    print(f"{len(ids):,} IDs, {repeats:,} repeats")  # noqa: T201 - pytest shows it on request
    return len(ids), repeats


def errors(place: Path) -> list[str]:
    """What stopped workers before their end, in their own words."""
    return [path.read_text() for path in sorted(place.glob("*.error"))]


def seen(attempt: Callable[[Path], Any], place: Path) -> bool:
    """Whether a race that frazil was broken for is lost in one of a few attempts.

    Each gets a directory of its own, so that no two of them can be taken for a repeat.
    """
    for number in range(8):
        alone = place / f"attempt-{number}"
        alone.mkdir()
        attempt(alone)
        if count(alone)[1]:
            return True
    return False


def initialise(url: str, scheme: str) -> str:
    """Say that a namespace is new, so that its first user need not wait; answers the URL."""
    new(url, "default", frazil.scheme(scheme))
    return url


def held(url: str, scheme: str) -> list[Holding]:
    """The claims that somebody holds at this moment."""
    return [h for h in connect(url, "default", frazil.scheme(scheme)).holdings() if h.held]


def clock_set_to(moment: str) -> dict[str, str]:
    """The environment of a process whose wall clock says ``moment`` (UTC) when it starts."""
    library = next(Path(libfaketime.__file__).parent.rglob("libfaketime.so.1"))
    return {
        "LD_PRELOAD": str(library),
        "FAKETIME": f"@{moment}",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "TZ": "UTC",
    }
