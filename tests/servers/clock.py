"""A server's own clock, which a test can step: libfaketime reads the offset from a file."""

import shutil
import subprocess
from pathlib import Path

import libfaketime

from tests.needs import needs


class SteppedClock:
    """The clock of the processes that run with ``env``. Its files are in ``place``.

    The library is copied there, because the server's user may not be able to read the original;
    the loader ignores a library that it cannot read, without an error.
    """

    def __init__(self, place: Path) -> None:
        found = next(Path(libfaketime.__file__).parent.rglob("libfaketime.so.1"))
        library = Path(shutil.copy(found, place / "libfaketime.so"))
        library.chmod(0o755)
        self._offset = place / "clock"
        self.step(0)
        self.env = {
            "LD_PRELOAD": str(library),
            "FAKETIME_TIMESTAMP_FILE": str(self._offset),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }

    def step(self, seconds: float) -> None:
        """Set how far it is ahead of the true time."""
        new = self._offset.with_suffix(".new")
        new.write_text(f"{seconds:+.6f}s\n")
        new.chmod(0o644)
        new.rename(self._offset)


class WallClock:
    """The same for processes of many threads, like Java's: see wall_clock.c, which is compiled."""

    def __init__(self, place: Path) -> None:
        needs("cc", "a server with a clock of its own")
        library, self._ahead = place / "wall_clock.so", place / "ahead"
        source = Path(__file__).with_name("wall_clock.c")
        command = ["cc", "-shared", "-fPIC", "-O1", str(source), "-o", str(library), "-ldl"]
        subprocess.run(command, check=True)
        self._ahead.write_bytes(bytes(8))
        self.env = {"LD_PRELOAD": str(library), "WALL_CLOCK": str(self._ahead)}

    def step(self, seconds: float) -> None:
        """Set how far it is ahead of the true time."""
        with self._ahead.open("r+b") as file:  # in place, since it is mapped
            file.write(int(seconds * 1e9).to_bytes(8, "little", signed=True))
