"""What every store's report of ``frazil doctor`` shares.

And the report about etcd, from answers that a test makes up.
"""

import pytest

import frazil
from frazil.registries import connect
from frazil.registries.base import terms_of
from frazil.registries.doctor import clock_offset, record_clock, restart
from frazil.registries.etcd.doctor import examine


@pytest.mark.parametrize(
    ("scheme", "found", "meaning"),
    [("icicle", "late", "each waits 3s once"), ("tickets", "survived", "on its disk")],
)
def test_a_restart_costs_layouts_with_time_one_horizon(scheme, found, meaning):
    told = restart(connect("memory:?horizon=3s", "x", frazil.scheme(scheme)).terms)
    assert told.found == found
    assert meaning in told.meaning


def test_a_clock_is_compared_as_precisely_as_it_is_known():
    assert clock_offset(314_800, 500_000).found == "within 500ms of this host's"
    assert clock_offset(-314_800).found == "314.8 ms from this host's"
    assert clock_offset(600_000, 500_000).found == "600.0 ms from this host's"


def test_a_clock_that_a_store_refuses_is_bad():
    assert clock_offset(9_000_000).verdict == "note"
    for ahead_us in (3_600_000_000, -11_000_000):
        assert clock_offset(ahead_us).verdict == "bad"
        assert "gets no claim" in clock_offset(ahead_us).meaning
        assert clock_offset(ahead_us, timed=False).verdict == "note"


def test_a_record_is_ahead_by_at_most_a_claim():
    terms = connect("memory:?horizon=5s", "x", frazil.scheme("icicle")).terms
    assert record_clock(5_000_000, terms).verdict == "good"
    assert record_clock(5_000_001, terms).found == "5.0 s ahead of the clock"
    assert record_clock(5_000_001, terms).verdict == "bad"


def test_a_missing_directory_is_bad_and_the_default_one_is_not(tmp_path, monkeypatch):
    (tmp_path / "real").mkdir()
    (tmp_path / "home").symlink_to(tmp_path / "real")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))

    def file(url):
        facts = connect(url, "x", frazil.scheme("icicle")).examine().facts
        return next(each for each in facts if each.about == "file")

    assert file("sqlite:").verdict == "good"
    assert file(f"sqlite:{tmp_path}/none/x.db").verdict == "bad"
    assert f"mkdir -p {tmp_path}/none" in file(f"sqlite:{tmp_path}/none/x.db").meaning


TERMS = terms_of(frazil.scheme("icicle"), 5_000_000)


def space(size_bytes, *alarms):
    raised = {"alarms": [{"alarm": alarm} for alarm in alarms]}
    report = examine({"version": "3.5.9", "dbSize": size_bytes}, {}, raised, TERMS, None)
    return next(fact for fact in report.facts if fact.about == "space")


def test_a_database_that_is_nearly_full_has_a_next_step():
    for full in (space(2_100_000_000), space(1, "NOSPACE")):
        assert full.verdict == "bad"
        assert full.meaning.startswith("compact, defragment")
    assert space(1_000_000).verdict == "good"
