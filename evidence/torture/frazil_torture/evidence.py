"""Evaluate the files of a trial: the number of IDs, duplicates, order and freshness.

All IDs of a run go through one search for duplicates, so an ID of one trial that repeats in a later
one is found too, and counted in the later one. The caller provides the search, which works in
bounded memory; a prefilter removes IDs that cannot be duplicates. Each burst is evaluated for:

- *Order*: among the IDs that one generator gave to one caller, how many are less than the one
  before.
- *Staleness*: how far the moment in an ID is before the true time at which its burst began;
  *ahead*: how far after the true time at which the burst ended. The true time is the monotonic
  clock plus a difference measured once, at the beginning, from an unmodified wall clock.
- *Stall*: the longest time of one burst, without the time that its process was stopped.
- *Clock*: how far processes saw their wall clocks from the true time. A fault of the clock that
  leaves no trace here did not happen.
"""

import json
import math
import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from frazil_torture.id_log import HUNG, bursts
from frazil_torture.prefilter import Prefilter
from frazil_torture.system import Reading
from frazil_torture.trial import Mark

__all__ = ["Claimed", "Examiner", "Found", "Generated", "Search"]

_FILE_BITS = 40
_RATES_NS = 50_000_000
_SAME_NS = 150_000_000  # bursts closer than this are one bar
_MAX_EXAMPLES = 5


class Search(Protocol):
    """A search for duplicates, like ``Repeats``."""

    def add(self, keys: Sequence[int], positions: Sequence[int]) -> Iterable[Any]:
        """Look for keys among all before; duplicates have ``key``, ``first``, ``again``."""

    def rest(self) -> Iterable[Any]:
        """The duplicates that ``add`` has not returned yet."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """A claim as its holder saw it: a slot, from one tick to another."""

    slot: int
    start: int
    until: int


@dataclass(slots=True)
class Generated:
    """The IDs of one generator in one process."""

    name: str
    ids: int = 0
    spans: list[tuple[int | None, int, int, int]] = field(default_factory=list)
    """Node, first and last nanosecond, and how many IDs, of each stretch without a gap."""
    rates: Counter[int] = field(default_factory=Counter)
    """How many IDs in each twentieth of a second of the monotonic clock."""
    claims: list[Claimed] = field(default_factory=list)
    stall_us: int = 0
    """The longest time of one burst."""


@dataclass(slots=True)
class Found:
    """The evaluation of a trial. Times are µs; None if IDs have no time."""

    ids: int = 0
    refused: int = 0
    duplicates: int = 0
    examples: list[tuple[int, str, str]] = field(default_factory=list)
    """An ID, and the two files that contain it."""
    disorder: int = 0
    stale_us: int | None = None
    ahead_us: int | None = None
    stall_us: int = 0
    clock_us: tuple[int, int] = (0, 0)
    """The least and the greatest that a process's clock was off."""
    silent: list[str] = field(default_factory=list)
    """Processes that gave no ID at all."""
    hung: int = 0
    """The number of processes that hung and of calls that took too long."""
    answered: int = 0
    """The number of messages that were answered."""
    inverted: int = 0
    """The number of replies that are not greater than the message, ..."""
    promised: bool = False
    """... and whether the system promises that there is none."""
    troubles: list[str] = field(default_factory=list)
    generated: list[Generated] = field(default_factory=list)


class Examiner:
    """Evaluates trials one by one; their files must exist until ``finish``.

    true_ns: the true wall time minus the monotonic clock. late_s: a longer call counts as hung.
    """

    def __init__(
        self, search: Search, true_ns: int, reading: Reading | None, late_s: float | None = None
    ) -> None:
        self._search = search
        self._true_ns = true_ns
        self._read = reading
        self._late_us = math.inf if late_s is None else late_s * 1e6
        self._files: list[tuple[Path, Found]] = []
        self._ids = 0

    def examine(self, folder: Path, marks: Iterable[Mark], hung: Sequence[str]) -> Found:
        """Evaluate a trial, except for duplicates, which ``finish`` finds.

        hung: a line about each process that was seen to hang.
        """
        found = Found()
        stops = [mark for mark in marks if mark.what == "SIGSTOP"]
        for path in sorted(folder.glob("*.ids")):
            stopped = [mark for mark in stops if _belongs_to(path.stem, mark.whom)]
            found.generated.append(self._read_log(path, found, stopped))
        for path in sorted(folder.glob("*.clock")):
            offs = [(int(off) - self._true_ns) // 1000 for off in path.read_text().split()]
            low, high = found.clock_us
            found.clock_us = (min([low, *offs]), max([high, *offs]))
        for path in folder.glob("*.answers"):
            answered, inverted, found.promised = json.loads(path.read_text(encoding="ascii"))
            found.answered += answered
            found.inverted += inverted
        started = {path.stem for path in folder.glob("*.said")}
        started -= {path.stem for path in folder.glob("*.clock")}  # the witness
        issuing = [one.name for one in found.generated if one.ids]
        found.silent = [
            name
            for name in sorted(started)
            if not any(_belongs_to(generator, name) for generator in issuing)
        ]
        troubles = [
            f"{path.stem}: {line}"
            for path in sorted(folder.glob("*.trouble"))
            for line in path.read_text(encoding="utf-8").splitlines()
        ]
        said = [
            f"{path.stem}: {path.read_text(errors='replace').strip().splitlines()[-1]}"
            for path in sorted(folder.glob("*.said"))
            if path.stat().st_size
        ]
        troubles += [
            f"{one.name}: {HUNG} a call took {one.stall_us / 1e6:.1f} s"
            for one in found.generated
            if one.stall_us > self._late_us
        ]
        found.hung = sum(f" {HUNG} " in line for line in troubles) + len(hung)
        found.troubles = [*said, *hung, *troubles]
        return found

    def finish(self) -> None:
        """Find the duplicates."""
        paths = [path for path, _ in self._files]
        prefilter = Prefilter(paths, self._ids)
        for file, path in enumerate(paths):
            position = file << _FILE_BITS
            for burst in bursts(path):
                at = prefilter.left(burst)
                if at:
                    ids = burst.ids
                    keys, where = [ids[i] for i in at], [position + i for i in at]
                    for one in self._search.add(keys, where):
                        self._repeated(one)
                position += len(burst)
        for one in self._search.rest():
            self._repeated(one)

    def _read_log(self, path: Path, found: Found, stops: Sequence[Mark]) -> Generated:
        self._files.append((path, found))
        made = Generated(path.stem)
        last = -1
        for burst in bursts(path):
            ids = burst.ids
            found.refused += burst.refused
            took_ns = burst.ended_ns - burst.began_ns - _overlap(stops, burst)
            made.stall_us = max(made.stall_us, took_ns // 1000)
            if not ids:
                continue
            found.disorder += sum(map(operator.le, ids, [last, *ids[:-1]]))
            last = ids[-1]
            made.ids += len(ids)
            node = self._fresh(found, ids, burst.began_ns, burst.ended_ns)
            _extend(made, node, burst.began_ns, burst.ended_ns, len(ids))
        found.stall_us = max(found.stall_us, made.stall_us)
        found.ids += made.ids
        self._ids += made.ids
        claims = path.with_suffix(".claims")
        if claims.exists():
            lines = claims.read_text(encoding="ascii").splitlines()
            made.claims = [Claimed(*json.loads(line)) for line in lines]
        return made

    def _repeated(self, one: Any) -> None:
        """Count a duplicate in the file of its second occurrence."""
        first, _ = self._files[one.first >> _FILE_BITS]
        again, found = self._files[one.again >> _FILE_BITS]
        found.duplicates += 1
        if len(found.examples) < _MAX_EXAMPLES:
            places = (f"{path.parent.name}/{path.stem}" for path in (first, again))
            found.examples.append((one.key, *places))

    def _fresh(self, found: Found, ids: list[int], began_ns: int, ended_ns: int) -> int | None:
        """Check the moments of a burst's first and last IDs. Returns the node of the last one."""
        if self._read is None:
            return None
        node = None
        for n in (ids[0], ids[-1]):
            moment_us, node = self._read(n)
            if moment_us is None:
                continue
            stale_us = (began_ns + self._true_ns) // 1000 - moment_us
            ahead_us = moment_us - (ended_ns + self._true_ns) // 1000
            found.stale_us = max(found.stale_us or 0, stale_us)
            found.ahead_us = max(found.ahead_us or 0, ahead_us)
        return node


def _belongs_to(name: str, process: str) -> bool:
    """Whether a generator belongs to a process, or to one of its children or threads."""
    return name == process or name.startswith((f"{process}.", f"{process}-"))


def _overlap(stops: Iterable[Mark], burst: Any) -> int:
    """How long the process was stopped during a burst."""
    return sum(
        max(0, min(stop.ended_ns, burst.ended_ns) - max(stop.began_ns, burst.began_ns))
        for stop in stops
    )


def _extend(made: Generated, node: int | None, began_ns: int, ended_ns: int, count: int) -> None:
    """Add a burst to the spans and rates."""
    made.rates[ended_ns // _RATES_NS] += count
    if made.spans:
        same, first_ns, last_ns, ids = made.spans[-1]
        if same == node and began_ns - last_ns < _SAME_NS:
            made.spans[-1] = (node, first_ns, ended_ns, ids + count)
            return
    made.spans.append((node, began_ns, ended_ns, count))
