"""The default file of this host: one for all its users, or one for each.

A user's programs keep state in the user's home, so a service and root's cron job that both use the
default have a file each, and each begins with node 0. Nobody can lay a common file in everybody's
reach but root, so one host is one user of it until root has made a folder for a group (``frazil
init --shared GROUP``). From then on the default of every user is there. Who may not write to it is
told so, and gets no file of his own.

A folder that everybody could write to would do as well as a group's, and would let any user of the
host make its IDs repeat. A sticky one (as /tmp) would not do: what one user's crash leaves behind,
another has to remove.
"""

import grp
import os
import pwd
import stat
from pathlib import Path

from frazil.errors import ConfigError
from frazil.registries.sqlite.files import state_home

__all__ = ["SHARED", "make_shared", "other_files", "state_folder", "users_folder"]

SHARED = Path("/var/lib/frazil-shared")
_MODE = 0o2770  # new files are the group's, whoever makes them
_FILE_MODE = 0o660


def users_folder() -> Path:
    """Where this user alone keeps claims."""
    return state_home() / "frazil"


def state_folder() -> Path:
    """Where claims are kept unless a path is named. Raises ConfigError if that may not be used."""
    try:
        found = SHARED.stat()
    except OSError:
        return users_folder()
    if not os.access(SHARED, os.R_OK | os.W_OK | os.X_OK, effective_ids=True):
        user, group = _name_of(os.geteuid()), _group_of(found.st_gid)
        raise ConfigError(
            f"all users of this host keep their claims in {SHARED}, and {user} may not write "
            f"there; with a file of its own it would repeat their IDs. Join group {group} "
            f"(usermod -aG {group} {user}, then log in again; in a unit of systemd "
            f"SupplementaryGroups={group} and ReadWritePaths={SHARED}), or name another registry "
            "(FRAZIL_URL)",
            url="sqlite:",
            group=group,
        )
    return SHARED


def make_shared(group: str) -> Path:
    """Make the folder for a group, or give it to another group; answers its path.

    Raises ConfigError for a group that is none, and for a user who is not root.
    """
    try:
        gid = grp.getgrnam(group).gr_gid
    except KeyError:
        raise ConfigError(
            f"there is no group {group!r}; make it (groupadd --system {group}) and put in it every "
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
            f"{error.filename or SHARED}: {error.strerror}; a folder for all users is root's to "
            f"make: sudo frazil init --shared {group}",
            group=group,
        ) from error
    return SHARED


def _give(path: Path, gid: int) -> None:
    """Make a file a group's; not what a member of it may have put there in place of a file."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
            raise ConfigError(f"{path} is no file of frazil's; remove it", url=str(path))
        os.fchown(fd, -1, gid)
        os.fchmod(fd, _FILE_MODE)
    finally:
        os.close(fd)


def other_files() -> list[tuple[str, Path]]:
    """Other users of this host who have claims in the file of their own, as far as one can see."""
    found = []
    for user in pwd.getpwall():
        path = Path(user.pw_dir, ".local", "state", "frazil", "claims.db")
        if user.pw_uid != os.geteuid() and _exists(path):
            found.append((user.pw_name, path))
    return found


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # may not be looked at
        return False


def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _group_of(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)
