"""The search for repeats, exact at every size; the schedule of a mix, from a seed."""

import random
from pathlib import Path

import pytest

from frazil_torture import MIXED
from frazil_torture.file import WAYS
from frazil_torture.repeats import Repeat, Repeats
from frazil_torture.schedule import schedule
from tests.tools.python import run_python

SEARCH = """
import re, sys
from pathlib import Path
from frazil_torture.repeats import Repeats

engine = Repeats(Path(sys.argv[1]))
for at in range(0, 3_000_000, 4096):
    engine.add([n * 977 % 2**64 for n in range(at, at + 4096)], range(at, at + 4096))
assert not any(True for _ in engine.rest())
status = Path("/proc/self/status").read_text()  # getrusage would count what forked this, too
print(re.search(r"VmHWM:\\s*(\\d+) kB", status)[1])
"""


def search(keys: list[int], folder: Path) -> list[Repeat]:
    engine = Repeats(folder)
    for at in range(0, len(keys), 5000):
        assert not engine.add(keys[at : at + 5000], range(at, min(at + 5000, len(keys))))
    return list(engine.rest())


def plain(keys: list[int]) -> list[Repeat]:
    """The same result, with a dict of all keys."""
    seen: dict[int, int] = {}
    found = []
    for position, key in enumerate(keys):
        if key in seen:
            found.append(Repeat(key, seen[key], position))
        seen.setdefault(key, position)
    return found


@pytest.mark.parametrize("bits", [1, 10, 64, 128])
def test_search_equals_a_plain_one(tmp_path: Path, bits: int) -> None:
    assert search([], tmp_path) == []
    dice = random.Random(bits)
    keys = [dice.getrandbits(bits) for _ in range(20_000)]
    keys[19_999], keys[19_998] = keys[0], keys[10_000]
    found = search(keys, tmp_path)
    assert found == plain(keys)
    assert len(found) >= 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_memory_is_bounded(tmp_path: Path) -> None:
    """A dict of these IDs and their positions would need 400 MB."""
    assert int(run_python(SEARCH, str(tmp_path)).stdout) < 120 << 10


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
