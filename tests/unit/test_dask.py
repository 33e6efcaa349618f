"""Dask: two worker processes, a real store, and rows that keep their IDs or fail."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks import engine_dask
from frazil.dask import audit, columns, stamp
from frazil.errors import ConfigError
from tests.needs import needs
from tests.servers.redis import Server

__all__: list[str] = []

needs("distributed", "frazil.dask on a cluster")
pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with engine_dask.opened(tmp_path_factory.mktemp("dask")) as client:
        yield client


def test_rows_keep_their_ids(cluster: Any, tmp_path: Path) -> None:
    with Server() as server:
        table = engine_dask._table(50_000)
        for kept in (stamp(table, "id", server.url), stamp(table, "id", server.url, path=tmp_path)):
            first, again = kept.compute(), kept.compute()
            assert first["id"].tolist() == again["id"].tolist()
            assert first["id"].is_unique
            found = audit(kept, "id")
            assert (found.rows, found.distinct, found.good) == (50_000, 50_000, True)
            assert columns(kept["id"]).compute()["node"].isin(list(found.nodes)).all()
    for url in ("memory:", "static:7"):
        with pytest.raises(ConfigError, match="cannot be shared"):
            stamp(table, "id", url)
