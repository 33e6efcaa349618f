"""The search for repeats is exact at every size, in bounded memory."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from frazil_torture.repeats import Repeat, Repeats

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
    dice = random.Random(bits)
    keys = [dice.getrandbits(bits) for _ in range(20_000)]
    keys[19_999], keys[19_998] = keys[0], keys[10_000]
    found = search(keys, tmp_path)
    assert found == plain(keys)
    assert len(found) >= 2
    assert list(tmp_path.iterdir()) == []


def test_no_ids(tmp_path: Path) -> None:
    assert search([], tmp_path) == []


@pytest.mark.long
def test_memory_is_bounded(tmp_path: Path) -> None:
    """A dict of these IDs and their positions would need 400 MB."""
    done = subprocess.run(
        [sys.executable, "-c", SEARCH, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 120 << 10
