"""What a file is like as a keeper of claims; for ``frazil doctor``."""

import shutil
import sqlite3
from pathlib import Path

from frazil.claim import Terms
from frazil.registries.checkup import COMMON, Checkup, Finding, loss
from frazil.registries.place import NETWORK_FILESYSTEMS, filesystem_of

__all__ = ["examine"]

_ROOM_BYTES = 10_000_000


def examine(path: Path, terms: Terms) -> Checkup:
    """Look at a file, or at the place where it would be made."""
    there = path.exists()
    place = next((each for each in (path.parent, *path.parents) if each.exists()), Path("/"))
    kind = filesystem_of(place) or "unknown"
    free_bytes = shutil.disk_usage(place).free
    facts = (
        Finding("file", "good", str(path) if there else f"{path}, which the first use makes"),
        Finding(
            "file system",
            "bad" if kind in NETWORK_FILESYSTEMS else "good",
            kind,
            "locks do not hold there; use a local disk" if kind in NETWORK_FILESYSTEMS else "",
        ),
        Finding(
            "room",
            "good" if free_bytes > _ROOM_BYTES else "bad",
            f"{free_bytes / 1e9:.1f} GB free",
            "" if free_bytes > _ROOM_BYTES else "no claim can be kept on a full disk",
        ),
        Finding("persistence", "good", "each claim is on disk before it is used"),
    )
    events = (
        *COMMON,
        Finding("the host restarts, also without warning", "good", "survived"),
        loss("the file is deleted, replaced or put back from a backup", terms),
        Finding("the clock steps", "good", "survived", "a step back is made up for step by step"),
        # What one host with one file cannot answer, and no fault of this file.
        Finding(
            "a second host", "note", "may repeat", "each host has a file of its own: use a server"
        ),
        Finding("the machine is copied while it runs", "note", "may repeat", "restart one of them"),
    )
    return Checkup(f"SQLite {sqlite3.sqlite_version}", facts, events)
