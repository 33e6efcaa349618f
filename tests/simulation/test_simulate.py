"""The simulator: thousands of worlds without a violation, and broken rules that it finds.

The first 200 seeds are run with either walk, and 1,800 more at night. A mark that the first 200 do
not reach is a failure: a simulator proves nothing about a state that it never reaches. The broken
rules have a walk of their own, and so are found with either walk.
"""

from dataclasses import replace

import pytest

from evidence.simulator import MARKS, Fault, Report, Schedule, failure_text, run, shrink
from evidence.simulator import __main__ as command
from tests.simulation.canaries import CANARIES
from tests.simulation.failovers import FAILOVERS, TRACES
from tests.simulation.found import FOUND

AT_ONCE = 200  # in one test, so that workers share them
PARTS = [
    pytest.param(first, marks=[pytest.mark.nightly if first else pytest.mark.interpreted])
    for first in range(0, 2000, AT_ONCE)
]
FOUND_WITHIN = 200
FAILOVER_SEEDS = 250
# The first seed that finds a broken rule, where the search for it takes a second of a processor. It
# is tried first; after a change that makes it find nothing, the test searches all of them again.
FOUND_AT = {
    "CallsOnce": 16,
    "DeafInTheWait": 156,
    "FirstDecides": 12,
    "GrantsInTheWait": 54,
    "JumpsAhead": 25,
    "LooksAhead": 34,
    "NoGuard": 25,
    "NoTokenForRelease": 64,
    "ShortGuard": 63,
    "TokensOutliveALoss": 21,
}


def first_failure(parts, seeds=FOUND_WITHIN, draw=Schedule.draw, *, begin=0):
    for seed in (begin, *range(seeds)):
        outcome = run(draw(seed), parts)
        if outcome.violation is not None:
            return outcome
    return None


@pytest.mark.parametrize("first", PARTS)
def test_no_violation_occurs_and_every_mark_is_reached(first):
    report = Report()
    for seed in range(first, first + AT_ONCE):
        outcome = run(Schedule.draw(seed))
        report.add(outcome)
        assert outcome.violation is None, failure_text(shrink(outcome.schedule))
    assert first or report.marks.missing() == []
    assert report.ids > 100 * AT_ONCE


# Ten seconds of a processor, where the others take one.
LATE = {"NeverEnough"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] * (name in LATE)) for name in CANARIES]
)
def test_a_broken_rule_is_found(name):
    assert first_failure(CANARIES[name], begin=FOUND_AT.get(name, 0)) is not None


@pytest.mark.interpreted
def test_no_failover_to_a_late_successor_repeats_an_id():
    report = Report()
    for seed in range(FAILOVER_SEEDS):
        outcome = run(Schedule.draw_failovers(seed))
        report.add(outcome)
        assert outcome.violation is None, failure_text(outcome)
    assert report.marks.counts["successor"] > FAILOVER_SEEDS
    assert report.marks.counts["told of a loss"] > FAILOVER_SEEDS


@pytest.mark.parametrize("name", sorted(FAILOVERS.keys() - TRACES.keys()))
def test_a_broken_rule_is_found_in_failovers(name):
    parts, begin = FAILOVERS[name], FOUND_AT.get(name, 0)
    found = first_failure(parts, FAILOVER_SEEDS, Schedule.draw_failovers, begin=begin)
    assert found is not None


@pytest.mark.parametrize("name", TRACES)
def test_a_broken_rule_is_found_by_its_trace(name):
    assert run(TRACES[name], FAILOVERS[name]).violation is not None
    assert run(TRACES[name]).violation is None


@pytest.mark.parametrize("name", FOUND)
def test_a_found_error_is_found_again_and_is_corrected(name):
    schedule, parts = FOUND[name]
    assert run(schedule, parts).violation is not None
    assert run(schedule).violation is None


def test_a_failing_schedule_is_shrunk_to_its_cause():
    parts = CANARIES["ForkUnnoticed"]
    outcome = first_failure(parts)
    small = shrink(outcome.schedule, parts)
    kinds = [fault.kind for fault in small.schedule.faults]
    assert "fork" in kinds
    assert len(kinds) <= 4 < len(outcome.schedule.faults)
    assert small.violation is not None
    text = failure_text(small)
    assert f"python -m evidence.simulator --seed {small.schedule.seed}" in text
    assert "fork" in text


def test_a_fault_may_wait_for_a_request_of_its_member():
    found, _ = FOUND["a close during a renewal"]
    calm = replace(found, seed=5, horizon_us=1_000_000, lasts_us=100_000_000, faults=())
    counts = []
    for asking in (False, True):
        moments = range(0, calm.lasts_us, 5_000_000)
        faults = tuple(Fault(at_us, "close", 0, 0.5, asking) for at_us in moments)
        counts.append(run(replace(calm, faults=faults)).marks.counts)
        assert ("during a request" in str(faults[0])) == asking
    at_any_moment, asked = counts
    assert not at_any_moment["struck while asking"]
    assert not at_any_moment["closed while asking"]
    assert asked["struck while asking"] == 20
    assert asked["closed while asking"] > 10


def test_the_command_runs_seeds_and_lists_the_marks(capsys):
    assert command.main(["--seeds", "0-3"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("4 seeds, ")
    assert all(mark in out for mark in MARKS)
