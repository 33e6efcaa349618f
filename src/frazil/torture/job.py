"""The job of a process under torture, as passed on its command line."""

import json
import os
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from frazil.torture.system import Setting

__all__ = ["Job"]


@dataclass(frozen=True, slots=True)
class Job:
    """A process's job. role: what it does (see ``worker``); name: of its files in ``folder``.

    It ends when the folder contains a file ``over``, and at ``end_ns`` of the monotonic clock, so
    that it does not outlive the run. waits: a file to wait for before it creates a generator; it
    reports that by ``<name>.ready``. faked: whether libfaketime must be loaded. warm_s: how long to
    issue before the fault. several: the number of children, threads or copies. burst, nap_s: IDs in
    a row, and the pause after them. path: a file that the role needs. events: faults to inflict on
    itself, with begin and end in nanoseconds since the moment in ``path``.
    """

    system: str
    setting: Setting
    folder: str
    name: str
    end_ns: int
    role: str = "steady"
    waits: str = ""
    faked: bool = False
    warm_s: float = 0.1
    several: int = 3
    burst: int = 256
    nap_s: float = 0.0005
    seed: int = 0
    path: str = ""
    events: list[tuple[str, int, int]] = field(default_factory=list)

    def text(self) -> str:
        """The job as one line of text."""
        return json.dumps(asdict(self))

    @classmethod
    def parse(cls, text: str) -> "Job":
        """Parse ``text``."""
        parts = json.loads(text)
        return cls(**parts | {"setting": Setting(**parts["setting"])})

    @property
    def over(self) -> bool:
        """Whether the process must end."""
        over = f"{self.folder}/over"
        return time.monotonic_ns() > self.end_ns or os.path.exists(over)  # noqa: PTH110 - quick

    @property
    def directory(self) -> Path:
        """The folder."""
        return Path(self.folder)
