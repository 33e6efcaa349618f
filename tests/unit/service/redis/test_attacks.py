"""Connections of the Redis endpoint that send thousands of tiny commands, or read no reply.

Server and clients of the first tests share an event loop. So how much one client has got when
another gets its answer depends on the order of the server's work, and not on the machine.
"""

import asyncio
import contextlib
import re
import socket

import pytest

from frazil.generator.request import make_request
from frazil.service.redis.commands import IDS_MOST
from frazil.service.redis.server import RespServer
from frazil.service.settings import Settings
from frazil.service.state import State
from tests.unit.service.conftest import Service
from tests.unit.service.redis.test_commands import CONFIG

INCR = b"*2\r\n$4\r\nINCR\r\n$1\r\na\r\n"
END = b"$3\r\nend\r\n"
TINY = [b"PING\r\n", b"\r\n", b"*0\r\n", b"*1\r\n$4\r\nPING\r\n", b"GET a\r\n", b"INCR a\r\n"]


async def connected(server, count):
    """Return clients of a server, all accepted."""
    loop, clients = asyncio.get_running_loop(), []
    for _ in range(count):
        one = socket.socket()
        one.setblocking(False)
        await loop.sock_connect(one, server._listener.getsockname())
        await loop.sock_sendall(one, b"PING\r\n")
        assert await loop.sock_recv(one, 100) == b"+PONG\r\n"
        clients.append(one)
    return clients


def is_done(client):
    """Return whether the answer to the last command has come."""
    got = b""
    with contextlib.suppress(BlockingIOError):
        got = client.recv(1 << 20)
    return got.endswith(END)


async def attacked(tiny, attackers, trips):
    """Return how many attackers were answered completely while a client made some round trips."""
    state = State(Settings((make_request("memory:?horizon=100ms", namespace="a"),)))
    loop = asyncio.get_running_loop()
    server = RespServer(state, socket.create_server(("127.0.0.1", 0)))
    polite, *others = await connected(server, attackers + 1)
    for one in others:
        one.send(tiny * (60_000 // len(tiny)) + b"PING end\r\n")
    for _ in range(trips):
        await loop.sock_sendall(polite, b"PING\r\n")
        assert await loop.sock_recv(polite, 100) == b"+PONG\r\n"
    done = sum(map(is_done, others))
    await server.stop()
    await state.close()
    for one in (polite, *others):
        one.close()
    return done


@pytest.mark.parametrize("tiny", TINY)
def test_a_flood_of_tiny_commands_leaves_room_for_others(tiny):
    assert asyncio.run(attacked(tiny, 1, 1)) == 0


def test_many_floods_are_together_no_more_than_one():
    assert asyncio.run(attacked(b"PING\r\n", 40, 20)) <= 20


async def unread(packets):
    """Return how many bytes wait for a client that sends a command a packet and reads no reply."""
    state = State(Settings((make_request("memory:?horizon=100ms", namespace="a"),)))
    loop = asyncio.get_running_loop()
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)
    server = RespServer(state, listener)
    client = socket.socket()
    client.setblocking(False)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    await loop.sock_connect(client, listener.getsockname())
    await loop.sock_sendall(client, INCR)
    assert (await loop.sock_recv(client, 100)).startswith(b"$19\r\n")
    (connection,) = server._open
    waiting = 0
    for _ in range(packets):
        before = waiting
        with contextlib.suppress(BlockingIOError):
            client.send(INCR)
        for _ in range(20):  # so that the server reads each packet on its own
            if waiting == before:
                await asyncio.sleep(0)
                waiting = connection._transport.get_write_buffer_size()
    await server.stop()
    await state.close()
    client.close()
    return waiting


def test_one_command_a_packet_and_no_reply_read():
    assert asyncio.run(unread(3_000)) < 40_000  # of 75,000


def test_memory_of_unread_replies(tmp_path):
    """Each client asks for 5 MB and has room for little."""
    with Service(tmp_path, CONFIG) as service, contextlib.ExitStack() as stack:
        # A first use is no growth.
        service.said(b"FRAZIL.IDS a %d\r\nQUIT\r\n" % IDS_MOST, port=service.resp)
        before = service.resident
        for _ in range(200):
            one = stack.enter_context(socket.socket())
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            one.connect(("127.0.0.1", service.resp))
            one.sendall(b"FRAZIL.IDS a %d\r\n" % IDS_MOST * 20)
        issued = [0, 1]
        while issued[-1] != issued[-2]:  # until nobody goes on
            text = service.client.get("/metrics").text
            (count,) = re.findall(
                r'^frazil_issued_total\{namespace="a".* (\S+)$', text, re.MULTILINE
            )
            issued.append(float(count))
        assert service.resident - before < 24 << 20
