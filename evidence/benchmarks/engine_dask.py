"""Dask for ``evidence.benchmarks.engines``: the distributed scheduler with two worker processes."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import frazil.dask
from evidence.benchmarks.engines import below, parts
from frazil.tables.audit import Audit

__all__ = ["opened", "stamped_and_audited", "subjects", "targets"]


@contextmanager
def opened(folder: Path) -> Iterator[Any]:
    """A client of two workers; ends with all its processes."""
    import dask
    from distributed import Client, LocalCluster

    settings = {"distributed.scheduler.allowed-failures": 16}
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            memory_limit="3GiB",
            dashboard_address=None,
            local_directory=str(folder),
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def _part(bounds: tuple[int, int]) -> Any:
    import numpy as np
    import pandas as pd

    k = np.arange(*bounds, dtype=np.int64)
    return pd.DataFrame({"k": k, "v": k * 7})


def _uuids(frame: Any) -> Any:
    import uuid

    return frame.assign(id=[str(uuid.uuid4()) for _ in range(len(frame))])


def _table(rows: int) -> Any:
    import dask.dataframe as dd

    count = parts(rows)
    edges = [rows * i // count for i in range(count + 1)]
    return dd.from_map(_part, list(pairwise(edges)))


def subjects(_client: Any, url: str, rows: int) -> dict[str, Callable[[str], None]]:
    """What is timed, by name; each writes its table as Parquet."""
    table = _table(rows)

    def stamp(path: str) -> None:
        frazil.dask.stamp(table, "id", url, once=True).to_parquet(path)

    def own(path: str) -> None:
        table.assign(id=table.assign(one=1)["one"].cumsum()).to_parquet(path)

    return {
        "cumsum": own,
        "stamp": stamp,
        "uuid": lambda path: table.map_partitions(_uuids).to_parquet(path),
    }


def targets(_client: Any, folder: Path) -> tuple[Callable[[], bool], Callable[[], list[int]]]:
    """When the work has begun, and the worker processes."""

    def begun() -> bool:
        return any((folder / "whole").rglob("*.parquet"))

    return begun, lambda: below(os.getpid(), "spawn_main")


def stamped_and_audited(_client: Any, url: str, rows: int, path: str) -> Audit:
    """The audit of a table that is stamped and written through."""
    return frazil.dask.audit(frazil.dask.stamp(_table(rows), "id", url, path=path), "id")
