"""Whoever is started for a run must not outlive it, however it ends.

A run that ends, also by Ctrl-C or a signal that can be caught, ends its processes itself. One that
is killed with ``kill -9`` cannot, and what it left, a server above all, would stay for good. So a
watchman is started first (see ``watchman``), which holds the other end of a pipe: the kernel closes
it with the run, and then he kills whom he was told of and has not been told is gone.
"""

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

__all__ = ["Reaper"]


class Reaper:
    """Keeps a watchman, who is told what to do away with should this process be killed."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "frazil.torture.reaper_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def watch(self, pid: int) -> None:
        """A process was started, with a group of its own."""
        self._send(f"+{pid}")

    def forget(self, pid: int) -> None:
        """It is gone, and its number may become another's."""
        self._send(f"-{pid}")

    def remove_at_exit(self, folder: str | Path) -> None:
        """A folder was made; where it is gone at the end, nothing is done."""
        self._send(f"/{folder}")

    def close(self) -> None:
        """Let the watchman go."""
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()
        self._process.wait()

    def _send(self, line: str) -> None:
        with suppress(OSError):  # a watchman who is gone protects nobody, and harms nobody
            if self._process.stdin is not None:
                self._process.stdin.write(line.encode(errors="surrogateescape") + b"\n")
                self._process.stdin.flush()
