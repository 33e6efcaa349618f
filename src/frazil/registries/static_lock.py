"""One owner of a static number on one host, by a lock that the kernel gives up with its process.

Nobody is asked for a static number, so two processes that have the same one would not meet. On one
host they can: each holds a small file in a directory that all users share, ``/dev/shm`` or ``/tmp``
(or the one that FRAZIL_LOCKS names), locked while it may have a claim. The file's name stands for
what must not be owned twice: the number, the namespace, and what the numbers mean. Its text says in
whose name it is held. For a number with a state file that is the file, so all processes that use it
hold together; for a number without one it is the process.

The lock is ``flock``'s: a POSIX lock would end when any part of the process closes the file. It
belongs to the open file, which forked children share, and a child must neither rely on it nor keep
it alive after its parent's end. So a child closes the file (after a fork made in C, when it asks).
The file itself stays: a process that comes back reads in it whether another was there meanwhile.

Other hosts, containers with a ``/dev/shm`` of their own, and hosts where no such file can be made
are not seen.
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
from frazil.system.process import ProcessIdentity

__all__ = ["Hold", "take", "this_process"]

_PLACES = ("/dev/shm", "/tmp")  # noqa: S108 - they are shared by all users, and so is the file
_NO_PLACE = {errno.ENOENT, errno.ENOTDIR, errno.EROFS, errno.EACCES, errno.EPERM}
_PATIENCE_S = 0.25  # a lock that is held to write the text, and not for long, is waited for
_LONGEST = 4096

_holds: "WeakSet[Hold]" = WeakSet()
_process = ProcessIdentity(), os.urandom(8).hex()


def this_process() -> str:
    """A name that no other process on any host has, a forked child neither."""
    global _process  # noqa: PLW0603 - one for the process
    if not _process[0].intact():
        _process = ProcessIdentity(), os.urandom(8).hex()
    return f"process {_process[1]}"


class Hold:
    """Something held in a name, until ``leave`` or until nobody refers to it. Made by ``take``.

    since: a text that changes when another name held it meanwhile; "" where this host cannot tell.
    """

    __slots__ = ("__weakref__", "_fd", "_path", "_sense", "since")

    def __init__(self, path: Path | None, fd: int, since: str) -> None:
        self._path = path
        self._fd = fd
        self._sense = ProcessIdentity()
        self.since = since
        _holds.add(self)

    def stands(self) -> bool:
        """Whether this process still holds it: there was no fork, and the file was not removed."""
        return self._sense.intact() and (self._path is None or leads_to(self._path, self._fd))

    def leave(self) -> None:
        """Give it up. In a forked child, leave it to the parent."""
        fd, self._fd = self._fd, -1
        if fd < 0:
            return
        if self._sense.intact():
            fcntl.flock(fd, fcntl.LOCK_UN)  # also for a child made in C, which has the file open
        os.close(fd)

    def __del__(self) -> None:
        self.leave()


def take(key: str, name: str, *, what: str, how: str) -> Hold:
    """Hold ``key`` in a name, together with all others who hold it in that name.

    what: the key in words. how: the name in words. Raises ConfigError if it is held in another.
    """
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        path = _file_of(key)
        if path is None:
            return Hold(None, -1, "")
        fd, said = _locked(path, name, how)
        if fd >= 0:
            return Hold(path, fd, said)
        if time.monotonic() > deadline:
            owner = said.split("\n")[-1] or "another"
            raise ConfigError(
                f"{what} is in use on this host by {owner}; here it is asked for {how}. Two owners "
                "of a number make the same IDs: give each a number of its own, let them share one "
                "state file (?state=/path/to/file), or use sqlite:, which gives numbers out",
                lock=str(path),
            )
        time.sleep(random.uniform(0.001, 0.005))  # noqa: S311 - so that two do not go in step


def _in_child() -> None:
    for hold in list(_holds):
        hold.leave()


os.register_at_fork(after_in_child=_in_child)


def _locked(path: Path, name: str, how: str) -> tuple[int, str]:
    """The locked file and its text; -1 and the text if it is locked in another name."""
    fd = _opened(path)
    said = ""
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        said = _text(fd)
        if said.split("\n")[0] != name:
            # Between two kinds of lock there may be none, so the text is read under the last.
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
    who = f"process {os.getpid()} of user {os.getuid()}, {how}".replace("\n", " ")
    text = f"{name}\n{os.urandom(8).hex()}\n{who}".encode("utf-8", "replace")
    os.ftruncate(fd, 0)
    os.pwrite(fd, text[:_LONGEST], 0)


def _file_of(key: str) -> Path | None:
    """The file of a key, made if it is missing; None where this host has no place for it."""
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
                f"{path}, by which owners of a number notice each other, cannot be made: "
                f"{error.strerror}; make room there, or set FRAZIL_LOCKS to a directory that all "
                "of them can write to",
                lock=str(path),
            ) from error
        return path
    return None


def _opened(path: Path) -> int:
    """The file, opened without making it, which other users' files in /tmp may not allow."""
    problem = "it is no file"
    try:
        fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
        if stat.S_ISREG(os.fstat(fd).st_mode):
            return fd
        os.close(fd)
    except OSError as error:
        problem = error.strerror or str(error)
    raise ConfigError(
        f"{path}, by which owners of a number notice each other, cannot be opened: {problem}; "
        "remove it, or ask its owner to",
        lock=str(path),
    )
