"""Several workers on one socket: killed, orphaned, cut off from the registry, and stopped.

And a signal that is held, which arrives when it is released.
"""

import contextlib
import errno
import os
import signal
import time
from datetime import datetime, timedelta
from functools import partial
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


@contextlib.contextmanager
def callers(url, count=4):
    """Clients until the end of the block: all IDs and statuses of their replies."""
    ids, statuses, wrong = [], [], []

    def ask(client, n):
        with contextlib.suppress(httpx.HTTPError):  # of a connection to the victim
            reply = client.post(f"/v1/a/ids?n={n}", headers=PACKED)
            statuses.append(reply.status_code)
            if reply.status_code == 200:
                body = reply.content
                new = [int.from_bytes(body[i : i + 8], "big") for i in range(0, len(body), 8)]
                if len(new) != n or new != sorted(set(new)) or SCHEME.unpack(new[0]).foreign:
                    wrong.append(body[:100])
                ids.extend(new)
            elif reply.status_code != 503 or "retry-after" not in reply.headers:
                wrong.append((reply.status_code, reply.text))

    with contextlib.ExitStack() as stack:
        for number in range(count):
            client = stack.enter_context(httpx.Client(base_url=url, timeout=20))
            stack.enter_context(beside(partial(ask, client, 1 + 300 * (number % 2))))
        yield ids, statuses
    assert wrong == []
    assert len(ids) == len(set(ids)) > 0


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

    with callers(service.url) as (ids, statuses), beside(probe, 0.05):
        until(lambda: ids, "the first IDs")
        for victim in workers:
            os.kill(victim, signal.SIGKILL)
            assert service.wait_for("worker died")["process"] == victim
            processes(service, 1)
            time.sleep(0.5)
        had = len(ids)
        until(lambda: len(ids) > had + 1000, "more IDs")
        assert ready(service)
    assert set(statuses) == {200}
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
    with callers(service.url, 8) as (ids, _):
        until(lambda: len(ids) > 2000, "IDs")

    def told():
        found = {}
        for line in service.client.get("/metrics").text.splitlines():
            if line.startswith("frazil_issued_total{"):
                found[line.partition('worker="')[2][0]] = float(line.rpartition(" ")[2])
        return found

    until(lambda: sum(told().values()) == len(ids), "the metrics")
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
