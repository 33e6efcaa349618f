"""The file system of a path, from the kernel's list of mounts (proc(5), ``mountinfo``)."""

import os
import re
from pathlib import Path

_MOUNTS = "/proc/self/mountinfo"


def filesystem_of(path: Path, mountinfo: str = "") -> str | None:
    """The type of the file system of ``path``, like ``ext4``; None if the kernel lists none.

    Links are followed. It is that of the longest mount point above the path, and of equal ones the
    last, which covers the others.
    """
    real = os.path.realpath(path)
    best, kind = -1, None
    for point, found in mounts(mountinfo):
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= best:
            best, kind = len(point), found
    return kind


def mounts(mountinfo: str = "") -> list[tuple[str, str]]:
    """Each mount point with the type of its file system."""
    try:
        text = Path(mountinfo or _MOUNTS).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return []
    found = []
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        point = before.split(" ")[4]
        plain = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), point)
        found.append((plain, after.split(" ")[0]))
    return found
