"""Where state is kept on this host, and what can be said of the place.

A file's path says little: another file may lie there a moment later, the host may have restarted,
and the disk may be on another host, where file locks do not hold. These are the questions that a
registry in a file asks about it.
"""

import os
import sys
from pathlib import Path

__all__ = ["NETWORK_FILESYSTEMS", "boot_id", "file_id", "filesystem_of", "state_home"]

NETWORK_FILESYSTEMS = frozenset(
    {"9p", "afs", "ceph", "cifs", "fuse.ceph", "fuse.glusterfs", "fuse.s3fs", "fuse.sshfs", "gfs2"}
    | {"glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "smb2", "smb3", "smbfs"}
)


def state_home() -> Path:
    """Where this user's programs keep state, by the platform's convention."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    told = Path(os.environ.get("XDG_STATE_HOME", ""))
    return told if told.is_absolute() else Path.home() / ".local" / "state"


def filesystem_of(path: Path, mountinfo: str = "/proc/self/mountinfo") -> str | None:
    """The type of the file system that holds ``path`` (``ext4``); None where nobody tells.

    Format: proc(5), /proc/pid/mountinfo; the longest mount point that leads to the path counts,
    and of equal ones the last, which covers the others.
    """
    try:
        lines = Path(mountinfo).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    real = os.path.realpath(path)
    best, kind = -1, None
    for line in lines:
        before, _, after = line.partition(" - ")
        point = before.split(" ")[4].encode().decode("unicode_escape")
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= best:
            best, kind = len(point), after.split(" ")[0]
    return kind


def file_id(path: Path) -> str:
    """Which file a path leads to."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return ""
    return f"{found.st_dev:x}:{found.st_ino:x}"


def boot_id() -> str:
    """A text that changes when the host restarts; "" where there is none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
