"""A fork while a call connects to a service: the child does not use its parent's connection."""

import os
import re
import socket

import frazil
from tests.unit.service.conftest import Service

CONFIG = '[namespaces.a]\nregistry = "memory:"\n'


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
