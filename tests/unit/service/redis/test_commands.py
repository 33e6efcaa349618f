"""The Redis endpoint: real clients, pipelines, refused commands, bounded memory."""

import json
import re
import signal

import pytest
import redis

from frazil.service.redis.commands import IDS_MOST
from tests.unit.service.conftest import rest_of, token

CONFIG = """
[server]
resp_port = 0
[namespaces.a]
registry = "memory:"
[namespaces.t]
scheme = "tsid"
registry = "memory:"
[namespaces.s]
scheme = "sonyflake"
registry = "memory:"
"""


@pytest.fixture(params=[2, 3])
def client(service, request):
    with redis.Redis(
        port=service.resp, protocol=request.param, decode_responses=True, socket_timeout=20
    ) as client:
        yield client


def test_pipelined_across_waits_stays_in_order(client):
    """sonyflake has 256 IDs in 10 ms, so many of these wait, and those between do not."""
    with client.pipeline(transaction=False) as pipe:
        for _ in range(1_000):
            pipe.incr("s").execute_command("FRAZIL.ID", "a")
        answers = pipe.execute()
    for ids in (answers[::2], answers[1::2]):
        assert ids == sorted(set(ids), key=int)


def test_inspect(client):
    text = client.execute_command("FRAZIL.ID", "t")
    facts = json.loads(client.execute_command("FRAZIL.INSPECT", "t", text))
    assert (facts["namespace"], facts["scheme"], facts["id"]) == ("t", "tsid", text)
    with pytest.raises(redis.ResponseError, match="not the base32 text"):
        client.execute_command("FRAZIL.INSPECT", "t", "!")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("GET", "a"), "unknown command 'GET'; known commands: AUTH,.*, PING, QUIT"),
        (("X" * 900, "a"), "unknown command 'X{40}'; known"),
        (("ECHO",), "ECHO text"),
        (("SELECT", "a"), "SELECT 0"),
        (("CLIENT", "TRACKING", "ON"), "CLIENT SETNAME"),
        (("GET", "a"), "DISCARD, ECHO, EXEC, FRAZIL.ID,"),
        (("EXEC",), "^EXEC without MULTI"),
        (("discard",), "^DISCARD without MULTI"),
        (("HELLO", "3", "SETNAME"), "AUTH user token SETNAME name"),
        (("INCR",), "INCR ns"),
        (("INCR", "a", "b"), "increment must be 1"),
        (("INCRBY", "a", "2"), "increment must be 1"),
        (("INCR", "a", "1", "1"), "INCR ns"),
        (("INCR", "nope"), r"'nope' is served here; those served: a, s, t.*\[namespaces\] in the"),
        (("INCR", b"\xff\r\n"), "no namespace '.*' is served"),
        (("FRAZIL.IDS", "a"), "FRAZIL.IDS ns n"),
        (("FRAZIL.IDS", "a", "0"), "whole number"),
        (("FRAZIL.IDS", "a", str(IDS_MOST + 1)), "whole number"),
        (("FRAZIL.IDS", "a", "-1"), "whole number"),
        (("FRAZIL.IDS", "a", b"\xb2"), "whole number"),
        (("PING", "a", "b"), "PING text"),
        (("AUTH",), "AUTH token"),
        (("HELLO", "4"), "must be 2 or 3"),
    ],
)
def test_wrong_commands(client, command, message):
    with pytest.raises(redis.RedisError, match=message):
        client.execute_command(*command)
    assert client.ping()


def test_lines_as_people_type_them(service):
    lines = b"PING\r\n\r\nping  hello\nINCR a\r\nQUIT\r\nPING\r\n"
    answer = service.said(lines, port=service.resp)
    assert re.fullmatch(rb"\+PONG\r\n\$5\r\nhello\r\n\$19\r\n\d+\r\n\+OK\r\n", answer)


@pytest.mark.parametrize(
    "data",
    [
        b"*99999999\r\n",
        b"*17\r\n",
        b"*-1\r\n",
        b"*1\r\n$99999999\r\n",
        b"*1\r\n$1025\r\n",
        b"*1\r\n*1\r\n*1\r\n*1\r\n$4\r\nPING\r\n",
        b"*1\r\n$4\r\nPINGPONG\r\n",
        b"*1\r\n$x\r\n",
        b"*" + b"1" * 10_000,
        b"x" * 10_000,
        b"x " * 100 + b"\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\n\r\nINCR a\r\n",
        b"PATCH / HTTP/1.1\r\nHost: x\r\n\r\nINCR a\r\n",
    ],
    ids=lambda data: repr(data[:24]),
)
def test_invalid_data_end_the_connection(service, data):
    answer = service.said(b"PING\r\n" + data, port=service.resp)
    assert answer.startswith(b"+PONG\r\n-ERR ")
    assert answer.splitlines()[-1].startswith(b"-ERR Protocol error: ")


def test_tokens(start):
    both = token("one", "issue", places="a") + token("two", "inspect", places="a")
    service = start('[namespaces.a]\nregistry = "memory:"\n' + both, "--resp", "0")
    for protocol in (2, 3):
        options = {"port": service.resp, "protocol": protocol, "socket_timeout": 20}
        assert int(redis.Redis(password="one", **options).incr("a")) > 0
        assert int(redis.Redis(username="me", password="one", **options).incr("a")) > 0
        with pytest.raises(redis.AuthenticationError):
            redis.Redis(**options).incr("a")
        with pytest.raises(redis.RedisError, match="wrong"):
            redis.Redis(password="three", **options).incr("a")
        with pytest.raises(redis.exceptions.NoPermissionError):
            redis.Redis(password="two", **options).incr("a")
        with pytest.raises(redis.exceptions.NoPermissionError):
            redis.Redis(password="one", **options).incr("b")


def test_a_graceful_shutdown_answers_started_requests(start):
    service = start(CONFIG)
    with service.dialled(service.resp) as one:
        one.sendall(b"FRAZIL.IDS s 10000\r\n")
        answer = one.recv(64)  # the first of 10,000, which take 0.4 s
        service.process.send_signal(signal.SIGTERM)
        answer += rest_of(one)
    assert answer.startswith(b"*10000\r\n")
    assert answer.count(b"$") == 10_000
    assert service.process.wait(30) == -signal.SIGTERM
    assert service.wait_for("stopped")["issued"]["s"] == 10_000
