"""The registries of one host keep the contract."""

import pytest

from frazil_conformance import CHECKS, check_registry
from tests.conformance.adapters import (
    NO_SERVER,
    BareMemory,
    FileStore,
    ManualStore,
    MemoryStore,
    applied,
)


def test_memory():
    applied(MemoryStore("memory:conformance?horizon=300ms"), *NO_SERVER)


def test_sqlite(tmp_path):
    path = tmp_path / "claims.db"
    applied(FileStore(f"sqlite://{path}?horizon=1s", path), *NO_SERVER)


def test_static(tmp_path):
    path = tmp_path / "static.db"
    applied(FileStore(f"static:0?state={path}&horizon=500ms", path), *NO_SERVER)


def test_static_without_a_file():
    applied(MemoryStore("static:0?state=none&horizon=300ms"), *NO_SERVER)


@pytest.mark.parametrize("seed", range(20))
def test_in_a_time_of_its_own(seed):
    check_registry(ManualStore(), seed=seed)


def test_a_report_lists_the_checks_that_a_bare_store_cannot_have():
    report = check_registry(BareMemory("memory:bare?horizon=50ms"))
    told = {r.name: r.reason for r in report.results if r.outcome == "not applicable"}
    assert told.keys() > NO_SERVER
    assert told["losses_are_waited_out"] == "its state cannot be lost"
    assert told["steps_back_are_absorbed"] == "its clock cannot be stepped"
    assert "not applicable  losses_are_waited_out: its state" in str(report)


def test_checks_are_named_and_say_what_they_show():
    report = check_registry(ManualStore())
    assert len({check.__name__ for check in CHECKS}) == len(CHECKS) == len(report.results)
    assert {result.shows for result in report.results} == {"I0", "I1", "I2", "I3", "I5"}


def test_some_by_name():
    report = check_registry(ManualStore(), only=["claims_never_overlap"])
    assert [str(result) for result in report.results] == ["passed          claims_never_overlap"]
