"""A separate wall clock for some processes, which can be stepped and stopped while they run.

Setting the host's clock requires root and affects every process. libfaketime instead intercepts
calls of the C library and returns another time, which it reads from a file at each call. Only the
wall clock changes; the monotonic clock continues, as on a host whose wall clock is set.

The loader silently ignores a library that it cannot load. So each process checks that the library
is in its memory, and one process, the witness, only records the time that it sees. (Not a thread of
each process: the library does not support calls from two threads at once.)
"""

import importlib.util
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

__all__ = ["FakeClock", "library", "loaded", "packaged", "sweep", "watch"]

_LOOK_S = 0.005
_NOTED_NS = 20_000_000
_PLACES = ("/usr/lib", "/usr/local/lib", "/usr/lib64")


def library() -> Path | None:
    """The path of libfaketime: in the package of that name, or installed in the system."""
    installed = (Path(place).glob("**/faketime/libfaketime.so.1") for place in _PLACES)
    return next(chain(packaged("libfaketime", "libfaketime.so.1"), *installed), None)


def packaged(package: str, file: str) -> Iterator[Path]:
    """The files of a name in a Python package, if the package is installed."""
    spec = importlib.util.find_spec(package)
    if spec is not None and spec.origin is not None:
        yield from sorted(Path(spec.origin).parent.rglob(file))


class FakeClock:
    """The wall clock of processes that are started with ``env``; ``file`` sets it."""

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
        """Set it to an offset from the true time."""
        self.seconds = seconds
        self._write(f"{seconds:+.6f}s")

    def freeze(self) -> None:
        """Stop it; ``step`` starts it again."""
        now = datetime.fromtimestamp(time.time() + self.seconds, UTC)
        self._write(now.strftime("%Y-%m-%d %H:%M:%S.%f"))

    def _write(self, text: str) -> None:
        new = self._file.with_suffix(".new")
        new.write_text(text + "\n", encoding="ascii")
        new.rename(self._file)


def loaded() -> bool:
    """Whether libfaketime is in this process; assumed if this cannot be checked."""
    maps = Path("/proc/self/maps")
    return not maps.exists() or "libfaketime" in maps.read_text()


def watch(file: Path, over: Callable[[], bool]) -> None:
    """Record the offset between the wall clock and the monotonic clock until ``over()``.

    Writes a line, in nanoseconds, each time the offset exceeds the earlier ones.
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
    """Remove the shared memory of libfaketime for a killed process."""
    for left in ("faketime_shm", "sem.faketime_sem"):
        Path(f"/dev/shm/{left}_{pid}").unlink(missing_ok=True)  # noqa: S108 - its place
