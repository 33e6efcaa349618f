"""The name of a claim's holder: host, process number, and IDs per second.

A registry keeps this short text beside each claim. It is for people who need to know which process
holds a claim; nothing depends on it, since a claim is identified by its token.

    db7:4711            a process that has just started
    db7:4711 1200/s     the same process, after a renewal
"""

import os
import re
from typing import NamedTuple


class Holder(NamedTuple):
    """host and process: where it runs. rate_hz: IDs per second since the last renewal."""

    host: str
    process: str = ""
    rate_hz: int | None = None

    @classmethod
    def here(cls, rate_hz: int | None = None) -> "Holder":
        """The calling process."""
        return cls(_host_name(), str(os.getpid()), rate_hz)

    @classmethod
    def parse(cls, text: str) -> "Holder":
        """The holder of a text. A text of another form becomes the host, unchanged.

        Anyone with write access to the store can put any text there.
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
    if hasattr(os, "uname"):  # `socket` is slow to load
        return os.uname().nodename
    from socket import gethostname

    return gethostname()
