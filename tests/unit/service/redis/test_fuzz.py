"""The Redis endpoint of a running service with invalid input."""

import contextlib
import random
import socket

import pytest

from frazil.service.redis.commands import IDS_MOST
from tests.unit.service.conftest import Service, rest_of
from tests.unit.service.redis.test_commands import CONFIG

MORE_MOST = 48 << 20
COUNT = 400  # connections
NAMES = [b"INCR", b"INCRBY", b"FRAZIL.ID", b"FRAZIL.IDS", b"FRAZIL.INSPECT", b"PING", b"AUTH"]
WORDS = [*NAMES, b"HELLO", b"QUIT", b"SETNAME", b"a", b"t", b"s", b"3", b"100", b"", b"$-1"]
WORDS += [b"\xff\x00\r\n"]


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with Service(tmp_path_factory.mktemp("service"), CONFIG) as service:
        # What the first use needs is no growth.
        service.said(b"FRAZIL.IDS a %d\r\nQUIT\r\n" % IDS_MOST, port=service.resp)
        yield service


def command(dice):
    """Return a command as a client sends it, mostly a known one."""
    words = [dice.choice(WORDS) for _ in range(dice.randint(1, 4))]
    if not dice.randrange(4):
        return b" ".join(words) + b"\r\n"
    return b"*%d\r\n%b" % (len(words), b"".join(b"$%d\r\n%b\r\n" % (len(w), w) for w in words))


def changed(dice):
    """Return commands with a few bytes changed, removed, doubled, or moved."""
    data = bytearray(b"".join(command(dice) for _ in range(dice.randint(1, 5))))
    for _ in range(dice.randint(1, 4)):
        at, end = sorted(dice.randrange(len(data) + 1) for _ in range(2))
        data[at : dice.choice([at, at + 1, end])] = dice.choice(
            [b"", dice.randbytes(2), b"\r\n", b"*", b"$", bytes(data[at:end]) * 2]
        )
        data += b"\r\n"
    return bytes(data)


KINDS = {
    "bytes at random": lambda dice: dice.randbytes(dice.randint(1, 3_000)),
    "commands changed": changed,
}


def still_well(service, before):
    """Check that the service answers, and that its memory has not grown."""
    well = service.said(b"PING\r\nFRAZIL.ID a\r\nQUIT\r\n", port=service.resp)
    assert well.startswith(b"+PONG\r\n$19\r\n")
    assert service.process.poll() is None
    assert service.resident - before < MORE_MOST
    assert service.other_lines == []
    assert [one for one in service.lines if one["level"] in {"error", "critical"}] == []


@pytest.mark.parametrize("kind", KINDS)
def test_any_input_leaves_the_service_running(service, kind):
    dice, before = random.Random(kind), service.resident
    for _ in range(COUNT):
        with service.dialled(service.resp) as one, contextlib.suppress(OSError):
            one.sendall(KINDS[kind](dice))
            one.shutdown(socket.SHUT_WR)
            rest_of(one)
    still_well(service, before)


@pytest.mark.parametrize(
    "begin",
    [
        b"*1\r\n$1000000000\r\n",
        b"*1000000000\r\n",
        b"*-1000000000\r\n",
        b"*" + b"1" * 20,
        b"",
        b"*16\r\n$1024\r\n" + b"x" * 1024 + b"\r\n$",
    ],
    ids=lambda begin: repr(begin[:20]),
)
def test_an_endless_answer_is_cut_off(service, begin):
    """100 MB of a string, an array or a number: a connection holds at most one command."""
    before = service.resident
    with service.dialled(service.resp) as one, contextlib.suppress(OSError):
        one.sendall(begin)
        for _ in range(100):
            one.sendall(b"7" * (1 << 20))
        pytest.fail("all of it was taken")
    still_well(service, before)


def test_many_at_once_with_a_command_that_does_not_end(service):
    """400 connections send the largest command except its last byte, in pieces."""
    before = service.resident
    data = b"*16\r\n" + b"$1024\r\n%b\r\n" % (b"x" * 1024) * 16
    with contextlib.ExitStack() as stack:
        wires = [stack.enter_context(service.dialled(service.resp)) for _ in range(COUNT)]
        for at in range(0, len(data) - 1, 1500):
            for one in wires:
                one.sendall(data[at : min(at + 1500, len(data) - 11)])
        for at in range(len(data) - 11, len(data) - 1):
            for one in wires:
                one.sendall(data[at : at + 1])
        still_well(service, before)
        for one in wires:
            one.sendall(data[-1:])
            assert one.recv(100).startswith(b"-ERR unknown command")
    still_well(service, before)
