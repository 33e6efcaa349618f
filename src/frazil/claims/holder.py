"""How a holder signs its claims: host, process number, and how fast it goes.

A registry keeps one short text beside each claim. It decides nothing: a claim is told apart from
others by its token. It is for the person who asks who holds what, and whom to stop.

    db7:4711            a process that has just begun
    db7:4711 1200/s     the same, when it last made its claim longer
"""

import os
import re
from typing import NamedTuple

__all__ = ["Holder"]


class Holder(NamedTuple):
    """host and process: where it runs. rate_hz: IDs a second, measured over its last claim."""

    host: str
    process: str = ""
    rate_hz: int | None = None

    @classmethod
    def here(cls, rate_hz: int | None = None) -> "Holder":
        """The one that calls: this process."""
        return cls(_host_name(), str(os.getpid()), rate_hz)

    @classmethod
    def parse(cls, text: str) -> "Holder":
        """From its text; a text of another form is a host as a whole.

        Whoever can write to the store writes what they like, and it is shown as it stands there.
        """
        found = re.fullmatch(r"(.*):([0-9]+)(?: (0|[1-9][0-9]{0,17})/s)?", text)
        if not found:
            return cls(text)
        host, process, rate = found.groups()
        return cls(host, process, None if rate is None else int(rate))

    def __str__(self) -> str:
        where = f"{self.host}:{self.process}" if self.process else self.host
        return where if self.rate_hz is None else f"{where} {self.rate_hz}/s"


def _host_name() -> str:
    if hasattr(os, "uname"):  # `socket` takes long to load, and every program would wait for it
        return os.uname().nodename
    from socket import gethostname

    return gethostname()
