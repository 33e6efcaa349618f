"""Keep the IDs that frazil made in a run on disk, and find those that repeat.

The search is exact: all IDs are sorted and compared. Each namespace has a folder, and each process
that wrote there a file in it, of 64-bit words; wider IDs have two, the high one first.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["Keeping", "Repeats", "check"]

_LOW = (1 << 64) - 1
_WIDE = np.dtype([("hi", "<u8"), ("lo", "<u8")])
_SUFFIXES = {".64": np.dtype("<u8"), ".128": _WIDE}


class Repeats(Exception):
    """frazil made an ID twice. Its measurements mean nothing until the reason is known."""


class Keeping:
    """Appends the batches of one process to its file. ``bits``: the width of an ID."""

    def __init__(self, folder: Path, namespace: str, bits: int) -> None:
        self._wide = bits > 64
        place = folder / namespace
        place.mkdir(parents=True, exist_ok=True)
        self._path = place / f"{os.getpid()}{'.128' if self._wide else '.64'}"

    def add(self, ids: Any) -> None:
        """Keep a batch: a list of ints, or an array."""
        if self._wide and isinstance(ids, list):
            ids = np.array([(n >> 64, n & _LOW) for n in ids], dtype=_WIDE)
        with self._path.open("ab") as file:
            np.asarray(ids, dtype=_WIDE if self._wide else "<u8").tofile(file)


def check(folder: Path) -> dict[str, int]:
    """How many IDs each namespace has. Raises Repeats if one of them occurs twice."""
    return {place.name: _count(place) for place in sorted(folder.iterdir()) if place.is_dir()}


def _count(place: Path) -> int:
    (suffix,) = {path.suffix for path in place.iterdir()}
    ids = np.concatenate([np.fromfile(path, _SUFFIXES[suffix]) for path in place.iterdir()])
    ids.sort()
    again = np.flatnonzero(ids[1:] == ids[:-1])
    if len(again):
        raise Repeats(
            f"{len(again):,} of {len(ids):,} IDs in namespace {place.name!r} were made before, the "
            f"first of them {_number(ids[again[0]])}; no table is written"
        )
    return len(ids)


def _number(identity: Any) -> int:
    if identity.dtype == _WIDE:
        return int(identity["hi"]) << 64 | int(identity["lo"])
    return int(identity)
