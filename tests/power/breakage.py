"""Changes to SQLite, the host's boot and the clock, for the processes of a power cut.

Each name in ``BROKEN`` makes SQLite do something that frazil must prevent; with "same boot" a
restart of the host is hidden, too.
"""

import re
import sqlite3
import sys

from frazil.registries.sqlite import file
from frazil.system import clock

_SYNC = r"(?i)pragma\s+(main\.)?synchronous\s*=\s*\w+"

# For each: the statements that are changed, and their replacement.
BROKEN: dict[str, tuple[str, str]] = {
    "": ("(?!)", ""),
    "nothing is synced": (_SYNC, "PRAGMA synchronous=OFF"),
    "commits are not synced": (_SYNC, "PRAGMA synchronous=NORMAL"),
    "no transaction": ("^(BEGIN IMMEDIATE|COMMIT)$", "SELECT 1"),
    "same boot": (_SYNC, "PRAGMA synchronous=NORMAL"),
}


def apply(broken: str, *, hurried: bool = False) -> None:
    """Apply a change to this process.

    hurried: the log is copied into the database every few steps and not every hundred, so that a
    short recording holds many copies.

    The change time of each file is the same for ever. A state is put in place by writing files,
    which changes it, and that would tell each loss even to a registry that knows nothing of boots.
    After a real power cut the time may well be the same.
    """
    pattern, instead = BROKEN[broken]
    connect = sqlite3.connect

    class Connection(sqlite3.Connection):
        def execute(self, sql, *values):
            return super().execute(re.sub(pattern, instead, sql), *values)

    sqlite3.connect = lambda *where, **options: connect(*where, factory=Connection, **options)
    file._changed_ns = lambda _: 0
    if hurried:
        file._LONG_LOG_BYTES = 48 * 1024


def boot(name: str | None, now_us: int | None = None) -> None:
    """Be on a host in another boot (None: in the same), whose clock says this (None: the time)."""
    if now_us is not None:
        clock.wall_us = lambda: now_us
    if name is None:
        return
    for called, module in list(sys.modules.items()):  # not all are modules, so ask for no name
        if called.startswith("frazil.") and hasattr(module, "boot_id"):
            module.boot_id = lambda: name
