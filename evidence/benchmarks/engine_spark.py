"""Spark for ``evidence.benchmarks.engines``: two executors, with speculative execution."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import frazil.spark
from evidence.benchmarks.engines import below, parts
from frazil.tables.audit import Audit

__all__ = ["opened", "stamped_and_audited", "subjects", "targets"]


@contextmanager
def opened(folder: Path) -> Iterator[Any]:
    """A session with two executors of one core and 1 GiB; ends with all its processes."""
    from pyspark.sql import SparkSession

    # Else it listens on any address, and executors run the python3 that they find first.
    here = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    kept = mock.patch.dict(os.environ, here)
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("frazil")
    for name, value in {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.local.dir": str(folder / "local"),
        "spark.speculation": "true",
        "spark.speculation.interval": "100ms",
        "spark.speculation.minTaskRuntime": "100ms",
        "spark.speculation.multiplier": "1.1",
        "spark.speculation.quantile": "0.1",
        "spark.sql.shuffle.partitions": "8",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.task.maxFailures": "16",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }.items():
        builder = builder.config(name, value)
    with kept:
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    jvm = session.sparkContext._gateway.proc  # noqa: SLF001 - to wait for its end
    try:
        yield session
    finally:
        session.stop()
        session.sparkContext._gateway.shutdown()  # noqa: SLF001
        jvm.stdin.close()
        jvm.wait(60)
        _forget_ended_jvm()


def _forget_ended_jvm() -> None:
    """The next session starts a machine; Spark keeps the one it knows until the process ends."""
    from pyspark import SparkContext

    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001


def _table(session: Any, rows: int) -> Any:
    return session.range(0, rows, 1, parts(rows)).selectExpr("id as k", "id * 7 as v")


def subjects(session: Any, url: str, rows: int) -> dict[str, Callable[[str], None]]:
    """What is timed, by name; each writes its table as Parquet."""
    from pyspark.sql import functions as f

    table = _table(session, rows)

    def stamp(path: str) -> None:
        frazil.spark.stamp(table, "id", url, once=True).write.parquet(path)

    own, uuid = f.monotonically_increasing_id(), f.expr("uuid()")
    return {
        "monotonically_increasing_id": table.withColumn("id", own).write.parquet,
        "stamp": stamp,
        "uuid": table.withColumn("id", uuid).write.parquet,
    }


def targets(session: Any, folder: Path) -> tuple[Callable[[], bool], Callable[[], list[int]]]:
    """When the work has begun, and the processes of executors."""
    pid = session.sparkContext._gateway.proc.pid  # noqa: SLF001

    def begun() -> bool:
        return any((folder / "whole").rglob("*.parquet"))

    return begun, lambda: below(pid, "CoarseGrainedExecutorBackend")


def stamped_and_audited(session: Any, url: str, rows: int, path: str) -> Audit:
    """The audit of a table that is stamped and written through."""
    kept = frazil.spark.stamp(_table(session, rows), "id", url, path=path)
    return frazil.spark.audit(kept, "id")
