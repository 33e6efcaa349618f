"""Examine a file of claims for ``frazil doctor``."""

import shutil
import sqlite3
from collections.abc import Iterable
from pathlib import Path

from frazil.claims.claim import Terms
from frazil.registries.doctor import COMMON_EVENTS, Finding, StoreReport, state_loss
from frazil.registries.sqlite.default_file import (
    CREATE_IT,
    missing_folder,
    other_files,
    users_folder,
)
from frazil.registries.sqlite.files import foreign_filesystem
from frazil.system.host import filesystem_of

_ROOM_BYTES = 10_000_000


def examine(path: Path, terms: Terms, *, told_local: bool) -> StoreReport:
    """Examine a file, or the place where it would be created.

    told_local: whether ``?local=yes`` says that only this host uses the file system.
    """
    place = next((each for each in (path.parent, *path.parents) if each.exists()), Path("/"))
    free_bytes = shutil.disk_usage(place).free
    facts = (
        _file(path),
        _file_system(path, told_local=told_local),
        *_users(path),
        Finding(
            "room",
            "good" if free_bytes > _ROOM_BYTES else "bad",
            f"{free_bytes / 1e9:.1f} GB free",
            "" if free_bytes > _ROOM_BYTES else "claims cannot be stored on a full disk",
        ),
        _persistence(terms),
    )
    events = (
        *COMMON_EVENTS,
        Finding("the host restarts, also without warning", "good", "survived"),
        state_loss("the file is deleted, replaced or restored from a backup", terms),
        _folder(terms),
        Finding("the clock steps", "good", "survived", "a step back is absorbed gradually"),
        # Limits of any file on one host.
        Finding("a second host", "note", "may repeat", "each host has its own file: use a server"),
        Finding("the machine is copied while it runs", "note", "may repeat", "restart one of them"),
    )
    return StoreReport(f"SQLite {sqlite3.sqlite_version}", facts, events)


def _file(path: Path) -> Finding:
    if path.exists():
        return Finding("file", "good", str(path))
    missing = missing_folder(path.parent)
    if missing:
        return Finding("file", "bad", missing, f"{CREATE_IT} {path.parent}")
    return Finding("file", "good", f"{path}, created on first use")


def _persistence(terms: Terms) -> Finding:
    if not terms.timed:
        return Finding("persistence", "good", "each claim is on disk before it is used")
    return Finding(
        "persistence",
        "good",
        "each claim is written before it is used",
        "a power cut may lose the last claims; the next start waits until all have ended",
    )


def _folder(terms: Terms) -> Finding:
    event = "the whole disk is restored while no member is running"
    if terms.timed:
        return Finding(event, "note", "late", "IDs repeat only if the clock also went back")
    return Finding(
        event,
        "note",
        "may repeat",
        "as with any database sequence: before the first use run frazil init URL --start N "
        "--forward",
    )


def _file_system(path: Path, *, told_local: bool) -> Finding:
    foreign = foreign_filesystem(path)
    if foreign is None:
        return Finding("file system", "good", filesystem_of(path) or "unknown")
    if told_local:
        return Finding("file system", "note", foreign, "local to this host according to ?local=yes")
    advice = "not known to be local; use a local disk, or add ?local=yes if no other host mounts it"
    return Finding("file system", "bad", foreign, advice)


def _users(path: Path) -> Iterable[Finding]:
    """Other users of this host who use the default file have files of their own."""
    if path.parent != users_folder():
        return
    others = [f"{user} ({there})" for user, there in other_files()]
    found = f"others: {', '.join(others)}" if others else "other users would have their own"
    yield Finding(
        "users",
        "note",
        f"this user's own file; {found}",
        "IDs of two users may repeat: sudo frazil init --shared GROUP creates one for all",
    )
