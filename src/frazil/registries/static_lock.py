"""One owner of a static number on one host, by a lock that the kernel releases with its process.

A static number needs no registry, so two processes with the same number would not notice each
other. On one host they can: each locks a small file in a directory that all users share,
``/dev/shm`` or ``/tmp`` (or FRAZIL_LOCKS), while it may have a claim. The file's name stands for
what may have one owner: the number, the namespace, and the layout. Its text names the owner. With a
state file the owner is that file, so all processes that use it share the lock; without one the
owner is the process.

The lock is an ``flock``: a POSIX lock would end when any part of the process closes the file. It
belongs to the open file, which forked children share. A child must not rely on it, nor keep it
after its parent's end, so a child closes the file (after a fork made in C, at its next verb). The
file itself remains: it tells a returning process whether there was another owner meanwhile.

Owners are not detected on other hosts, in containers with their own ``/dev/shm``, and on hosts
where no such file can be created.
"""

import errno
import fcntl
import os
import random
import stat
import time
from hashlib import sha256
from pathlib import Path
from weakref import WeakSet

from frazil.errors import ConfigError
from frazil.registries.sqlite.files import leads_to, make_file
from frazil.system.clock import boot_s
from frazil.system.process import ProcessIdentity, at_fork

_PLACES = ("/dev/shm", "/tmp")  # noqa: S108 - all users share them, and the file
_NO_PLACE = {errno.ENOENT, errno.ENOTDIR, errno.EROFS, errno.EACCES, errno.EPERM}
_PATIENCE_S = 0.25  # the lock may be held briefly to write the text
_LONGEST = 4096

_holds: "WeakSet[Hold]" = WeakSet()
_process = ProcessIdentity(), os.urandom(8).hex()


def this_process() -> str:
    """A unique name of this process; a forked child gets its own."""
    global _process  # noqa: PLW0603 - one for the process
    if not _process[0].intact():
        _process = ProcessIdentity(), os.urandom(8).hex()
    return f"process {_process[1]}"


class Hold:
    """A lock in an owner's name, until ``leave`` or collection. Created by ``take``.

    since: a text that changes when another owner had it meanwhile; "" if this host cannot tell.
    """

    __slots__ = ("__weakref__", "_fd", "_owner", "_path", "since")

    def __init__(self, path: Path | None, fd: int, since: str) -> None:
        self._path = path
        self._fd = fd
        self._owner = ProcessIdentity()
        self.since = since
        _holds.add(self)

    def stands(self) -> bool:
        """Whether this process still holds it: no fork, and the file still exists."""
        return self._owner.intact() and (self._path is None or leads_to(self._path, self._fd))

    def leave(self) -> None:
        """Release it. In a forked child, leave it to the parent."""
        fd, self._fd = self._fd, -1
        if fd < 0:
            return
        if self._owner.intact():
            fcntl.flock(fd, fcntl.LOCK_UN)  # also for a child forked in C, which has the file open
        os.close(fd)

    def __del__(self) -> None:
        self.leave()


def take(key: str, name: str, *, what: str, how: str) -> Hold:
    """Lock ``key`` in an owner's name; processes with the same name share the lock.

    what, how: descriptions of the key and the owner. Raises ConfigError if another owner has it.
    """
    deadline = boot_s() + _PATIENCE_S
    while True:
        path = _file_of(key)
        if path is None:
            return Hold(None, -1, "")
        fd, said = _locked(path, name, how)
        if fd >= 0:
            return Hold(path, fd, said)
        if boot_s() > deadline:
            owner = said.split("\n")[-1] or "another process"
            raise ConfigError(
                f"{what} is in use on this host by {owner}; this process requests it {how}. Two "
                "owners of a number make the same IDs: give each its own number, let them share "
                "one state file (?state=/path/to/file), or use sqlite:, which assigns numbers",
                lock=str(path),
            )
        time.sleep(random.uniform(0.001, 0.005))  # noqa: S311 - jitter


def _in_child() -> None:
    for hold in list(_holds):
        hold.leave()


at_fork(after_in_child=_in_child)


def _locked(path: Path, name: str, how: str) -> tuple[int, str]:
    """The locked file and its text; -1 and the text if another owner has it."""
    fd = _opened(path)
    said = ""
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        said = _text(fd)
        if said.split("\n")[0] != name:
            # Changing the lock may release it for a moment, so read the text again.
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _write(fd, name, how)
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
            said = _text(fd)
        if said.split("\n")[0] == name and leads_to(path, fd):
            return fd, said
    except BlockingIOError:
        said = said or _text(fd)
    except BaseException:
        os.close(fd)
        raise
    os.close(fd)
    return -1, said


def _text(fd: int) -> str:
    return os.pread(fd, _LONGEST, 0).decode("utf-8", "replace")


def _write(fd: int, name: str, how: str) -> None:
    owner = f"process {os.getpid()} of user {os.getuid()}, {how}".replace("\n", " ")
    text = f"{name}\n{os.urandom(8).hex()}\n{owner}".encode("utf-8", "replace")
    os.ftruncate(fd, 0)
    os.pwrite(fd, text[:_LONGEST], 0)


def _file_of(key: str) -> Path | None:
    """The file of a key, created if it is missing; None if this host has no place for it."""
    name = f"frazil-{sha256(key.encode('utf-8', 'surrogateescape')).hexdigest()[:24]}.lock"
    told = os.environ.get("FRAZIL_LOCKS")
    for place in (told,) if told else _PLACES:
        path = Path(place, name)
        try:
            make_file(path, 0o666)  # for every user to lock
        except OSError as error:
            if not told and error.errno in _NO_PLACE:
                continue
            raise ConfigError(
                f"{path}, the lock file of a static number, cannot be created: {error.strerror}; "
                "free some space, or set FRAZIL_LOCKS to a directory that all its owners can write",
                lock=str(path),
            ) from error
        return path
    return None


def _opened(path: Path) -> int:
    """Open the file without O_CREAT, which fails for other users' files in /tmp."""
    problem = "it is not a file"
    try:
        fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
        if stat.S_ISREG(os.fstat(fd).st_mode):
            return fd
        os.close(fd)
    except OSError as error:
        problem = error.strerror or str(error)
    raise ConfigError(
        f"{path}, the lock file of a static number, cannot be opened: {problem}; remove it, or ask "
        "its owner to",
        lock=str(path),
    )
