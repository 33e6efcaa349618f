"""A wall clock of one's own for a process, which may be stepped and stopped while it runs.

Setting the host's clock needs its administrator and disturbs everybody on it. libfaketime stands
between a program and its C library instead, and answers with another time, which it reads from a
file at every question. Only the wall clock is another: the clock that measures how much time has
passed goes on, as it does on a host whose wall clock is set.

A library that could not be loaded is left out by the loader without a word. So nobody may take a
clock for faked because he asked for it: each process looks whether the library is in its memory,
and one of them, the witness, does nothing but write down what time it sees. (Not a thread of each:
the library is not made for two threads that ask at once, and may then tell nonsense.)
"""

import importlib.util
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

__all__ = ["FakeClock", "library", "loaded", "sweep", "watch"]

_LOOK_S = 0.005
_NOTED_NS = 20_000_000
_PLACES = ("/usr/lib", "/usr/local/lib", "/usr/lib64")


def library() -> Path | None:
    """Where libfaketime is: in the package of that name, or installed in the system."""
    spec = importlib.util.find_spec("libfaketime")
    if spec is not None and spec.origin is not None:
        for found in sorted(Path(spec.origin).parent.rglob("libfaketime.so.1")):
            return found
    for place in _PLACES:
        for found in sorted(Path(place).glob("**/faketime/libfaketime.so.1")):
            return found
    return None


class FakeClock:
    """The wall clock of those that are started with ``env``; ``file`` tells it the time."""

    def __init__(self, preload: Path, file: Path) -> None:
        self._file = file
        self.step(0)
        self.env = {
            "LD_PRELOAD": str(preload),
            "FAKETIME_TIMESTAMP_FILE": str(file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "TZ": "UTC",
        }

    def step(self, seconds: float) -> None:
        """Set it so far from the true time; from there on it goes."""
        self.seconds = seconds
        self._write(f"{seconds:+.6f}s")

    def freeze(self) -> None:
        """Stop it; ``step`` lets it go again."""
        now = datetime.fromtimestamp(time.time() + self.seconds, UTC)
        self._write(now.strftime("%Y-%m-%d %H:%M:%S.%f"))

    def _write(self, text: str) -> None:
        new = self._file.with_suffix(".new")
        new.write_text(text + "\n", encoding="ascii")
        new.rename(self._file)


def loaded() -> bool:
    """Whether libfaketime is in this process; taken for granted where a process cannot see that."""
    maps = Path("/proc/self/maps")
    return not maps.exists() or "libfaketime" in maps.read_text()


def watch(file: Path, over: Callable[[], bool]) -> None:
    """Until it is over, write down how far the wall clock is from the monotonic one.

    A line for each time that it is farther off than before, in nanoseconds.
    """
    low = high = 0
    with file.open("a", encoding="ascii") as lines:
        while not over():
            off_ns = time.time_ns() - time.monotonic_ns()
            if not low or not low - _NOTED_NS < off_ns < high + _NOTED_NS:
                low, high = min(low or off_ns, off_ns), max(high, off_ns)
                lines.write(f"{off_ns}\n")
                lines.flush()
            time.sleep(_LOOK_S)


def sweep(pid: int) -> None:
    """Remove what libfaketime keeps in memory for a process that was killed."""
    for left in ("faketime_shm", "sem.faketime_sem"):
        Path(f"/dev/shm/{left}_{pid}").unlink(missing_ok=True)  # noqa: S108 - its place
