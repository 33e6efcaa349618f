"""The schedule of a mix: the faults, their targets and times, from a seed."""

from frazil_torture import MIXED
from frazil_torture.file import WAYS
from frazil_torture.schedule import schedule


def test_every_fault_and_each_of_its_ways_occurs():
    events = [event for seed in range(200) for event in schedule(seed, 3, WAYS)]
    assert {event.what for event in events} == set(MIXED)
    restores = [event for event in events if event.what == "restore"]
    assert {(event.way, event.alone, event.tidy) for event in restores} == {
        (way, alone, tidy) for way in WAYS for alone in (True, False) for tidy in (True, False)
    }
    assert {event.process for event in events if event.what == "kill"} == {0, 1, 2}
    clocks = {(event.way, event.off > 0) for event in events if event.what == "clock"}
    assert {("step", True), ("step", False), ("freeze", True)} <= clocks


def test_a_schedule_with_restores_never_sets_the_clock_back():
    """That loss is outside the promise: no process remembers how far the clock was."""
    for seed in range(200):
        events = schedule(seed, 3, WAYS)
        if any(event.what == "restore" for event in events):
            offs = [event.off for event in events if event.what == "clock"]
            assert offs == sorted(offs)
            assert min(offs) >= 0
        assert not any(event.what == "restore" for event in schedule(seed, 3, []))
