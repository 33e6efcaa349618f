"""Ray for ``evidence.benchmarks.engines``: one node with two workers, on the loopback address."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import frazil.ray
from evidence.benchmarks.engines import below, parts
from frazil.tables.audit import Audit

__all__ = ["opened", "stamped_and_audited", "subjects", "targets"]


@contextmanager
def opened(_folder: Path) -> Iterator[Any]:
    """Ray with two processors, its files in a folder of its own; ends with all its processes."""
    quiet = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DATA_DISABLE_PROGRESS_BARS": "1"}
    with ExitStack() as kept:
        # Its sockets need a short path.
        place = kept.enter_context(tempfile.TemporaryDirectory(prefix="ray-"))
        kept.enter_context(mock.patch.dict(os.environ, {"HOME": place, **quiet}))
        import ray
        import ray.data
        from ray._private import ray_constants

        # Else Ray looks for another address of this host, and listens on every one.
        kept.enter_context(mock.patch.object(ray_constants, "ENABLE_RAY_CLUSTER", new=False))
        ray.init(
            num_cpus=2,
            _node_ip_address="127.0.0.1",
            include_dashboard=False,
            object_store_memory=400 << 20,
            log_to_driver=False,
            logging_level="ERROR",
            _temp_dir=place,
        )
        ray.data.DataContext.get_current().enable_progress_bars = False
        try:
            yield ray
        finally:
            ray.shutdown()


def _table(ray: Any, rows: int) -> Any:
    return ray.data.range(rows, override_num_blocks=parts(rows)).rename_columns({"id": "k"})


def subjects(ray: Any, url: str, rows: int) -> dict[str, Callable[[str], None]]:
    """What is timed, by name; each writes its table as Parquet."""
    from ray.data import expressions

    table = _table(ray, rows)

    def stamp(path: str) -> None:
        frazil.ray.stamp(table, "id", url, once=True).write_parquet(path)

    def own(call: Callable[[], Any]) -> Callable[[str], None]:
        return lambda path: table.with_column("id", call()).write_parquet(path)

    return {
        "monotonically_increasing_id": own(expressions.monotonically_increasing_id),
        "stamp": stamp,
        "uuid": own(expressions.uuid),
    }


def targets(_ray: Any, folder: Path) -> tuple[Callable[[], bool], Callable[[], list[int]]]:
    """When the work has begun, and the processes of tasks that run."""

    def begun() -> bool:
        return any((folder / "whole").rglob("*.parquet"))

    return begun, lambda: below(os.getpid(), "MapBatches")


def stamped_and_audited(ray: Any, url: str, rows: int, path: str) -> Audit:
    """The audit of a table that is stamped and written through."""
    kept = frazil.ray.stamp(_table(ray, rows), "id", url, path=path)
    return frazil.ray.audit(kept, "id", parts=max(2, parts(rows) // 4))
