"""Generators in processes of their own that live through a fault of their store."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import frazil
from tests.processes.harness import Processes, count
from tests.tools.verbs import new
from tests.tools.waiting import until

TIGHT = "sign:1=0 time:41 node:1 sequence:21 @10ms since 2025-01-01T00:00:00Z"
SHELVED = "sign:1=0 time:41 node:9 sequence:13 @10ms since 2025-01-01T00:00:00Z"
"""Of so many node numbers that a namespace has two records."""

RECORDS = pytest.mark.parametrize("scheme", [TIGHT, SHELVED], ids=["one record", "two"])
TWO_BY_DAY = pytest.mark.parametrize(
    "scheme",
    [
        pytest.param(TIGHT, marks=pytest.mark.nightly, id="one record"),
        pytest.param(SHELVED, id="two"),
    ],
)
"""Where another fault of the same store has both each time."""

UNHURRIED = "300s"
"""The timeout of calls of which none may fail: longer than a test waits for them.

On a slow machine the test's own wait ends first, and that is tried again.
"""

_WORKER = Path(__file__).parent / "workers" / "steady"
_PATIENCE_S = 180  # no store and no process takes as long, however busy the machine
_SOME_BYTES = 8000  # a thousand IDs


class Fleet:
    """The processes of one test. lead: how far ahead of the clock they may issue.

    url: of the registry, for those that are started next; or of servers that make IDs, which have
    been initialised. timeout: of each call. most: the largest number of IDs in a request.
    python: the interpreter, which may have another version of frazil.
    """

    def __init__(
        self,
        place: Path,
        url: str,
        *,
        broken: str = "",
        lead: str = "500ms",
        scheme: str = TIGHT,
        timeout: str = "1s",
        most: int = 40,
        python: str = sys.executable,
    ) -> None:
        self.place = place
        self.url = url
        self.crew = Processes(place)
        self._order = {"broken": broken, "lead": lead, "timeout": timeout, "most": most}
        self._order |= {"scheme": scheme}
        self._workers: dict[str, Any] = {}
        self._started = 0
        self._python = python
        if url.startswith("icicle:"):
            self._order["scheme"] = "icicle"
        elif python == sys.executable:
            new(url, "default", frazil.scheme(scheme))
        else:
            command = [python, "-m", "frazil", "init", "--new", "--scheme", scheme, url]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    def start(self, count: int, *, wait: bool = True) -> None:
        """Start more processes, and wait until they issue IDs."""
        names = [f"w{self._started + i}" for i in range(count)]
        self._started += count
        for name in names:
            order = {"name": name, "url": self.url, **self._order}
            self._workers[name] = self.crew.start(str(_WORKER), python=self._python, **order)
        if wait:
            self.progress(names)

    def sizes(self) -> dict[str, int]:
        """The size of each process's file of IDs."""
        paths = {name: self.place / f"{name}.u64" for name in self._workers}
        return {name: path.stat().st_size if path.exists() else 0 for name, path in paths.items()}

    def progress(self, names: list[str] | None = None) -> None:
        """Wait until each process (or each named one) has issued more IDs."""
        before = self.sizes()
        for name in names or self._workers:
            until(
                lambda n=name: self.sizes()[n] > before[n] + _SOME_BYTES,
                f"{name} to issue more",
                patience_s=_PATIENCE_S,
            )

    def signal(self, name: str, which: signal.Signals) -> None:
        """Send a signal to a process: w0, w1, … in the order of their starts."""
        worker = self._workers[name]
        os.kill(worker.pid, which)
        if which is signal.SIGKILL:
            worker.wait(30)
            del self._workers[name]

    def errors(self) -> str:
        """The errors that the workers' calls raised."""
        return "".join(path.read_text() for path in sorted(self.place.glob("*.errors")))

    def wait_for_error(self, text: str) -> None:
        """Wait until the errors of the workers contain a text."""
        until(lambda: text in self.errors(), f"the error {text!r}", patience_s=_PATIENCE_S)

    def wait_for_all(self) -> None:
        """Wait until the claims of all have ended."""
        for name in self._workers:
            errors = self.place / f"{name}.errors"
            until(
                lambda errors=errors: "no claim since" in errors.read_text(),
                f"the end of the claim of {name}",
                patience_s=_PATIENCE_S,
            )

    def stop(self) -> None:
        """Stop all processes, and wait for their end."""
        for worker in self._workers.values():
            self.crew.stop(worker)

    def repeats(self) -> int:
        """Stop all processes; returns how many IDs repeat. Each must have issued some."""
        self.stop()
        issued, repeated = count(self.place)
        assert issued > 1000 * len(self._workers)
        print(f"{issued} issued, {repeated} repeated")  # noqa: T201
        return repeated

    def close(self) -> None:
        """Kill the processes that are left."""
        self.crew.close()
