"""What a process of a torture is to do, as it stands on its command line."""

import json
import os
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from frazil.torture.system import Setting

__all__ = ["Job"]


@dataclass(frozen=True, slots=True)
class Job:
    """One process. ``how`` names what it does (see ``worker``), ``name`` its files in ``folder``.

    It ends when there is a file ``over`` in the folder, and in any case when the monotonic clock
    says ``end_ns``, lest it outlive whoever started it. waits: before it makes a generator, until
    there is a file of that name, and says so by ``<name>.ready``. faked: whether its clock must be.
    warm_s: how long to issue before the thing that ``how`` is about. several: how many children,
    threads or copies. burst, nap_s: how many IDs in a row, and the pause after them. path: a file
    that ``how`` needs. events: what to do to oneself, from when until when, in
    nanoseconds since the moment in ``path``.
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
        """The order as one line."""
        return json.dumps(asdict(self))

    @classmethod
    def parse(cls, text: str) -> "Job":
        """The order of a line."""
        parts = json.loads(text)
        return cls(**parts | {"setting": Setting(**parts["setting"])})

    @property
    def over(self) -> bool:
        """Whether it is time to end."""
        over = f"{self.folder}/over"
        return time.monotonic_ns() > self.end_ns or os.path.exists(over)  # noqa: PTH110 - quick

    @property
    def directory(self) -> Path:
        """The folder."""
        return Path(self.folder)
