"""Clients as people use them: names, databases, transactions; and IDs that none of them rounds."""

import json
import subprocess

import pytest
import redis

import frazil
from tests.needs import needs
from tests.unit.service.conftest import token

CONFIG = """
[server]
resp_port = 0
[namespaces.a]
registry = "memory:"
[namespaces.small]
scheme = "js53"
registry = "memory:"
[namespaces.large]
scheme = "uuid7"
registry = "memory:"
"""


@pytest.mark.parametrize("protocol", [2, 3])
@pytest.mark.parametrize("more", [{}, {"client_name": "orders", "db": 3}], ids=["default", "named"])
def test_redis_py(service, protocol, more):
    """Also its default pipeline, which is a transaction."""
    with redis.Redis(port=service.resp, protocol=protocol, **more) as client:
        with client.pipeline() as pipe:
            for _ in range(5_000):
                pipe.incr("a")
            ids = [int(each) for each in pipe.execute()]
        ids += [int(client.incr("a")) for _ in range(1_000)]
    assert ids == sorted(set(ids))
    assert len(ids) == 6_000


@pytest.mark.parametrize("protocol", [2, 3])
def test_what_incr_answers(service, protocol):
    """An integer where every client holds it; else what no client rounds."""
    with redis.Redis(port=service.resp, protocol=protocol) as client:
        for name, scheme in (("small", "js53"), ("a", "icicle"), ("large", "uuid7")):
            with client.pipeline(transaction=False) as pipe:
                for _ in range(50):
                    pipe.incr(name)
                answers = [client.incr(name), *pipe.execute()]
            exact = int if name == "small" else bytes
            assert {type(answer) for answer in answers} == {exact}
            numbers = [int(answer) for answer in answers]
            assert numbers == sorted(set(numbers))
            assert frazil.scheme(scheme).unpack(numbers[0]).moment is not None


def said(service, *commands):
    with redis.Redis(port=service.resp) as client:
        connection = client.connection_pool.get_connection()
        for command in commands:
            connection.send_command(*command)
        answers = []
        for _ in commands:
            try:
                answers.append(connection.read_response())
            except redis.RedisError as error:
                answers.append(str(error))
        return answers


def test_transactions(service):
    assert said(service, ["MULTI"], ["PING"], ["DISCARD"], ["PING"]) == [
        b"OK",
        b"QUEUED",
        b"OK",
        b"PONG",
    ]
    assert said(service, ["MULTI"], ["PING"], ["ECHO", "x"], ["EXEC"])[-1] == [b"PONG", b"x"]
    assert said(service, ["MULTI"], ["EXEC"])[-1] == []
    assert said(service, ["WATCH", "a"], ["UNWATCH"]) == [b"OK", b"OK"]


def test_quit_in_a_transaction(service):
    found = said(service, ["MULTI"], ["INCR", "a"], ["QUIT"], ["PING"])
    assert found[:3] == [b"OK", b"QUEUED", b"OK"]
    assert "closed" in found[3]


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (["GET", "a"], "'GET' is unknown"),
        (["MULTI"], "no place in a transaction"),
        (["AUTH", "x"], "no place in a transaction"),
        (["ECHO", "x" * 1_024], "too large"),
    ],
)
def test_a_wrong_command_ends_a_transaction(service, command, why):
    found = said(service, ["MULTI"], command, ["INCR", "a"], ["EXEC"], ["PING"])
    assert why in found[1]
    assert found[2] == b"QUEUED"
    assert "so none was run" in found[3]
    assert found[4] == b"PONG"


def test_a_transaction_is_bounded(service):
    different = said(service, ["MULTI"], *(["ECHO", str(n)] for n in range(65)), ["EXEC"])
    assert "too large" in different[65]
    many = said(service, ["MULTI"], *[["PING"]] * 10_001, ["EXEC"])
    assert many[10_000] == b"QUEUED"
    assert "too large" in many[10_001]


def test_a_transaction_needs_the_token(start):
    service = start(CONFIG + token("x", secret="secret"))
    found = said(service, ["MULTI"], ["INCR", "a"], ["EXEC"], ["HELLO", "3", "AUTH", "x", "secret"])
    assert "NOAUTH" in found[1] or "Authentication" in found[1]
    with redis.Redis(port=service.resp, password="secret") as client:
        assert len(set(client.pipeline().incr("a").incr("a").execute())) == 2


def test_redis_cli(service):
    needs("redis-cli", "the client of the shell")
    cli = ["redis-cli", "-p", str(service.resp)]
    lines = subprocess.run([*cli, "-n", "2", "INCR", "a"], capture_output=True, check=True).stdout
    assert len(lines.strip()) == 19
    done = subprocess.run(
        [*cli, "--pipe"], input=b"INCR a\r\n" * 500, capture_output=True, timeout=60, check=True
    )
    assert b"errors: 0, replies: 500" in done.stdout


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    """A folder with the clients of npm, installed from its registry."""
    needs("npm", "clients in JavaScript")
    place = tmp_path_factory.mktemp("node")
    words = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", place]
    subprocess.run([*words, *CLIENTS], cwd=place, check=True, timeout=300)
    return place


CLIENTS = {
    "redis": """
        const client = require('redis').createClient(OPTIONS);
        const close = () => client.close();
        await client.connect();
        const batch = () => {
            const m = client.multi(); KEYS.forEach(k => m.incr(k)); return m.exec();
        };
    """,
    "ioredis": """
        const client = new (require('ioredis').default ?? require('ioredis'))(OPTIONS);
        const close = () => client.quit();
        const batch = async () => {
            const m = client.multi(); KEYS.forEach(k => m.incr(k));
            return (await m.exec()).map(([error, n]) => { if (error) throw error; return n; });
        };
    """,
}
CLIENTS["iovalkey"] = CLIENTS["ioredis"].replace("ioredis", "iovalkey")
SCRIPT = """
(async () => {
    const KEYS = Array(500).fill('a');
    %s
    const ids = [];
    for (let n = 0; n < 1000; n++) ids.push(await client.incr('a'));
    ids.push(...await Promise.all(KEYS.map(k => client.incr(k))), ...await batch());
    console.log(JSON.stringify({ids: ids.map(String), small: await client.incr('small')}));
    await close();
})().catch(error => { console.error(error); process.exit(1); });
"""


@pytest.mark.long
@pytest.mark.parametrize("named", [False, True], ids=["default", "named"])
@pytest.mark.parametrize("package", CLIENTS)
def test_javascript(service, node, package, named):
    """5,000 calls once gave 30 to 68 different numbers, since JavaScript rounds an integer."""
    options = {"port": service.resp, "host": "127.0.0.1"}
    if package == "redis":
        options = {"socket": options} | ({"name": "orders", "database": 3} if named else {})
    elif named:
        options |= {"connectionName": "orders", "db": 3}
    script = SCRIPT % CLIENTS[package].replace("OPTIONS", json.dumps(options))
    done = subprocess.run(
        ["node", "-e", script], cwd=node, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(set(found["ids"])) == len(found["ids"]) == 2_000
    assert found["ids"] == sorted(found["ids"], key=int)
    assert isinstance(found["small"], int)
