"""What is wrong with a namespace in one process, since when, and the history of its counts.

The thresholds are those of ``deploy/alerts.yml``, so the console and Prometheus agree. Each alarm
has the page that says what to do.

A history has never more than 64 parts of equal length. When all are full, each two become one,
twice as long. So it needs the same memory after a minute and after a year, and the histories of
workers that have one start can be added.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from frazil.errors import ClockError, LayoutExhausted, RegistryUnavailable
from frazil.generator.status import Status
from frazil.service.namespace import ServedNamespace
from frazil.system.clock import boot_ns

SHOWN = ("issued", "waits", "failures")  # the counts whose history is kept
_STORE_AWAY = RegistryUnavailable.page
_WAITS = _STORE_AWAY.replace("store-away", "waits")
_OFFSET_MOST_S = 5
_LASTS_LEAST_S = 2 * 365 * 86_400
_ERRORS_MOST = 5
_SAMPLE_NS = 10 * 10**9
_SAMPLES = 61  # ten minutes
_COUNTED = (*SHOWN, "store_errors")
PARTS_MOST = 64
_FIRST_PART_S = 2


@dataclass(frozen=True, slots=True)
class Alarm:
    """level: red if calls fail or are about to, else amber. since_ns: by the clock since boot."""

    level: str
    why: str
    page: str
    since_ns: int | None = None


def alarms_of(status: Status, why: str, page: str, grown: Mapping[str, int]) -> Iterator[Alarm]:
    """Yield the alarms of a namespace. why, page: of a call that fails now.

    grown: failures of the last minute; waits and renewals without an answer of ten minutes.
    """
    left_s = status.seconds_left
    if status.store_away_s:
        red = why or (left_s is not None and left_s < status.store_away_s > 2)
        lasts = "" if left_s is None else f"; IDs last {left_s:.0f} s more"
        lasts = "; no IDs are left, calls fail" if left_s == 0 else lasts
        yield Alarm("red" if red else "amber", f"the store does not answer{lasts}", _STORE_AWAY)
    elif why:
        yield Alarm("red", why, page)
    elif grown["failures"]:
        yield Alarm(
            "amber", f"calls that got no ID in the last minute: {grown['failures']:,}", page
        )
    elif grown["store_errors"] > _ERRORS_MOST:
        errors = f"{grown['store_errors']:,} renewals in ten minutes"
        yield Alarm("amber", f"the store did not answer {errors}", _STORE_AWAY)
    offset_s = status.clock_offset_s or 0.0
    if abs(offset_s) > _OFFSET_MOST_S:
        apart = f"{abs(offset_s):,.0f} s {'ahead of' if offset_s > 0 else 'behind'}"
        yield Alarm("amber", f"this host's clock is {apart} the store's", ClockError.page)
    lasts_s = status.exhausted_in_s
    if lasts_s is not None and lasts_s < _LASTS_LEAST_S:
        full = f"is full in {lasts_s / 86_400:,.0f} days" if lasts_s > 0 else "is full"
        level = "amber" if lasts_s > 0 else "red"
        yield Alarm(level, f"the time field {full}", LayoutExhausted.page)
    if grown["waits"] > _SAMPLES * _SAMPLE_NS / 1e9:
        yield Alarm("amber", f"{grown['waits']:,} calls waited in the last ten minutes", _WAITS)


@dataclass(slots=True)
class History:
    """Counts by name, oldest part first; part_s is the length of a part."""

    part_s: int = _FIRST_PART_S
    rows: dict[str, list[int]] = field(default_factory=dict)

    def add(self, age_s: float, counts: Mapping[str, int]) -> None:
        """Add what was counted at an age of the start; ages only grow."""
        while age_s >= self.part_s * PARTS_MOST:
            for name, row in self.rows.items():
                self.rows[name] = [sum(row[i : i + 2]) for i in range(0, len(row), 2)]
            self.part_s *= 2
        at = int(age_s // self.part_s)
        for name, n in counts.items():
            row = self.rows.setdefault(name, [])
            row.extend([0] * (at + 1 - len(row)))
            row[at] += n


def total(histories: Iterable[History], age_s: float) -> History:
    """The sum of histories of one start, at its present age."""
    found = History()
    found.add(age_s, {})
    for one in histories:
        copy = History(one.part_s, dict(one.rows))
        copy.add(age_s, {})
        for name, row in copy.rows.items():
            sums = found.rows.setdefault(name, [0] * (int(age_s // found.part_s) + 1))
            for at, n in enumerate(row[: len(sums)]):
                sums[at] += n
    return found


class Watch:
    """Looks at the namespaces of this process each second.

    started_ns: of the service, by the clock since boot. history: of this worker's predecessor, or
    an empty one. alarms, unready (the reasons): by namespace, since the last look.
    """

    def __init__(
        self, namespaces: Mapping[str, ServedNamespace], started_ns: int, history: History
    ) -> None:
        self._namespaces = namespaces
        self._started_ns = started_ns
        self.history = history
        self.alarms: dict[str, list[Alarm]] = {}
        self.unready: dict[str, str] = {}
        self._samples: deque[tuple[int, dict[str, int]]] = deque(maxlen=_SAMPLES)
        self._last: dict[str, int] = {}

    def look(self, http_errors: int) -> None:
        """Add what was counted since the last look, and find the alarms."""
        now_ns = boot_ns()
        counts = {"http errors": http_errors}
        states = {name: served.status() for name, served in list(self._namespaces.items())}
        for name, status in states.items():
            counts |= {f"{what} {name}": getattr(status, what) for what in _COUNTED}
        shown = {key: n for key, n in counts.items() if not key.startswith("store")}
        grown = {key: n - self._last.get(key, 0) for key, n in shown.items()}
        self.history.add((now_ns - self._started_ns) / 1e9, grown)
        self._last = counts
        if not self._samples or now_ns - self._samples[-1][0] >= _SAMPLE_NS:
            self._samples.append((now_ns, counts))
        whys = {name: self._namespaces[name].known_unready() for name in states}
        self.unready = {name: why for name, why in whys.items() if why}
        self.alarms = {name: self._found(name, status) for name, status in states.items()}

    def _found(self, name: str, status: Status) -> list[Alarm]:
        served = self._namespaces[name]
        since_ns = {one.page: one.since_ns for one in self.alarms.get(name, ())}
        grown = {
            what: self._grown(f"{what} {name}", 60 if what == "failures" else 600)
            for what in _COUNTED
        }
        found = alarms_of(status, self.unready.get(name, ""), served.page, grown)
        return [replace(one, since_ns=since_ns.get(one.page) or boot_ns()) for one in found]

    def _grown(self, key: str, seconds: int) -> int:
        """How much a count grew in the last seconds, as far back as it is known."""
        least_ns = boot_ns() - seconds * 10**9 - _SAMPLE_NS
        before = next((counts for at_ns, counts in self._samples if at_ns >= least_ns), self._last)
        return self._last.get(key, 0) - before.get(key, 0)
