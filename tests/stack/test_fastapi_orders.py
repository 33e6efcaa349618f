"""The example with FastAPI: two workers of uvicorn, PostgreSQL, and a client in JavaScript."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import httpx
import psycopg
import pytest

import frazil
from tests.servers.database import free_port
from tests.servers.redis import Server as Store
from tests.tools.waiting import until

EXAMPLES = Path(__file__).parents[2] / "examples"
ORDER = frazil.scheme("icicle", prefix="order_", encoding="base62")
WORKERS = 2


class App:
    """The running example. client: speaks HTTP to it. log: the file of what it says."""

    def __init__(self, server, folder, database="orders", claims="sqlite:"):
        self.server = server
        self.database = database
        self.log = folder / "log"
        self.url = f"http://127.0.0.1:{free_port()}"
        where = f"postgres@127.0.0.1:{server.port}/{database}"
        environment = {
            **os.environ,
            "DATABASE_URL": f"postgresql+asyncpg://{where}",
            "FRAZIL_LOCKS": str(folder),
            "FRAZIL_URL": claims,
            "XDG_STATE_HOME": str(folder / "state"),
        }
        server.sql(f"CREATE DATABASE {database}")
        make = [sys.executable, "-m", "fastapi_orders.models"]
        subprocess.run(make, cwd=EXAMPLES, env=environment, check=True, timeout=120)
        command = [sys.executable, "-m", "uvicorn", "fastapi_orders.api:app"]
        command += ["--workers", str(WORKERS), "--port", self.url.rpartition(":")[2]]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                cwd=EXAMPLES,
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.client = httpx.Client(base_url=self.url, timeout=60)

    def ready(self):
        assert self.process.poll() is None, self.log.read_text()
        return self.log.read_text().count("Application startup complete") >= WORKERS

    def rows(self, query):
        """What a statement selects from the example's database."""
        where = f"postgresql://postgres@127.0.0.1:{self.server.port}/{self.database}"
        with psycopg.connect(where) as link:
            return link.execute(query).fetchall()

    def close(self):
        self.client.close()
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def app(server, tmp_path_factory):
    running = App(server, tmp_path_factory.mktemp("app"))
    try:
        until(running.ready, "the workers", patience_s=180)
        yield running
    finally:
        running.close()


def test_an_outage_of_the_store_stops_no_other_request(server, tmp_path):
    """Requests that need no ID are answered while one waits for the store."""
    with Store() as store, ExitStack() as open_:
        app = App(server, tmp_path, "outage", claims=store.url)
        open_.callback(app.close)
        until(app.ready, "the workers", patience_s=180)
        post = partial(app.client.post, "/orders", json={"customer": "Ada"})
        assert post().status_code == 201
        # Connections to both workers; each accepts some.
        others = [open_.enter_context(httpx.Client(base_url=app.url)) for _ in range(12)]
        assert {other.get("/orders").status_code for other in others} == {200}
        pool = open_.enter_context(ThreadPoolExecutor(1))
        store.freeze()
        open_.callback(os.kill, store.pid, signal.SIGCONT)
        while wait([blocked := pool.submit(post)], 1).done:
            pass  # the claim lasts
        assert {other.get("/orders", timeout=5).status_code for other in others} == {200}
        assert not blocked.done()
        refused = blocked.result(60)
        assert refused.status_code == 503
        assert refused.headers["retry-after"] == "5"


def test_one_text_everywhere(app):
    reply = app.client.post("/orders", json={"customer": "Ada", "articles": ["tea", "cup"]})
    assert reply.status_code == 201
    text = reply.json()["id"]
    n = ORDER.parse(text)
    url = f"/orders/{text}"
    assert app.client.get(url).json() == {"id": text, "customer": "Ada", "articles": ["tea", "cup"]}
    assert f"created {text}\n" in app.log.read_text()
    assert f"GET {url} " in app.log.read_text()
    assert app.rows("SELECT id, pg_typeof(id)::text FROM orders") == [(n, "bigint")]
    assert app.rows("SELECT DISTINCT order_id, pg_typeof(order_id)::text FROM lines") == [
        (n, "bigint")
    ]
    found = app.client.get("/orders", params={"after": ORDER.format(n - 1), "limit": 1}).json()
    assert [one["id"] for one in found] == [text]
    now = datetime.now(UTC)
    for hours, count in ((1, 1), (-1, 0)):
        interval = {"start": now - timedelta(hours=hours), "stop": now + timedelta(hours=1)}
        interval = {name: when.isoformat() for name, when in interval.items()}
        if hours < 0:
            interval["stop"] = (now + timedelta(hours=2)).isoformat()
        assert len(app.client.get("/orders", params=interval).json()) == count


def test_ten_thousand_rows_in_one_request(app):
    given = [{"customer": f"bulk {n}"} for n in range(10_000)]
    made = app.client.post("/orders/bulk", json=given).json()
    assert len(set(made)) == 10_000
    assert made == sorted(made)
    stored = app.rows("SELECT id, customer FROM orders WHERE customer LIKE 'bulk %' ORDER BY id")
    assert [(ORDER.format(n), customer) for n, customer in stored] == [
        (text, one["customer"]) for text, one in zip(made, given, strict=True)
    ]


def test_two_workers_make_no_duplicate(app):
    def create(n):
        with httpx.Client(base_url=app.url, timeout=60) as client:  # a connection of its own
            single = client.post("/orders", json={"customer": f"worker {n}"}).json()["id"]
            many = client.post("/orders/bulk", json=[{"customer": "worker"}] * 200).json()
        return [single, *many]

    made = []

    def both_have_served():
        with ThreadPoolExecutor(8) as pool:
            made.extend(text for texts in pool.map(create, range(40)) for text in texts)
        # Each has a claim, and so a node number, of its own.
        return len({ORDER.unpack(ORDER.parse(text)).node for text in made}) >= WORKERS

    until(both_have_served, "both workers", patience_s=180)
    assert len(set(made)) == len(made) >= 40 * 201
