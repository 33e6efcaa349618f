"""Sockets that a forked child must not use: the connections of its parent.

A signal handler may fork while a call waits for a reply. In the child the same call then continues
to read from the same socket, so it takes a reply that its parent waits for, or half of it. A check
of the process cannot come in between, since the read is inside the operating system.

So the socket is cut off in the child, before anything else runs there: its file descriptor is made
one of a socket whose other end is closed. Each read of it returns the end of the stream, each write
fails, and the caller gets the error of a lost connection. To close the descriptor is not enough:
its number could be that of the child's next connection. The parent's connection is not affected.
"""

import os
import socket
from typing import Any
from weakref import WeakKeyDictionary

from frazil.system.at_fork import at_fork

__all__ = ["cut_in_children"]

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
