"""The processes of a trial; none may be left when it ends."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

from frazil_torture.clock import sweep
from frazil_torture.id_log import DIED, HUNG
from frazil_torture.job import Job
from frazil_torture.reaper import Reaper

__all__ = ["Processes"]

_PATIENCE_S = 12.0  # including the time a worker waits for its children


class Processes:
    """Workers, each with its own process group, to which its children belong."""

    def __init__(self, reaper: Reaper) -> None:
        self._reaper = reaper
        self._started: dict[str, subprocess.Popen[bytes]] = {}
        self._stopped: set[str] = set()
        self.hung: list[str] = []
        """A line about each process that hung."""
        self.died: list[str] = []
        """A line about each process that ended early."""

    def start(self, job: Job, env: dict[str, str]) -> None:
        """Start a worker; its output goes to ``<name>.said``."""
        command = [sys.executable, "-m", "frazil_torture.worker", job.text()]
        with (job.folder / f"{job.name}.said").open("wb") as said:
            self._started[job.name] = subprocess.Popen(  # noqa: S603 - our own
                command,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                env={**os.environ, **env},
                start_new_session=True,
            )
        self._reaper.watch(self._started[job.name].pid)

    def kill(self, name: str) -> bool:
        """``kill -9`` a worker and its children. Returns whether it died of that."""
        process = self._started.pop(name)
        self._stopped.discard(name)
        self._end(process)
        return process.returncode == -signal.SIGKILL

    def stop(self, name: str) -> bool:
        """SIGSTOP a worker and its children. Returns whether the kernel reports the stop."""
        pid = self._started[name].pid
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGSTOP)
        self._stopped.add(name)
        deadline = time.monotonic() + _PATIENCE_S
        while time.monotonic() < deadline:
            found, status = os.waitpid(pid, os.WUNTRACED | os.WNOHANG)
            if found:
                return os.WIFSTOPPED(status)
            time.sleep(0.001)
        return False

    def resume(self, name: str) -> None:
        """SIGCONT."""
        self._stopped.discard(name)
        with suppress(ProcessLookupError):
            os.killpg(self._started[name].pid, signal.SIGCONT)

    def interrupt(self, name: str) -> None:
        """SIGINT, to the worker alone."""
        if self.alive(name):
            self._started[name].send_signal(signal.SIGINT)

    def alive(self, name: str) -> bool:
        """Whether a worker is still running."""
        process = self._started.get(name)
        return process is not None and process.poll() is None

    def finish(self) -> None:
        """Wait for all workers to end; kill those that do not."""
        for name in list(self._stopped):
            self.resume(name)
        deadline = time.monotonic() + _PATIENCE_S
        for name, process in list(self._started.items()):
            try:
                code = process.wait(max(0.0, deadline - time.monotonic()))
                if code:
                    self.died.append(f"{name} {DIED}, with {code}")
            except subprocess.TimeoutExpired:
                self.hung.append(f"{name}: {HUNG} it did not end, and was killed")
        self.close()

    def close(self) -> None:
        """Kill all workers."""
        for process in self._started.values():
            self._end(process)
        self._started.clear()

    def _end(self, process: "subprocess.Popen[bytes]") -> None:
        # Its group may contain children that outlive it.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        sweep(process.pid)
        self._reaper.forget(process.pid)
