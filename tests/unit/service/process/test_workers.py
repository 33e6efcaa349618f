"""Several workers on one socket: killed, orphaned, cut off from the registry, and stopped.

And a signal that is held, which arrives when it is released.
"""

import contextlib
import errno
import os
import signal
import threading
import time
from datetime import datetime, timedelta
from multiprocessing.process import BaseProcess

import httpx
import pytest

import frazil
from frazil.errors import ConfigError
from frazil.service.process import workers
from frazil.service.process.workers import SIGNALS, hold_signals, release_signals
from frazil.service.settings import read_settings
from frazil.system.clock import boot_ns
from tests.tools.beside import beside
from tests.tools.waiting import until

SCHEME = frazil.scheme()
PACKED = {"Accept": "application/octet-stream"}


class Callers:
    """Threads that send requests until the end of the block; a connection may break.

    ids, statuses: of all replies.
    """

    def __init__(self, url: str, count: int = 4) -> None:
        self.ids: list[int] = []
        self.statuses: list[int] = []
        self.wrong: list[object] = []
        self._url = url
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(i,)) for i in range(count)]

    def _ask(self, number):
        while not self._over.is_set():
            with httpx.Client(base_url=self._url, timeout=20) as client:
                with contextlib.suppress(httpx.HTTPError):
                    self._converse(client, number)
                time.sleep(0.01)

    def _converse(self, client, number):
        while not self._over.is_set():
            n = 1 + 300 * (number % 2)
            reply = client.post(f"/v1/a/ids?n={n}", headers=PACKED)
            self.statuses.append(reply.status_code)
            if reply.status_code == 200:
                self._account(reply, n)
            elif reply.status_code != 503 or "retry-after" not in reply.headers:
                self.wrong.append((reply.status_code, reply.text))

    def _account(self, reply, n):
        body = reply.content
        ids = [int.from_bytes(body[i : i + 8], "big") for i in range(0, len(body), 8)]
        if len(ids) != n or ids != sorted(set(ids)) or SCHEME.unpack(ids[0]).foreign:
            self.wrong.append(body[:100])
        self.ids += ids

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_why):
        self._over.set()
        for thread in self._threads:
            thread.join()

    def check(self):
        assert self.wrong == []
        assert len(self.ids) == len(set(self.ids)) > 0


def processes(service, count=4):
    """Return the process IDs of the next ``count`` workers that start."""
    return [service.wait_for("worker begins")["process"] for _ in range(count)]


@pytest.fixture
def config(tmp_path):
    return f'[namespaces.a]\nregistry = "sqlite:///{tmp_path}/claims.db?horizon=2s"\n'


def ready(service):
    return httpx.get(f"{service.url}/readyz", timeout=20).status_code == 200


@pytest.mark.long
def test_killed_workers_are_replaced_and_repeat_no_id(start, config):
    """The other workers continue: no call fails, and the service stays ready."""
    service = start(config, "--workers", "4")
    workers = processes(service)
    until(lambda: ready(service), "the service")
    probed = []

    def probe():
        with contextlib.suppress(httpx.HTTPError):  # of a connection to the victim
            probed.append(ready(service))

    with Callers(service.url) as callers, beside(probe, 0.05):
        until(lambda: callers.ids, "the first IDs")
        for victim in workers:
            os.kill(victim, signal.SIGKILL)
            assert service.wait_for("worker died")["process"] == victim
            processes(service, 1)
            time.sleep(0.5)
        had = len(callers.ids)
        until(lambda: len(callers.ids) > had + 1000, "more IDs")
        assert ready(service)
    callers.check()
    assert set(callers.statuses) == {200}
    assert set(probed) == {True}
    assert service.stop() == -signal.SIGTERM


def test_workers_end_with_their_supervisor(start, config):
    service = start(config, "--workers", "2")
    processes(service, 2)
    until(lambda: ready(service), "the service")
    service.process.kill()
    service.process.wait()
    until(lambda: not listening(service), "the end")
    until(lambda: [one["event"] for one in service.lines].count("stopped") == 2, "both")


def listening(service):
    with contextlib.suppress(OSError):
        service.dialled().close()
        return True
    return False


def test_metrics_are_of_all_workers(start, config):
    service = start(config, "--workers", "3", "--resp", "0")
    processes(service, 3)
    with Callers(service.url, 8) as callers:
        until(lambda: len(callers.ids) > 2000, "IDs")

    def told():
        found = {}
        for line in service.client.get("/metrics").text.splitlines():
            if line.startswith("frazil_issued_total{"):
                found[line.partition('worker="')[2][0]] = float(line.rpartition(" ")[2])
        return found

    until(lambda: sum(told().values()) == len(callers.ids), "the metrics")
    assert sorted(told()) == ["0", "1", "2"]


def test_a_worker_that_cannot_start_is_retried_with_pauses(start, tmp_path):
    service = start(f'[namespaces.a]\nregistry = "sqlite:///{tmp_path}/c.db"', "--workers", "2")
    first = processes(service, 2)
    for _ in range(3):
        os.kill(first[0], signal.SIGKILL)
        died = service.wait_for("worker died")
        begins = service.wait_for("worker begins")
        first = [begins["process"]]
    paused = datetime.fromisoformat(begins["time"]) - datetime.fromisoformat(died["time"])
    assert paused > timedelta(seconds=0.5)
    assert service.stop() == -signal.SIGTERM


@pytest.mark.parametrize("url", ["memory:", "static:7"])
def test_registries_of_one_process_are_refused(tmp_path, url):
    file = tmp_path / "frazil.toml"
    file.write_text(f'[server]\nworkers = 2\n[namespaces.a]\nregistry = "{url}"')
    with pytest.raises(ConfigError, match="--workers 1"):
        read_settings(file).check()


def test_a_worker_that_cannot_be_forked_is_started_later(monkeypatch):
    supervisor = workers.Supervisor(1, lambda _index, _stop: None, lambda: None, lambda: None)
    (worker,) = supervisor.workers
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    with monkeypatch.context() as patch:
        patch.setattr(BaseProcess, "start", no_process)
        supervisor._replace_dead(worker, boot_ns())
    assert worker.process is None
    assert 0 < supervisor._pause_s() <= 1
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == mask
    supervisor._replace_dead(worker, worker.due_ns)
    worker.process.join()
    assert worker.process.exitcode == 0
    for end in (worker.stop_socket, *supervisor.wakeup):
        end.close()


def no_process(_process):
    raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")


@pytest.mark.parametrize("number", SIGNALS)
def test_a_held_signal_arrives_later(number):
    arrived = []
    before = signal.signal(number, lambda *_: arrived.append(number))
    try:
        hold_signals()
        signal.raise_signal(number)  # for this thread, of which others know nothing
        assert arrived == []
        release_signals()
        assert arrived == [number]
    finally:
        release_signals()
        signal.signal(number, before)
