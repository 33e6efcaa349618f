"""Which file system a path lies on, by what the kernel lists as mounted.

Format: proc(5), ``/proc/pid/mountinfo``.
"""

import os
import re
from pathlib import Path

__all__ = ["filesystem_of", "mounts"]

_MOUNTS = "/proc/self/mountinfo"


def filesystem_of(path: Path, mountinfo: str = "") -> str | None:
    """The type of the file system that holds ``path`` (``ext4``); None where the kernel lists none.

    Links are followed. The longest mount point that leads to the path counts, and of equal ones the
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
    """Each mount point with the type of its file system; none where the kernel lists none."""
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
