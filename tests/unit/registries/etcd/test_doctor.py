"""The doctor's report about etcd, from answers that a test makes up."""

import frazil
from frazil.registries.base import terms_of
from frazil.registries.etcd.doctor import examine

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
