"""In a child, the sockets of its parent's connections are dead; the parent's are not."""

import os
import socket
from pathlib import Path

from frazil.system.cut_sockets import cut_in_children


class Owner:
    """What a connection belongs to."""


def in_child(do):
    """What a forked child finds."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writing, repr(do()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as found:
        return found.read()


def test_a_read_in_the_child_finds_the_end():
    ours, theirs = socket.socketpair()
    owner = Owner()
    cut_in_children(owner, ours)
    with ours, theirs:
        theirs.sendall(b"for the parent")
        assert in_child(lambda: ours.recv(100)) == "b''"
        assert ours.recv(100) == b"for the parent"
        ours.sendall(b"and back")
        assert theirs.recv(100) == b"and back"


def test_only_while_its_owner_exists_and_it_is_open():
    ours, theirs = socket.socketpair()
    closed, other = socket.socketpair()
    owner, keeps = Owner(), Owner()
    cut_in_children(owner, ours)
    cut_in_children(keeps, closed)
    fd = closed.fileno()
    closed.close()
    del owner
    with ours, theirs, other, open(os.devnull, "rb") as file:  # noqa: PTH123 - takes the number
        assert file.fileno() == fd
        theirs.sendall(b"read")
        assert in_child(
            lambda: (ours.recv(100), str(Path(f"/proc/self/fd/{fd}").readlink()))
        ) == repr((b"read", os.devnull))
