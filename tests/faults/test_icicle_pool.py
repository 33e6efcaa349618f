"""Servers of IDs are killed, stopped, emptied, and given another time, under live callers."""

import time
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from frazil.redis_link.access import Access
from frazil.remote.icicle.server import IcicleServer
from tests.canary import canary
from tests.faults.fleet import UNHURRIED
from tests.processes.harness import Processes, count
from tests.servers.redis import Server
from tests.tools.waiting import until

WORKER = Path(__file__).parent / "workers" / "icicle.py"


class Callers:
    """Processes that request IDs from a pool. most: the largest number of IDs in a request."""

    def __init__(self, place: Path, broken: str = "", most: int = 3000) -> None:
        self.place = place
        self.crew = Processes(place)
        self.names: list[str] = []
        self._workers: list[Any] = []
        self._order = {"broken": broken, "most": most, "lead": "1s", "timeout": UNHURRIED}

    def start(self, number: int, url: str, *, alone: bool = False) -> None:
        """Start more, and wait until each has received IDs (alone: only the new ones)."""
        begun = len(self.names)
        for _ in range(number):
            name = f"w{len(self.names)}"
            self.names.append(name)
            order = {"name": name, "url": url, **self._order}
            self._workers.append(self.crew.start(WORKER.with_suffix(""), **order))
        self.progress(self.names[begun:] if alone else None)

    def progress(self, names: list[str] | None = None) -> None:
        """Wait until each has made more calls."""
        for name in names or self.names:
            path = self.place / f"{name}.latency"

            def calls(path=path):
                return path.stat().st_size if path.exists() else 0

            before = calls()
            until(
                lambda: calls() > before + 40,  # noqa: B023 - asked here
                f"{name} to make more calls",
                patience_s=180,
            )

    def errors(self) -> str:
        """The error of every call that failed."""
        return "".join(path.read_text() for path in sorted(self.place.glob("*.errors")))

    def latency(self) -> str:
        """The durations of calls."""
        took = [np.fromfile(path) for path in self.place.glob("*.latency")]
        middle, high, most = np.percentile(np.concatenate(took), [50, 99, 100]) / 1e3
        return f"calls took {middle:.2f} ms (median), {high:.1f} ms (99 %), {most:.0f} ms (most)"

    def repeats(self) -> int:
        """Stop all processes; returns how many IDs repeat."""
        for worker in self._workers:
            self.crew.stop(worker)
        issued, repeated = count(self.place)
        assert issued > 1000
        print(self.latency())  # noqa: T201
        return repeated


@contextmanager
def callers(place: Path, **how: Any):
    crowd = Callers(place, **how)
    try:
        yield crowd
    finally:
        crowd.crew.close()


def initialise(server: Server, shard: int, replicas: int = 0) -> None:
    access = Access(server.url, (("127.0.0.1", server.port),), replicas=replicas)
    IcicleServer(access, "default").initialise(shard, new=True)


def url_of(*servers: Server, more: str = "") -> str:
    return f"icicle://{','.join(f'127.0.0.1:{server.port}' for server in servers)}{more}"


@pytest.fixture
def pool():
    """Three servers whose clocks are 5 s apart, each with its shard."""
    with ExitStack() as stack:
        servers = [stack.enter_context(Server(faked=True)) for _ in range(3)]
        for shard, (server, apart_s) in enumerate(zip(servers, (0, 5, -5), strict=True)):
            server.step_clock(apart_s)
            time.sleep(0.2)
            initialise(server, shard)
        yield servers


def test_everything_happens_to_a_pool(pool, place):
    """Eight processes; one server at a time has a fault."""
    killed, stopped, emptied = pool
    with callers(place) as crowd:
        crowd.start(8, url_of(*pool, more="?shards=0,1,2"))
        killed.kill()
        crowd.progress()
        killed.start()
        crowd.progress()
        time.sleep(6)
        stopped.freeze()
        time.sleep(2)
        crowd.progress()
        stopped.thaw()
        crowd.progress()
        for server, seconds in zip(pool, (-3.0, 1.0, 2.0), strict=True):
            server.step_clock(seconds)
            time.sleep(0.5)
        emptied.restart()  # it keeps nothing, so this is another server in its place
        crowd.progress()
        emptied.step_clock(-2.1)
        time.sleep(6)
        crowd.progress()
        assert crowd.errors() == ""
        assert crowd.repeats() == 0


def emptied_again_and_again(
    place: Path, lose: Callable[[Server], None], broken: str = ""
) -> tuple[int, str]:
    """How many IDs of one server repeat, and the errors."""
    with Server() as server, callers(place, broken=broken, most=50_000) as crowd:
        initialise(server, 9)
        crowd.start(3, url_of(server, more="?shards=9"))
        for _ in range(2):
            lose(server)
            crowd.progress()
        return crowd.repeats(), crowd.errors()


LOSSES: dict[str, Callable[[Server], Any]] = {
    "restart": Server.restart,
    "FLUSHALL": lambda server: server.do("FLUSHALL"),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_a_server_that_forgets(place, loss):
    """There is one server, so callers have to wait for the guard; they do, and no call fails."""
    assert emptied_again_and_again(place, LOSSES[loss]) == (0, "")


@canary
def test_a_script_without_guard_is_seen(place):
    def repeats(attempt):  # it takes two callers in one tick, so some attempts show none
        folder = place / str(attempt)
        folder.mkdir()
        return emptied_again_and_again(folder, LOSSES["FLUSHALL"], "unguarded_icicle")[0]

    assert any(repeats(attempt) for attempt in range(8))


def promoted(place: Path, more: str, replicas: int) -> int:
    """How many IDs repeat when an old primary continues beside its successor."""
    with ExitStack() as stack:
        old, new, third = (stack.enter_context(Server()) for _ in range(3))
        new.replicate(old)
        crowd = stack.enter_context(callers(place))
        initialise(old, 5, replicas)
        crowd.start(2, url_of(old, more=more))
        new.promote()
        third.replicate(new)
        crowd.start(2, url_of(new, more=more), alone=True)
        if not replicas:
            crowd.progress()
        time.sleep(3)
        return crowd.repeats()


def test_an_old_primary_that_continues(place):
    assert promoted(place, "?replicas=1", 1) == 0


@canary
def test_an_old_primary_without_confirmation_is_seen(place):
    """The docs say so: without ?replicas= two primaries issue the same IDs."""
    assert promoted(place, "", 0) > 0
