"""The default file of this host: one for all its users, or one for each.

A user's programs keep state in the user's home, so a service and root's cron job that both use the
default have two files, and both begin with node 0. Only root can create a file that every user may
use. So the default serves one user until root creates a directory for a group (``frazil init
--shared GROUP``). After that it is the default of every user; a user who may not write there gets
an error, and no file of their own.

A directory that every user may write to would let any user of the host make IDs repeat. A sticky
directory (such as /tmp) does not work: other users must remove the files of a crashed process.
"""

import grp
import os
import pwd
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from frazil.errors import ConfigError
from frazil.registries.sqlite.files import make_folder, state_home

SHARED = Path("/var/lib/frazil-shared")
CREATE_IT = "mount its disk, or check the path, or create it for new claims: mkdir -p"
"""The next steps for a directory that does not exist, before its path."""

_MODE = 0o2770  # new files belong to the group
_FILE_MODE = 0o660


def users_folder() -> Path:
    """The directory for the claims of this user alone."""
    return state_home() / "frazil"


def state_folder() -> Path:
    """The default directory for claims. Raises ConfigError if this user may not use it."""
    try:
        found = SHARED.stat()
    except OSError:
        return users_folder()
    if not os.access(SHARED, os.R_OK | os.W_OK | os.X_OK, effective_ids=True):
        user = _name_of(pwd.getpwuid, os.geteuid())
        group = _name_of(grp.getgrgid, found.st_gid)
        raise ConfigError(
            f"all users of this host keep their claims in {SHARED}, and {user} may not write "
            f"there; with its own file {user} would repeat their IDs; join group {group} "
            f"(usermod -aG {group} {user}, then log in again; in a systemd unit "
            f"SupplementaryGroups={group} and ReadWritePaths={SHARED}), or name another registry "
            "(FRAZIL_URL)",
            url="sqlite:",
            group=group,
        )
    return SHARED


def prepare_folder(path: Path) -> None:
    """Create this user's default directory. Any other one must exist, or ConfigError is raised."""
    missing = missing_folder(path)
    if missing:
        raise ConfigError(f"{missing}; {CREATE_IT} {path}", url=str(path))
    if not path.exists():
        make_folder(path)


def missing_folder(path: Path) -> str:
    """What is wrong if a directory does not exist that frazil may not create; else "".

    A directory that a URL names may be the mount point of a disk that is not mounted, or mistyped.
    If it were created, its claims would be new ones beside those that are in use.
    """
    if path.exists() or str(path) == os.path.realpath(users_folder()):
        return ""
    return f"the directory {path} does not exist"


def make_shared(group: str) -> Path:
    """Create the directory for a group, or give it to another group. Returns its path.

    Raises ConfigError for an unknown group, and for a user who is not root.
    """
    try:
        gid = grp.getgrnam(group).gr_gid
    except KeyError:
        raise ConfigError(
            f"there is no group {group!r}; create it (groupadd --system {group}) and add every "
            "user whose programs make IDs",
            group=group,
        ) from None
    try:
        SHARED.mkdir(mode=0o700, exist_ok=True)
        for path in SHARED.iterdir():
            _give(path, gid)
        os.chown(SHARED, -1, gid)
        SHARED.chmod(_MODE)
    except OSError as error:
        raise ConfigError(
            f"{error.filename or SHARED}: {error.strerror}; only root can create a directory for "
            f"all users: sudo frazil init --shared {group}",
            group=group,
        ) from error
    return SHARED


def _give(path: Path, gid: int) -> None:
    """Give a file to a group; refuse links and special files, which a member may have put there."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
            raise ConfigError(f"{path} is not a file of frazil; remove it", url=str(path))
        os.fchown(fd, -1, gid)
        os.fchmod(fd, _FILE_MODE)
    finally:
        os.close(fd)


def other_files() -> list[tuple[str, Path]]:
    """Other users of this host with their own file of claims, as far as this user can see."""
    found = []
    for user in pwd.getpwall():
        path = Path(user.pw_dir, ".local", "state", "frazil", "claims.db")
        if user.pw_uid != os.geteuid() and os.access(path, os.F_OK):
            found.append((user.pw_name, path))
    return found


def _name_of(entry: Callable[[int], Any], number: int) -> str:
    """The name of a user or a group, by its number."""
    try:
        return str(entry(number)[0])
    except KeyError:
        return str(number)
