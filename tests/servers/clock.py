"""A clock of a server's own, which a test can step: libfaketime, told by a file."""

import shutil
from pathlib import Path

import libfaketime

__all__ = ["SteppedClock"]


class SteppedClock:
    """The clock of those that run with ``env``. Its files lie in ``place``.

    The library is copied there, since a server may run as a user who cannot read it where it is;
    a library that cannot be read is left out without a word.
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
        """Set it so far from the true time."""
        new = self._offset.with_suffix(".new")
        new.write_text(f"{seconds:+.6f}s\n")
        new.chmod(0o644)
        new.rename(self._offset)
