"""State files of this host: where they are, which file a path leads to, whether it is local.

A path is not enough: another file may be there a moment later, the host may have restarted, and the
disk may belong to another host, where file locks do not work.
"""

import os
import sys
from contextlib import suppress
from io import FileIO
from pathlib import Path

from frazil.errors import ConfigError
from frazil.system.host import filesystem_of, mounts

LOCAL_FILESYSTEMS = frozenset(
    {"affs", "apfs", "aufs", "bcachefs", "btrfs", "cramfs", "ecryptfs", "erofs", "exfat", "ext2"}
    | {"ext3", "ext4", "f2fs", "fuse.fuse-overlayfs", "fuseblk", "hfs", "hfsplus", "iso9660"}
    | {"jffs2", "jfs", "minix", "msdos", "nilfs2", "ntfs", "ntfs3", "overlay", "overlayfs"}
    | {"ramfs", "reiser4", "reiserfs", "rootfs", "squashfs", "tmpfs", "ubifs", "udf", "ufs"}
    | {"vfat", "xfs", "zfs"}
)
"""File systems that one kernel mounts at a time, so that its file locks hold for all users.

The list names the safe ones, because network file systems cannot be listed: with FUSE any user can
write one.
"""

_BOOT_ID = "/proc/sys/kernel/random/boot_id"


def state_home() -> Path:
    """The directory for this user's state, by the platform's convention."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    told = Path(os.environ.get("XDG_STATE_HOME", ""))
    return told if told.is_absolute() else Path.home() / ".local" / "state"


def make_folder(path: Path) -> None:
    """Create a directory and its parents for this user alone, and sync them to disk."""
    missing = [each for each in (path, *path.parents) if not each.exists()]
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    for each in missing:
        sync_folder(each.parent)


def sync_folder(path: Path) -> None:
    """Sync a directory, so that a power cut does not undo the creation of its files."""
    folder = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def make_file(path: Path, mode: int) -> None:
    """Create an empty file if there is none, with these permissions regardless of the umask.

    The file is visible only once it has them.
    """
    if path.exists():
        return
    draft = path.with_name(f"{path.name}.{os.urandom(8).hex()}")
    fd = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.fchmod(fd, mode)
        with suppress(FileExistsError):
            path.hardlink_to(draft)
    finally:
        os.close(fd)
        draft.unlink()


def require_folder(path: Path) -> None:
    """Raise ConfigError for a file that is mounted alone, for example into a container.

    SQLite keeps a log beside the file; a process that sees only the file would use another log.
    """
    if any(point == str(path) for point, _ in mounts()):
        raise ConfigError(
            f"{path} is mounted without the files beside it; mount its directory instead",
            url=str(path),
        )


def foreign_filesystem(path: Path) -> str | None:
    """The type of a file's or its directory's file system, if it is not known to be local.

    Both are checked, because a file can be mounted alone, and SQLite locks the file and keeps its
    journal beside it. Links are followed. None if both are local, and if the type is unknown.
    """
    real = Path(os.path.realpath(path))
    kinds = (filesystem_of(place) for place in (real, real.parent))
    return next((kind for kind in kinds if kind and kind not in LOCAL_FILESYSTEMS), None)


def require_local(path: Path, *, told: bool) -> None:
    """Raise ConfigError for a file on a file system that other hosts may also mount.

    told: whether the user says that it is local (``?local=yes``).
    """
    kind = None if told else foreign_filesystem(path)
    if kind:
        raise ConfigError(
            f"{path} is on a file system of type {kind}, which is not known to be local: on a "
            "network file system locks may not work, and IDs would repeat; put the file on a local "
            "disk, use a registry for several hosts (redis:, postgresql:, etcd:), or, if no other "
            "host mounts it, add ?local=yes",
            url=str(path),
            filesystem=kind,
        )


def leads_to(path: Path, fd: int) -> bool:
    """Whether a path still leads to an open file."""
    try:
        there = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return os.path.samestat(there, os.fstat(fd))


def boot_id() -> str:
    """The kernel's boot id, which changes when the host restarts; "" if it cannot be read."""
    with suppress(OSError), FileIO(_BOOT_ID) as file:
        return file.read(64).decode("ascii").strip()
    return ""
