"""A server's own clock, which a test can step: libfaketime reads the offset from a file."""

import shutil
from pathlib import Path

import libfaketime

__all__ = ["SteppedClock"]


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
