"""gunicorn --preload: the application opened its generator, and made IDs, before the fork."""

import http.client
import signal
import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from tests.canary import canary
from tests.needs import needs
from tests.processes.harness import WORKERS, initialise
from tests.tools.waiting import until

# 64 IDs a millisecond: what the master makes reaches 8 s ahead, and its claim with it.
SLOW = "sign:1=0 time:41 node:8 sequence:6 @1ms since 2025-01-01T00:00:00Z"
FIRST = 512_000
BATCH = 500


def ask(port, path):
    """Status, worker and body of one request on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.headers["X-Worker"], answer.read()
    finally:
        connection.close()


def serve(crew, place, broken=""):
    """Start gunicorn on a port that the kernel chose; answers it and the port."""
    url = initialise(f"sqlite:{place}/claims.db?horizon=30s", SLOW)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        number = listening.fileno()
        command = [sys.executable, "-m", "gunicorn", "--preload", "--workers", "4"]
        command += ["--bind", f"fd://{number}", "--chdir", str(WORKERS), "--timeout", "60"]
        command += ["--worker-tmp-dir", str(place), "gunicorn_app:application"]
        env = {"IDS_URL": url, "IDS_SCHEME": SLOW, "IDS_BROKEN": broken, "IDS_FIRST": str(FIRST)}
        env |= {"HOME": str(place)}
        server = crew.spawn(command, env=env, pass_fds=[number])
        port = listening.getsockname()[1]
    until(lambda: "Booting worker" in crew.said(server, "stderr"), "gunicorn to start")
    return server, port


def load(port):
    """IDs from the master and all four workers, and who issued them."""
    answers = [ask(port, "/")]

    deadline = time.monotonic() + 30
    while len({worker for _, worker, _ in answers[1:]}) < 4 and time.monotonic() < deadline:
        with ThreadPoolExecutor(8) as pool:
            answers += pool.map(lambda _: ask(port, f"/{BATCH}"), range(200))
    return answers


def repeats(answers):
    ids = np.concatenate([np.frombuffer(b, dtype=np.uint64) for s, _, b in answers if s == 200])
    return len(ids) - len(np.unique(ids))


def test_preloaded_application(crew, place):
    needs("gunicorn", "forks of a real server")
    server, port = serve(crew, place)
    answers = load(port)
    assert {status for status, _, _ in answers} == {200}
    assert len({worker for _, worker, _ in answers[1:]}) == 4
    assert sum(len(body) for _, _, body in answers) // 8 >= FIRST + 200 * BATCH
    assert repeats(answers) == 0
    server.send_signal(signal.SIGTERM)
    crew.finish(server)


@canary
def test_this_test_can_see(crew, place):
    needs("gunicorn", "forks of a real server")
    server, port = serve(crew, place, broken="blind")
    answers = [ask(port, "/")]
    deadline = time.monotonic() + 90
    while not repeats(answers) and time.monotonic() < deadline:
        answers.append(ask(port, f"/{BATCH}"))
    assert repeats(answers) > 0
    server.send_signal(signal.SIGTERM)
    crew.finish(server)
