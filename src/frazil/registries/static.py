"""``static:7``: a fixed node number, from the configuration.

``static:7`` contains the number, ``static:env:POD_INDEX`` reads it from the environment, and
``static:hostname`` uses the number at the end of the host's name (``web-7``: a StatefulSet's
ordinal).

The usual generator with a fixed number starts at "now" with sequence 0, so it repeats IDs if it
restarts after the clock stepped back. Here the number is a pool of one slot in a state file, and
the usual verbs reserve every tick on disk before it is used. Several processes of one host with one
number and one state file share it. On the same host a second owner of the number, with another
state file or without one, is refused. Owners on two hosts are not detected.

The file is in the user's state directory, or at ``?state=PATH``. With ``?state=none`` there is no
file: then only one process at a time may have the number, every start waits one horizon, and a
clock that steps back between two starts causes repeats.

**One owner on one host.** Each owner locks a small file in a directory that all users share,
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
import re
import socket
import stat
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from weakref import WeakSet

from frazil.claims.record import Record
from frazil.errors import ConfigError
from frazil.inputs.masking import masked
from frazil.inputs.url import Options, Url
from frazil.registries.base import Answer, RecordRegistry
from frazil.registries.memory import MemoryRegistry
from frazil.registries.sqlite.default_file import prepare_folder, state_folder
from frazil.registries.sqlite.files import leads_to, make_file
from frazil.registries.sqlite.registry import SqliteRegistry
from frazil.schemes.scheme import Scheme
from frazil.system.chance import jitter
from frazil.system.clock import boot_s
from frazil.system.process import ProcessIdentity, at_fork
from frazil.system.uninterrupted import apart

_PLACES = ("/dev/shm", "/tmp")  # noqa: S108 - all users share them, and the file
_NO_PLACE = {errno.ENOENT, errno.ENOTDIR, errno.EROFS, errno.EACCES, errno.EPERM}
_PATIENCE_S = 0.25  # the lock may be held briefly to write the text
_LONGEST = 4096

_holds: "WeakSet[Hold]" = WeakSet()
_process = ProcessIdentity(), os.urandom(8).hex()


class OwnedRegistry(RecordRegistry):
    """A registry of one number, locked on this host from the first verb until ``close``."""

    _hold: "Hold | None" = None

    @abstractmethod
    def owner(self) -> tuple[str, str]:
        """The owner of the number: an identity, and a description for messages."""

    def perform(self, verb: Callable[[Record, int, str], Answer]) -> Answer:
        return apart(lambda: self._perform(verb))

    def _perform(self, verb: Callable[[Record, int, str], Answer]) -> Answer:
        if self._hold is None or not self._hold.stands():
            self._hold = None  # released first, so that it does not block itself
            name, how = self.owner()
            slot = self.terms.slots.start
            self._hold = take(
                f"{self.terms.identity} {slot % self.terms.nodes} {self.namespace}",
                name,
                what=f"node number {slot % self.terms.nodes} of namespace {self.namespace!r}",
                how=how,
            )
        return super().perform(verb)

    def close(self) -> None:
        self._hold = None


class StaticRegistry(OwnedRegistry, SqliteRegistry):
    """One node number, its state in a file.

    Options: ``?state=``, ``?horizon=``, ``?busy=``, ``?local=yes``.
    """

    advice = (
        "or name another file: ?state=/path/to/file; with ?state=none there is no file, but only "
        "one process at a time may have the number, every start waits one horizon, and IDs repeat "
        "if the clock goes back between two starts"
    )

    def _place(self, url: Url, options: Options) -> tuple[int | None, Path]:
        node = node_number(url.body)
        state = options.text("state")
        return node, Path(state) if state else state_folder() / f"static-{node}.db"

    def owner(self) -> tuple[str, str]:
        """See OwnedRegistry. The directory and the name: the file may be replaced."""
        where = str(self.path.parent)
        with suppress(OSError):  # the step raises the error
            prepare_folder(self.path.parent)
            found = self.path.parent.stat()
            where = f"{found.st_dev:x}:{found.st_ino:x}"
        return f"file {where} {self.path.name!r}", f"with the state file {self.path}"

    @contextmanager
    def step(self) -> Iterator[tuple[Record, str]]:
        with super().step() as (record, incarnation):
            since = self._hold.since.split("\n")[1:2] if self._hold else []
            yield record, f"{incarnation}:{''.join(since)}"


class StatelessRegistry(OwnedRegistry, MemoryRegistry):
    """One node number without a file. Options: ``?state=none``, ``?horizon=``."""

    lives_longer = True  # the last owner's claims may reach into this process's time

    def _place(self, url: Url, options: Options) -> tuple[int | None, str]:
        options.text("state")
        node = node_number(url.body)
        return node, f"static:{node}"  # independent of how the URL spells the number

    def owner(self) -> tuple[str, str]:
        return this_process(), "without a state file"

    @contextmanager
    def step(self) -> Iterator[tuple[Record, str]]:
        with super().step() as (record, _):
            yield record, f"memory/{self._hold.since if self._hold else ''}"


def connect_static(url: Url, namespace: str, scheme: Scheme) -> RecordRegistry:
    """The registry of a static number: a file, or this process's memory for ``?state=none``."""
    if dict(url.query).get("state") == "none":
        return StatelessRegistry(url, namespace, scheme)
    return StaticRegistry(url, namespace, scheme)


def node_number(text: str) -> int:
    """Resolve ``7``, ``env:NAME`` or ``hostname`` to a number. Raises ConfigError."""
    kind, _, name = text.partition(":")
    if kind == "env":
        found = os.environ.get(name, "")
        was = f"is {found!r}" if name in os.environ else "is not set"
        source = f"environment variable {name} {was}; set it, like: export {name}=7"
    elif kind == "hostname":
        host = socket.gethostname().partition(".")[0]
        match = re.search(r"([0-9]+)$", host)
        found = match[1] if match else ""
        source = (
            f"host name {host!r} does not end in a number; use static:7 or static:env:NAME, or a "
            f"host name like {host}-7"
        )
    else:
        found = masked(text)
        source = f"static:{found}; use static:7, static:env:NAME or static:hostname"
    if not re.fullmatch(r"[0-9]{1,20}", found):
        raise ConfigError(f"no node number: {source}", value=found)
    return int(found)


# --- the lock of a number


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
        time.sleep(jitter(0.001, 0.005))


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
