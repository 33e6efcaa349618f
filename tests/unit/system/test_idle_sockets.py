"""Idle sockets: a connection on which something has arrived, or which has ended, is not quiet."""

import select
import socket

import pytest

from frazil.system.idle_sockets import is_quiet


@pytest.fixture(params=["poll", "select"])
def pair(request, monkeypatch):
    if request.param == "select":
        monkeypatch.delattr(select, "poll")
    one, other = socket.socketpair()
    with one, other:
        yield one, other


def test_an_open_connection_is_quiet(pair):
    one, other = pair
    other.sendall(b"x")
    assert one.recv(1) == b"x"
    assert is_quiet(one.fileno())


def test_one_with_a_message_is_not(pair):
    one, other = pair
    other.sendall(b"x")
    assert not is_quiet(one.fileno())


def test_one_that_was_ended_is_not(pair):
    one, other = pair
    other.close()
    assert not is_quiet(one.fileno())
    one.close()
    assert not is_quiet(one.fileno())
