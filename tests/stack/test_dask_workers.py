"""Dask: two worker processes, one of them killed in the middle, and rows that keep their IDs."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evidence.benchmarks import engine_dask
from frazil import dask
from frazil.errors import ClaimLost
from tests.needs import needs
from tests.servers.redis import Server
from tests.stack.engines import ROWS, refuses, stamped_with_a_death

pytestmark = pytest.mark.filterwarnings("ignore")  # of the loss of a worker, in many ways


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    needs("distributed", "frazil.dask on a cluster")
    with engine_dask.opened(tmp_path_factory.mktemp("dask")) as client:
        yield client


def test_rows_keep_their_ids_and_repeats_are_found(cluster: Any, tmp_path: Path) -> None:
    import dask.dataframe as dd

    table = engine_dask._table(10_000).repartition(npartitions=8)
    with Server() as server:
        frames = (
            dask.stamp(table, "id", server.url),
            dask.stamp(table, "id", server.url, path=str(tmp_path / "table")),
        )
    for kept in frames:
        first, again = kept.compute(), kept.compute()
        assert first.equals(again)
        assert first["id"].is_unique
        assert list(first["k"]) == list(range(10_000))  # in the order of the partitions
        assert first["id"].dtype == "int64"
        found = dask.audit(kept, "id")
        assert (found.rows, found.distinct, found.good) == (10_000, 10_000, True)
        assert dask.columns(kept["id"]).compute()["node"].isin(list(found.nodes)).all()
        planted = dask.audit(dd.concat([kept, kept.partitions[0].head(3, compute=False)]), "id")
        assert (planted.rows, planted.repeated) == (10_003, 3)
        assert set(planted.examples) == set(first["id"].head(3))


def test_no_id_repeats_when_a_worker_dies(cluster: Any, tmp_path: Path) -> None:
    found = stamped_with_a_death(engine_dask, cluster, tmp_path)
    assert (found.rows, found.distinct, found.good) == (ROWS, ROWS, True)


def test_rows_that_a_dead_worker_had_are_not_made_again(cluster: Any) -> None:
    with Server() as server:
        kept = dask.stamp(engine_dask._table(10_000), "id", server.url)
        held, pids = cluster.has_what(), cluster.run(os.getpid)
        # The other one computes; that a new one starts on a busy machine is not waited for.
        os.kill(pids[max(pids, key=lambda worker: len(held[worker]))], signal.SIGKILL)
        with pytest.raises(ClaimLost, match="a worker died"):
            kept.compute()


def test_what_workers_cannot_share_is_refused(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = engine_dask._table(10)
    assert dask._is_one_host(cluster)
    refuses(lambda url: dask.stamp(table, "id", url), "memory:", "static:7")
    elsewhere = SimpleNamespace(address="tcp://10.0.0.7:8786")
    monkeypatch.setattr(cluster, "scheduler", elsewhere)
    refuses(lambda url: dask.stamp(table, "id", url), "sqlite:", "redis://localhost")
