"""Sockets are dead in a child, end at their deadline, and are quiet while nothing has arrived."""

import os
import select
import socket
import threading
from pathlib import Path

import pytest

from frazil.system import sockets
from frazil.system.clock import boot_s
from frazil.system.sockets import cut_in_children, is_quiet, limited
from tests.tools.forks import found_in_child
from tests.tools.waiting import until


class Owner:
    """What a connection belongs to."""


def test_a_read_in_the_child_finds_the_end():
    ours, theirs = socket.socketpair()
    owner = Owner()
    cut_in_children(owner, ours)
    with ours, theirs:
        theirs.sendall(b"for the parent")
        assert found_in_child(lambda: ours.recv(100)) == "b''"
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
        assert found_in_child(
            lambda: (ours.recv(100), str(Path(f"/proc/self/fd/{fd}").readlink()))
        ) == repr((b"read", os.devnull))


class TestLimited:
    @pytest.fixture
    def pair(self):
        one, other = socket.socketpair()
        with one, other:
            yield one, other

    def test_a_wait_ends_at_the_deadline(self, pair):
        with limited(pair[0], boot_s() + 0.1):
            assert pair[0].recv(1) == b""

    def test_bytes_that_keep_coming_do_not_help(self, pair):
        one, other = pair
        over = threading.Event()

        def trickle():
            while not over.wait(0.01):
                try:
                    other.sendall(b"x")
                except OSError:
                    return

        threading.Thread(target=trickle, daemon=True).start()
        with limited(one, boot_s() + 0.2):
            while one.recv(1):
                pass
        over.set()

    def test_one_that_was_closed_meanwhile(self, pair):
        def closed():
            with limited(pair[0], boot_s()):
                pair[0].close()
                until(lambda: not sockets._watch.limits, "the deadline")
                raise ConnectionError

        with pytest.raises(TimeoutError, match="no answer in time"):
            closed()

    def test_a_child_has_a_thread_of_its_own(self, pair):
        def read():
            one, other = socket.socketpair()
            with one, other, limited(one, boot_s() + 0.1):
                return one.recv(1)

        with limited(pair[0], boot_s() + 60):
            assert found_in_child(read) == "b''"
        other = pair[1]
        other.sendall(b"x")
        assert pair[0].recv(1) == b"x"


@pytest.fixture(params=["poll", "select"])
def idle(request, monkeypatch):
    if request.param == "select":
        monkeypatch.delattr(select, "poll")
    one, other = socket.socketpair()
    with one, other:
        yield one, other


def test_one_that_was_ended_is_not(idle):
    one, other = idle
    other.close()
    assert not is_quiet(one.fileno())
    one.close()
    assert not is_quiet(one.fileno())
