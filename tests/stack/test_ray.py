"""Ray: two workers on the loopback address, and one of them killed in the middle."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evidence.benchmarks import engine_ray
from frazil import ray as frazil_ray
from tests.needs import needs
from tests.servers.redis import Server
from tests.stack.engines import ROWS, refuses, stamped_with_a_death

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray leaves files and sockets to the collector


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    needs("ray", "frazil.ray on workers")
    with engine_ray.opened(tmp_path_factory.mktemp("ray")) as one:
        yield one


def test_no_id_repeats_when_a_worker_dies(world: Any, tmp_path: Path) -> None:
    found = stamped_with_a_death(engine_ray, world, tmp_path)
    assert (found.rows, found.distinct, found.good) == (ROWS, ROWS, True)


def test_a_row_keeps_its_id_and_repeats_are_found(world: Any) -> None:
    with Server() as server:
        kept = frazil_ray.stamp(engine_ray._table(world, 10_000), "id", server.url)
    first, again = (sorted((row["k"], row["id"]) for row in kept.take_all()) for _ in range(2))
    assert first == again
    assert [k for k, _ in first] == list(range(10_000))
    found = frazil_ray.audit(kept.union(kept.limit(3)), "id", parts=2)
    assert (found.rows, found.distinct, found.repeated) == (10_003, 10_000, 3)
    nodes = {row["node"] for row in frazil_ray.unpack(kept.limit(100), "id").take_all()}
    assert nodes <= set(found.nodes)


def test_what_workers_cannot_share_is_refused(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table = engine_ray._table(world, 10)
    assert frazil_ray._is_one_host()
    refuses(lambda url: frazil_ray.stamp(table, "id", url), "memory:", "static:7")
    monkeypatch.setattr(world, "nodes", lambda: [{"NodeManagerAddress": "10.0.0.7"}])
    refuses(lambda url: frazil_ray.stamp(table, "id", url), "sqlite:", "redis://localhost")
