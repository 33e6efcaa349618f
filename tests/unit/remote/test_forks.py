"""A fork while a call connects or reads a reply: connection and reply are for the parent alone.

To fork inside the read, the server is stopped. The parent's handler then sleeps, and the
server goes on: if the child can read from its parent's connection, it is the first to do so.
"""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack

import pytest

import frazil
from frazil import aio
from tests.servers.icicle import Caller
from tests.servers.redis import Server
from tests.tools.descriptors import descriptors_to
from tests.tools.forks import found_in_child
from tests.unit.service.conftest import Service

SYNC = """
ids = frazil.open(url, timeout=12)
ids.take(2)
stop_and_fork()
try:
    tell(ids.take(3))
    tell(ids.take(3))
except BaseException as error:
    tell(repr(error))
"""

ASYNC = """
async def main():
    async with frazil.aio.open(url, timeout=12) as ids:
        await ids.take(2)
        stop_and_fork()
        tell(await ids.take(3))
        tell(await ids.take(3))

import asyncio
# From Python 3.14 on, a task that waited at the fork waits for ever in the child.
os.register_at_fork(after_in_child=lambda: signal.alarm(10))
try:
    asyncio.run(main())
except BaseException as error:
    tell(repr(error))
"""

AROUND = """
import json, os, signal, sys, threading, time
import frazil, frazil.aio

url, server, parent = sys.argv[1], int(sys.argv[2]), os.getpid()

def tell(what):
    line = json.dumps(["parent" if os.getpid() == parent else "child", what])
    os.write(1, line.encode() + b"\\n")

def fork(*_):
    if os.fork():
        time.sleep(0.7)
    else:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)

def stop_and_fork():
    os.kill(server, signal.SIGSTOP)
    signal.signal(signal.SIGALRM, fork)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    threading.Timer(0.5, os.kill, (server, signal.SIGCONT)).start()
{body}
if os.getpid() != parent:
    os._exit(0)
os.wait()
"""


def told(body, url, pid):
    """What the parent and its child got."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", AROUND.format(body=body), url, str(pid)],
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
    finally:
        os.kill(pid, signal.SIGCONT)  # whatever became of the test
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return ([what for who, what in lines if who == name] for name in ("parent", "child"))


@pytest.fixture
def server():
    with Server() as server:
        Caller(server, "default").init(3)
        yield server


def test_a_thread(server):
    url = f"icicle://127.0.0.1:{server.port}?timeout=60s"
    parent, child = told(SYNC, url, server.pid)
    assert [len(ids) for ids in parent + child] == [3] * 4, (parent, child)
    assert len({n for ids in parent + child for n in ids}) == 12


@pytest.mark.parametrize("prefetch", ["", "?prefetch=64"])
@pytest.mark.parametrize("kind", ["icicle", "http"])
def test_a_fork_between_two_calls(server, tmp_path, kind, prefetch):
    """A child has neither its parent's connections nor its prefetched IDs."""
    with ExitStack() as stack:
        url = f"icicle://127.0.0.1:{server.port}"
        if kind == "http":
            url = f"{stack.enter_context(Service(tmp_path, CONFIG)).url}/a"
        ids = stack.enter_context(frazil.open(url + prefetch))
        ids()
        theirs = found_in_child(lambda: [ids() for _ in range(100)])
        ours = [ids() for _ in range(100)]
    assert len({*ours, *json.loads(theirs)}) == 200


def test_an_event_loop(server):
    """What becomes of the child, whose loop is its parent's, does not matter here."""
    url = f"icicle://127.0.0.1:{server.port}?timeout=60s"
    parent, _ = told(ASYNC, url, server.pid)
    assert [len(ids) for ids in parent] == [3] * 2, parent
    assert len({n for ids in parent for n in ids}) == 6


def read_in_child(fd):
    """What a child reads from a connection of its parent."""

    def read():
        os.set_blocking(fd, False)
        return os.read(fd, 1)

    return found_in_child(read)


CONFIG = '[namespaces.a]\nscheme = "icicle"\nregistry = "memory:?horizon=100ms"\n'


def test_a_service(tmp_path):
    async def awaited(url):
        others = descriptors_to(service.port)
        async with aio.open(url) as ids:
            await ids()
            (fd,) = set(descriptors_to(service.port)) - set(others)
            return read_in_child(fd), await ids()

    with Service(tmp_path, CONFIG) as service, frazil.open(f"{service.url}/a") as ids:
        ids()
        (fd,) = descriptors_to(service.port)
        assert read_in_child(fd) == "b''"
        assert isinstance(ids(), int)
        found, n = asyncio.run(awaited(f"{service.url}/a"))
        assert found == "b''"
        assert isinstance(n, int)


def test_a_child_makes_a_connection_of_its_own(tmp_path, monkeypatch):
    connect, pids, connections = socket.create_connection, [], []

    def forking(*where, **options):
        connected = connect(*where, **options)
        connections.append(connected)
        if not pids:
            pids.append(os.fork())
        return connected

    # http.client takes it when a connection is made.
    with Service(tmp_path, CONFIG) as service, frazil.open(f"{service.url}/a", timeout=5) as ids:
        monkeypatch.setattr(socket, "create_connection", forking)
        reading, writing = os.pipe()
        made = ids()
        if pids[0] == 0:
            os.write(writing, f"{made} {len(connections)}".encode())
            os._exit(0)
        os.waitpid(pids[0], 0)
        theirs, count = os.read(reading, 100).decode().split()
        os.close(reading)
        os.close(writing)
        ours = len(connections)
        metrics = service.client.get("/metrics").text
    assert int(theirs) != made
    assert (int(count), ours) == (2, 1)
    # The child sent nothing on its parent's connection.
    assert re.findall(r'(?m)^frazil_issued_total{namespace="a".* (\S+)$', metrics) == ["2.0"]
