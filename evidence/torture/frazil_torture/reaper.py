"""Processes and directories of a run must not outlive it, however it ends.

A run ends its own processes, also after Ctrl-C or a signal that can be caught. After ``kill -9`` it
cannot, and its processes, such as a server, would keep running. So it first starts a reaper process
(``reaper_process``) with a pipe. The kernel closes the pipe when the run ends, and the reaper kills
the processes that are still registered.
"""

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

__all__ = ["Reaper"]


class Reaper:
    """Starts the reaper process, and registers what to remove if this process is killed."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "frazil_torture.reaper_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def watch(self, pid: int) -> None:
        """Register a process with its own process group."""
        self._send(f"+{pid}")

    def forget(self, pid: int) -> None:
        """Forget a process that ended: its number may be reused."""
        self._send(f"-{pid}")

    def remove_at_exit(self, folder: str | Path) -> None:
        """Register a directory; it may be gone at the end."""
        self._send(f"/{folder}")

    def close(self) -> None:
        """End the reaper process."""
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()
        self._process.wait()

    def _send(self, line: str) -> None:
        with suppress(OSError):  # without a reaper the run continues unprotected
            if self._process.stdin is not None:
                self._process.stdin.write(line.encode(errors="surrogateescape") + b"\n")
                self._process.stdin.flush()
