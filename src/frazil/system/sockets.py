"""The sockets of connections: at a fork, at a deadline, and while they are idle.

*At a fork.* A signal handler may fork while a call waits for a reply. In the child the same call
then continues to read from the same socket, so it takes a reply that its parent waits for, or half
of it. A check of the process cannot come in between, since the read is inside the operating system.
So the socket is cut off in the child, before anything else runs there: its file descriptor is made
one of a socket whose other end is closed. Each read of it returns the end of the stream, each write
fails, and the caller gets the error of a lost connection. To close the descriptor is not enough:
its number could be that of the child's next connection. The parent's connection is not affected.

*At a deadline.* A driver limits the time of each read, so an answer that arrives byte by byte would
never end. So a thread shuts the socket down when the time for the whole answer is over. The read
then ends as if the server had ended the connection. What arrived before is still read, because this
process may have been stopped meanwhile. The thread sleeps until a deadline and ends when it finds
no call, so an idle process has none.

*While idle.* A server that ends an idle connection sends an end or a last message. The driver reads
it only after the next request, which then fails. So before a request, nothing should be there to
read.
"""

import os
import select
import socket
import time
from _thread import start_new_thread
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary

from frazil.system.clock import boot_s
from frazil.system.process import ProcessIdentity, at_fork

_sockets: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()


def cut_in_children(owner: object, connected: Any) -> None:
    """Have a socket cut off in each child that is forked while ``owner`` exists.

    connected: a socket, or what has ``fileno()`` as a socket has it: -1 after it was closed.
    """
    _sockets[owner] = connected


def _cut() -> None:
    open_fds = [fd for each in list(_sockets.values()) if (fd := each.fileno()) >= 0]
    _sockets.clear()
    if not open_fds:
        return
    dead, other_end = socket.socketpair()
    other_end.close()
    with dead:
        for fd in open_fds:
            os.dup2(dead.fileno(), fd, inheritable=False)


at_fork(after_in_child=_cut)


class _Watch:
    """The calls of a process that have a deadline, and when a thread looks at them.

    limits: the deadline of each call, and its socket. wakes: the moments at which a thread wakes.
    """

    def __init__(self) -> None:
        self.process = ProcessIdentity()
        self.limits: dict[object, tuple[float, Any]] = {}
        self.wakes: set[float] = set()

    def wake_at(self, until_s: float) -> None:
        """Have a thread look at the calls by then."""
        now_s = boot_s()
        for wakes_s in list(self.wakes):
            if now_s <= wakes_s <= until_s:
                return
        self.wakes.add(until_s)
        with suppress(RuntimeError):  # no thread: the interpreter is exiting
            start_new_thread(self._look, (until_s,))

    def _look(self, at_s: float) -> None:
        """Sleep until then; end the calls whose time is over."""
        time.sleep(max(at_s - boot_s(), 0.0))
        self.wakes.discard(at_s)  # first: a call that begins now starts another thread
        now_s = boot_s()
        for call, (until_s, wire) in list(self.limits.items()):
            if until_s <= now_s and self.limits.pop(call, None) is not None:
                _shut_down(wire)
        left = [until_s for until_s, _ in list(self.limits.values())]
        if left:
            self.wake_at(min(left))


_watch = _Watch()


class limited:  # noqa: N801 - used as a function
    """``with limited(wire, until_s):`` shut a socket down if the block still runs at ``until_s``.

    An error in the block is then a TimeoutError. wire: a socket, or what has ``fileno()``, which is
    asked for its number at that moment. until_s: by the boot clock.
    """

    __slots__ = ("_limits",)

    def __init__(self, wire: Any, until_s: float) -> None:
        global _watch  # noqa: PLW0603 - one for the process
        if not _watch.process.intact():
            _watch = _Watch()
        self._limits = _watch.limits
        self._limits[self] = until_s, wire
        _watch.wake_at(until_s)

    def __enter__(self) -> None:
        return

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if self._limits.pop(self, None) is None and isinstance(error, Exception):
            raise TimeoutError("no answer in time") from error


def _shut_down(wire: Any) -> None:
    with suppress(Exception):  # it was closed meanwhile
        copy = socket.fromfd(wire.fileno(), socket.AF_INET, socket.SOCK_STREAM)
        with copy:  # a copy, since TLS would forget that it is encrypted
            copy.shutdown(socket.SHUT_RDWR)


def is_quiet(descriptor: int) -> bool:
    """Whether a socket is open, and reading from it would wait."""
    if descriptor < 0:
        return False
    if not hasattr(select, "poll"):  # Windows
        return not select.select([descriptor], [], [], 0)[0]
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return not poll.poll(0)
