"""Spark: two executors, speculative execution, and one of them killed in the middle."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

import frazil
from evidence.benchmarks import engine_spark
from frazil import spark
from frazil.errors import ConfigError
from tests.needs import needs
from tests.servers.redis import Server
from tests.stack.engines import ROWS, refuses, stamped_with_a_death

# pyspark says that it was not tried with pandas 3, of which nothing is used here.
pytestmark = pytest.mark.filterwarnings("ignore:.*[Pp]andas.*3")


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    needs("pyspark", "frazil.spark on a cluster")
    needs("java", "frazil.spark on a cluster")
    with engine_spark.opened(tmp_path_factory.mktemp("spark")) as one:
        yield one


def test_no_id_repeats_when_an_executor_dies(session: Any, tmp_path: Path) -> None:
    found = stamped_with_a_death(engine_spark, session, tmp_path)
    assert (found.rows, found.distinct, found.good) == (ROWS, ROWS, True)
    assert found.rows == sum(found.nodes.values())
    numbers = parquet.read_table(tmp_path / "whole", columns=["id", "k"])
    assert len(set(numbers["id"].to_pylist())) == len(set(numbers["k"].to_pylist())) == ROWS


def test_a_row_keeps_its_id_and_repeats_are_found(session: Any) -> None:
    with Server() as server:
        kept = spark.stamp(engine_spark._table(session, 10_000), "id", server.url)
    columns = kept.select("k", "id", spark.time("id"), spark.node("id")).orderBy("k")
    assert columns.collect() == columns.collect()
    twice = kept.where("k < 3")  # limit(3) may be three others each time that it is computed
    planted = kept.unionAll(twice).unionAll(session.sql("SELECT -5L, 1L, -7L"))
    found = spark.audit(planted, "id")
    assert (found.rows, found.repeated, found.invalid) == (10_004, 3, 1)
    assert set(found.examples) == {row["id"] for row in twice.collect()}


def test_rows_of_the_past(session: Any) -> None:
    made = "timestamp '2019-01-01' + make_interval(0, 0, 0, 0, 0, 0, id) as made"
    table = session.range(20_000, numPartitions=4).selectExpr(made)
    with Server() as server:
        frazil.init(server.url, new=True)
        frazil.declare_past(server.url, start="2017-01-01")
        kept = spark.stamp(table, "id", server.url, time_column="made")
    assert kept.where(spark.time("id") != kept.made).count() == 0
    assert spark.audit(kept, "id").distinct == 20_000
    with pytest.raises(ConfigError, match="no column 'when'; it has made"):
        spark.stamp(table, "id", server.url, time_column="when")


def test_what_executors_cannot_share_is_refused(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = session.range(3)
    refuses(lambda url: spark.stamp(table, "new", url), "memory:", "static:7")
    assert spark._is_one_host(session)
    monkeypatch.setattr(session.sparkContext, "master", "spark://elsewhere:7077")
    assert not spark._is_one_host(session)
    refuses(lambda url: spark.stamp(table, "new", url), "sqlite:", "redis://localhost")
