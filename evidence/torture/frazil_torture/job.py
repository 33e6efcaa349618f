"""The job of a process under torture, as passed on its command line."""

import json
import os
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from frazil_torture.system import Setting

__all__ = ["Job"]


@dataclass(frozen=True, slots=True)
class Job:
    """A process's job. role: what it does (see ``worker``); name: of its files in ``folder``.

    It ends when the folder contains a file ``over``, and at ``end_ns`` of the monotonic clock, so
    that it does not outlive the run. several: the number of children, threads or copies. faked:
    whether libfaketime must be loaded. burst, nap_s: IDs in a row, and the pause after them. waits:
    a file to wait for before it creates a generator; it reports that by ``<name>.ready``. path: a
    file that the role needs. events: faults to inflict on itself, with begin and end in nanoseconds
    since the moment in ``path``.
    """

    system: str
    setting: Setting
    folder: Path
    name: str
    end_ns: int
    role: str
    several: int
    seed: int
    faked: bool
    burst: int
    nap_s: float
    waits: str = ""
    path: str = ""
    events: list[tuple[str, int, int]] = field(default_factory=list)

    def text(self) -> str:
        """The job as one line of text."""
        return json.dumps(asdict(self), default=str)

    @classmethod
    def parse(cls, text: str) -> "Job":
        """Parse ``text``."""
        parts = json.loads(text)
        typed = {"setting": Setting(**parts["setting"]), "folder": Path(parts["folder"])}
        return cls(**parts | typed)

    @property
    def over(self) -> bool:
        """Whether the process must end."""
        over = f"{self.folder}/over"
        return time.monotonic_ns() > self.end_ns or os.path.exists(over)  # noqa: PTH110 - quick
