"""Where state is kept on this host, and what can be said of the place.

A file's path says little: another file may lie there a moment later, the host may have restarted,
and the disk may be on another host, where file locks do not hold. These are the questions that a
registry in a file asks about it.
"""

import contextlib
import os
import sys
from pathlib import Path

from frazil.errors import ConfigError
from frazil.system.mounts import filesystem_of, mounts

__all__ = [
    "LOCAL_FILESYSTEMS",
    "boot_id",
    "file_id",
    "foreign_filesystem",
    "leads_to",
    "make_file",
    "make_folder",
    "require_folder",
    "require_local",
    "state_home",
    "sync_folder",
]

LOCAL_FILESYSTEMS = frozenset(
    {"affs", "apfs", "aufs", "bcachefs", "btrfs", "cramfs", "ecryptfs", "erofs", "exfat", "ext2"}
    | {"ext3", "ext4", "f2fs", "fuse.fuse-overlayfs", "fuseblk", "hfs", "hfsplus", "iso9660"}
    | {"jffs2", "jfs", "minix", "msdos", "nilfs2", "ntfs", "ntfs3", "overlay", "overlayfs"}
    | {"ramfs", "reiser4", "reiserfs", "rootfs", "squashfs", "tmpfs", "ubifs", "udf", "ufs"}
    | {"vfat", "xfs", "zfs"}
)
"""Those that one kernel mounts at a time, so that its file locks hold for all who have the file.

The list is of what is known to be safe: names of network file systems are without end, and with
FUSE anybody can make one.
"""

_BOOT_ID = "/proc/sys/kernel/random/boot_id"


def state_home() -> Path:
    """Where this user's programs keep state, by the platform's convention."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    told = Path(os.environ.get("XDG_STATE_HOME", ""))
    return told if told.is_absolute() else Path.home() / ".local" / "state"


def make_folder(path: Path) -> None:
    """Make a folder, and those above it, for this user alone; a power cut does not undo it."""
    missing = [each for each in (path, *path.parents) if not each.exists()]
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    for each in missing:
        sync_folder(each.parent)


def sync_folder(path: Path) -> None:
    """Have what was made in a folder still be there after a power cut."""
    folder = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def make_file(path: Path, mode: int) -> None:
    """Make an empty file if there is none, with these permissions, whatever the umask says.

    Nobody sees it before it has them.
    """
    if path.exists():
        return
    draft = path.with_name(f"{path.name}.{os.urandom(8).hex()}")
    fd = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.fchmod(fd, mode)
        with contextlib.suppress(FileExistsError):
            path.hardlink_to(draft)
    finally:
        os.close(fd)
        draft.unlink()


def require_folder(path: Path) -> None:
    """ConfigError for a file that is mounted by itself, as into a container.

    SQLite keeps a log beside the file. Whoever has the file under another name has another log.
    """
    if any(point == str(path) for point, _ in mounts()):
        raise ConfigError(
            f"{path} is mounted by itself, without the files beside it; mount its folder instead",
            url=str(path),
        )


def foreign_filesystem(path: Path) -> str | None:
    """The type of the file system of a file, or of its directory, that is not known to be local.

    Both are asked about, since one file can be mounted by itself, and SQLite locks the file and
    keeps its journal beside it. Of a link only what it leads to counts. None if both are local, and
    where the operating system does not tell.
    """
    real = Path(os.path.realpath(path))
    kinds = (filesystem_of(place) for place in (real, real.parent))
    return next((kind for kind in kinds if kind and kind not in LOCAL_FILESYSTEMS), None)


def require_local(path: Path, *, told: bool) -> None:
    """ConfigError for a file on a file system that other hosts may have mounted as well.

    told: whether a person says that it is local (``?local=yes``).
    """
    kind = None if told else foreign_filesystem(path)
    if kind:
        raise ConfigError(
            f"{path} lies on a file system of type {kind}, which is not known to be this host's "
            "alone: on a network file system locks do not hold between hosts, and IDs would "
            "repeat; put the file on a local disk, use a registry for several hosts (redis:, "
            "postgresql:, etcd:), or, if no other host mounts it, add ?local=yes",
            url=str(path),
            filesystem=kind,
        )


def leads_to(path: Path, fd: int) -> bool:
    """Whether a path leads to an open file, and not to another one by now, or to none."""
    try:
        there = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return os.path.samestat(there, os.fstat(fd))


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
        file = os.open(_BOOT_ID, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(file, 64).decode("ascii").strip()
    finally:
        os.close(file)
