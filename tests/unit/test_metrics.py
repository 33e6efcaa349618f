"""Metrics of the generators in this process, as Prometheus and OpenTelemetry read them."""

import gc
import os
import threading
import uuid

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

import frazil
from frazil.errors import RegistryUnavailable
from frazil.generator.status import counts_of
from tests.tools.forks import child
from tests.tools.waiting import until


@pytest.fixture
def name():
    """A namespace of this test's own."""
    return f"n{uuid.uuid4().hex}"


@pytest.fixture
def registry():
    registry = CollectorRegistry()
    frazil.metrics.prometheus(registry)
    return registry


def read(registry, namespace):
    text = generate_latest(registry).decode()
    return {
        sample.name: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.labels.get("namespace") == namespace
    }


def test_prometheus(registry, name):
    with frazil.open("memory:metrics?horizon=10min", namespace=name) as ids:
        ids()
        until(lambda: ids.status().seconds_left > 60, "a claim of a horizon")
        ids.take(6)
        found = read(registry, name)
    assert found["frazil_issued_total"] == 7
    assert found["frazil_waits_total"] == 1
    assert found["frazil_failures_total"] == found["frazil_renew_failures_total"] == 0
    assert 0 < found["frazil_claim_left_seconds"] <= 600
    assert found["frazil_registry_trouble_seconds"] == 0
    assert found["frazil_exhaustion_seconds"] > 1e9


def test_a_dead_store(registry, name):
    url = "redis://:hunter2@127.0.0.1:1?timeout=100ms"
    with frazil.open(url, namespace=name, timeout="100ms") as ids:
        with pytest.raises(RegistryUnavailable):
            ids()
        until(lambda: read(registry, name)["frazil_renew_failures_total"], "a refused connection")
        found = read(registry, name)
        assert "hunter2" not in generate_latest(registry).decode()
    assert found["frazil_failures_total"] == 1
    assert found["frazil_registry_trouble_seconds"] > 0
    assert found["frazil_claim_left_seconds"] == 0


def test_generators_of_one_series_are_added_and_a_count_never_falls(registry, name):
    counts = []
    for size in (3, 4):
        one, two = (frazil.open("memory:metrics", namespace=name) for _ in range(2))
        one.take(size)
        two.take(size)
        counts.append(read(registry, name)["frazil_issued_total"])
        one.close()
        two.close()
        counts.append(read(registry, name)["frazil_issued_total"])
        del one, two
        gc.collect()
        counts.append(read(registry, name)["frazil_issued_total"])
    assert counts == [6, 6, 6, 14, 14, 14]


def test_generators_that_threads_free_are_all_counted(registry, name):
    counts = []

    def work():
        for _ in range(60):
            frazil.open("memory:metrics", namespace=name).take(5)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    while any(each.is_alive() for each in threads):
        counts.append(read(registry, name).get("frazil_issued_total", 0))
    for each in threads:
        each.join()
    gc.collect()
    assert counts == sorted(counts)
    assert read(registry, name)["frazil_issued_total"] == 4 * 60 * 5


def test_a_generator_that_is_freed_during_a_read_is_counted_once(registry, name, monkeypatch):
    some = [frazil.open("memory:metrics", namespace=name) for _ in range(3)]
    assert [len(ids.take(5)) for ids in some] == [5, 5, 5]

    def dropped(status):
        some.clear()  # its last user ends in another thread
        return counts_of(status)

    monkeypatch.setattr(frazil.metrics, "counts_of", dropped)
    assert [read(registry, name)["frazil_issued_total"] for _ in range(2)] == [15, 15]


def test_a_pool_that_was_freed_is_counted(registry, name):
    with (
        frazil.open("icicle://127.0.0.1:1", namespace=name, timeout="50ms") as ids,
        pytest.raises(RegistryUnavailable),
    ):
        ids()
    del ids
    gc.collect()
    assert read(registry, name)["frazil_failures_total"] == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
@pytest.mark.parametrize("made", [0, 2])
def test_a_child_counts_its_own_ids_only(registry, name, made):
    ids = frazil.open("sqlite:", namespace=name)
    frazil.open("sqlite:", namespace=name).take(3)
    ids.take(7)
    assert read(registry, name)["frazil_issued_total"] == 10

    def work():
        if made:
            ids.take(made)
        found = read(registry, name)
        return (found["frazil_issued_total"], found["frazil_waits_total"]) == (made, made > 0)

    assert child(work) == 0


def test_opentelemetry(name, monkeypatch):
    monkeypatch.setattr("frazil.metrics.freed_counts", dict)  # of 2000 tests; the SDK keeps no more
    reader = InMemoryMetricReader()
    frazil.metrics.opentelemetry(MeterProvider([reader]))
    with frazil.open("memory:metrics", namespace=name) as ids:
        ids.take(7)
        data = reader.get_metrics_data()
    (scope,) = data.resource_metrics[0].scope_metrics
    assert scope.scope.name == "frazil"
    found = {
        metric.name: (metric.unit, point.value, dict(point.attributes))
        for metric in scope.metrics
        for point in metric.data.data_points
        if point.attributes["frazil.namespace"] == name
    }
    about = {"frazil.namespace": name, "frazil.scheme": "icicle", "frazil.store": "memory:metrics"}
    assert found["frazil.ids"] == ("{id}", 7, about)
    assert found["frazil.claim.left"][0] == "s"
    assert 0 <= found["frazil.claim.left"][1] < 1
    assert "frazil.store.away" in found
