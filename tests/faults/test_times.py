"""Times of IDs without faults: none is ahead of its store's clock by more than the pages say."""

import json
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pymysql
import pytest

import frazil
from frazil.generator import keeper_policy
from tests.processes.harness import Processes
from tests.servers.etcd import etcd
from tests.servers.mariadb import mariadb
from tests.servers.postgres import postgres
from tests.servers.redis import Server, three
from tests.servers.stores import KINDS, store
from tests.tools.verbs import ONE_RECORD

TICK_US = 1000
MEMBERS, SECONDS = 8, 5
LOCKED_S = 1.5
# docs/explain/order.md: how far a store's clock, as members use it, may be ahead of the host's.
BOUNDS_US = {"etcd": 1_000_000}
WORKER = str(Path(__file__).parent / "workers" / "times")
ROW = "SELECT name FROM frazil_namespace WHERE name = 'default' FOR UPDATE"


@contextmanager
def confirmed():
    with Server() as primary, Server() as replica:
        replica.replicate(primary)
        yield f"{primary.url}/?replicas=1"


@contextmanager
def url_of(kind, place):
    if kind in ("sqlite", "static"):
        yield f"sqlite://{place}/claims.db" if kind == "sqlite" else f"static:7?state={place}/7.db"
    elif kind in ("three", "replicas"):
        with three() if kind == "three" else confirmed() as url:
            yield url
    else:
        with etcd(3) if kind == "etcd" else store(kind) as one:
            yield one.url


@pytest.mark.parametrize(
    "kind",
    ["sqlite", "static", "three", "replicas", *KINDS],
)
def test_no_time_is_ahead_of_the_clock(kind, place):
    with url_of(kind, place) as url:
        frazil.init(url, new=True)
        crew = Processes(place)
        workers = [crew.start(WORKER, url=url, seconds=SECONDS) for _ in range(MEMBERS)]
        told = [json.loads(crew.finish(each)) for each in workers]
    print(kind, *told, sep="\n")  # noqa: T201 - pytest shows it on request
    assert sum(each["made"] for each in told) > 20 * MEMBERS
    assert max(each["ahead_us"] for each in told) <= TICK_US + BOUNDS_US.get(kind, 0)


@contextmanager
def locked(kind, server):
    """The row of the namespace, locked by another client for some time."""
    if kind == "postgresql":
        client = psycopg.connect(server.url())
        client.execute("SET search_path = frazil, public")
        client.execute(ROW)
    else:
        client = pymysql.connect(host="127.0.0.1", port=server.port, user="root", database="app")
        with client.cursor() as cursor:
            cursor.execute(ROW)
    timer = threading.Timer(LOCKED_S, client.rollback)
    timer.start()
    yield
    timer.join()
    client.close()


def ahead_us(ids, seconds):
    """How far the times of IDs are ahead of the host's clock, at most."""
    until_s, found = time.monotonic() + seconds, []
    while time.monotonic() < until_s:
        one = ids()
        found.append(ONE_RECORD.layout.epoch_us + (one >> 22) * TICK_US - time.time_ns() // 1000)
        time.sleep(0.001)
    return max(found)


def ahead_after_a_wait(kind, server):
    """Of a generator that wants long claims, and whose renewal waits for the row."""
    with frazil.open(server.url(), ONE_RECORD, timeout="10s") as ids:
        ahead_us(ids, 3)
        with locked(kind, server):
            return ahead_us(ids, LOCKED_S + 1.5)


@pytest.mark.parametrize(("kind", "start"), [("postgresql", postgres), ("mysql", mariadb)])
def test_a_wait_for_the_row_puts_no_id_ahead(kind, start, monkeypatch):
    def middle(_, sent_ns, heard_ns):
        return (sent_ns + heard_ns) // 2

    with start() as server:
        frazil.init(server.url(), ONE_RECORD, new=True)
        assert ahead_after_a_wait(kind, server) <= TICK_US
        monkeypatch.setattr(keeper_policy, "reading_ns", middle)
        tries = (ahead_after_a_wait(kind, server) for _ in range(4))  # not every renewal waits
        assert any(ahead > 100 * TICK_US for ahead in tries)
