"""What is measured: which subjects are compared, how much of each in a round, and the aims.

An aim is a number computed from the subjects of one round, mostly a quotient of two, and a limit
for its median over the rounds. The limits are the project's own promises; a case without a promise
shows its quotient too.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from evidence.benchmarks.subjects import (
    Subject,
    arange,
    frazil_array,
    frazil_calls,
    frazil_take,
    frazil_threads,
    list_range,
    peer_calls,
    peer_take,
    peer_threads,
    starting,
)

__all__ = ["CASES", "Aim", "Case", "Sample"]

_CAP_NS = 1e6 / 4096  # the default scheme has so many IDs a millisecond
_MANY = 500_000


@dataclass(frozen=True)
class Sample:
    """What one subject did in one round: nanoseconds of wall and of its thread's CPU, per ID."""

    wall_ns: float
    cpu_ns: float


Round = Mapping[str, Sample]


@dataclass(frozen=True)
class Aim:
    """A promise: ``number`` of a round, and the most or the least that its median may be.

    unit: printed after the number, "" for a quotient.
    """

    text: str
    number: Callable[[Round], float]
    most: float | None = None
    least: float | None = None
    unit: str = ""

    def reached(self, median: float) -> bool | None:
        """Whether the promise is kept; None if there is none."""
        if self.most is not None:
            return median <= self.most
        return None if self.least is None else median >= self.least


@dataclass(frozen=True)
class Case:
    """Subjects to compare. ``batches``: how many of each a round times."""

    name: str
    title: str
    batches: int
    subjects: tuple[Subject, ...]
    aims: tuple[Aim, ...]
    unit: str = "ns per ID"


def _over(subject: str, base: str) -> Callable[[Round], float]:
    return lambda found: found[subject].wall_ns / found[base].wall_ns


_SINGLE = Case(
    "single",
    "One ID per call, one thread",
    200,
    (
        frazil_calls("frazil", "wide"),
        *map(
            peer_calls,
            [
                "object()",
                "time.time_ns()",
                "a def with a lock",
                "oneflake, 20-bit sequence",
                "sonyflake-turbo, 4,096 machines",
                "fastuuidv7, gen_id",
                "uuid-utils, uuid7",
                "snowflake-id",
                "flakeid",
                "tsidpy",
                "python-ulid",
                "uuid.uuid1",
                "uuid.uuid4",
            ],
        ),
    ),
    (
        Aim(
            "`ids()` over oneflake, both with a 20-bit sequence",
            _over("frazil", "oneflake, 20-bit sequence"),
            most=1.0,
        ),
        Aim("`ids()` over `object()`", _over("frazil", "object()"), most=1.3),
    ),
)

_RATE = Case(
    "rate",
    "The default layout at its limit: 4,096 a millisecond, no lead",
    1,
    (
        frazil_calls("frazil", "default", count=2 * _MANY),
        frazil_calls("frazil, wide: never waits", "wide", count=2 * _MANY),
        peer_calls("oneflake, 12-bit sequence", count=2 * _MANY),
    ),
    (
        Aim(
            "IDs made, of the 4,096 that each millisecond has",
            lambda found: _CAP_NS / found["frazil"].wall_ns,
            least=0.98,
        ),
        Aim(
            "CPU time per ID, over that of a layout that never waits",
            lambda found: found["frazil"].cpu_ns / found["frazil, wide: never waits"].cpu_ns,
            most=1.5,
        ),
    ),
)

_TAKE = Case(
    "take",
    "Lists of 10,000, lead 1 s",
    40,
    (
        frazil_take("frazil, default scheme", "default", 10_000),
        frazil_take("frazil, wide", "wide", 10_000),
        list_range("default", 10_000),
        peer_take("sonyflake-turbo, 4,096 machines", 10_000),
        peer_take("flakeid", 10_000),
    ),
    (
        Aim(
            "`take(10_000)`, default scheme, over `list(range(n, n + 10_000))`",
            _over("frazil, default scheme", "list(range(n, m))"),
            most=1.15,
        ),
        Aim(
            "`take(10_000)`, wide, over `list(range(n, n + 10_000))`",
            _over("frazil, wide", "list(range(n, m))"),
            most=1.15,
        ),
    ),
)

_ARRAY = Case(
    "array",
    "Arrays of 1,000,000, lead 1 s",
    1,
    (
        frazil_array("frazil, default scheme", "default", 1_000_000),
        frazil_array("frazil, wide", "wide", 1_000_000),
        frazil_array("frazil, default, after a rest", "default", 1_000_000, in_use=False),
        arange("default", 1_000_000),
    ),
    (
        Aim(
            "`array(1_000_000)`, default scheme, over `numpy.arange`",
            _over("frazil, default scheme", "numpy.arange"),
            most=1.5,
        ),
        Aim(
            "`array(1_000_000)`, wide, over `numpy.arange`",
            _over("frazil, wide", "numpy.arange"),
            most=1.5,
        ),
    ),
)

_THREADS = Case(
    "threads",
    "Four threads on one generator",
    1,
    (
        frazil_threads("frazil, 1 thread", 1, 2 * _MANY),
        frazil_threads("frazil, 4 threads", 4, 2 * _MANY),
        peer_threads("oneflake, 20-bit sequence", "oneflake, 1 thread", 1, 2 * _MANY),
        peer_threads("oneflake, 20-bit sequence", "oneflake, 4 threads", 4, 2 * _MANY),
        peer_threads("a def with a lock", "a def with a lock, 1 thread", 1, 2 * _MANY),
        peer_threads("a def with a lock", "a def with a lock, 4 threads", 4, 2 * _MANY),
    ),
    (
        Aim(
            "IDs a second of four threads, over one thread's",
            _over("frazil, 1 thread", "frazil, 4 threads"),
            least=0.9,
        ),
    ),
)

_PROCESSES = Case(
    "processes",
    "Two processes, one registry",
    1,
    (
        frazil_calls("frazil, 1 process", "wide", count=_MANY),
        frazil_calls("frazil, 2 processes", "wide", count=_MANY, workers=2),
        peer_calls("oneflake, 20-bit sequence", count=_MANY, name="oneflake, 1 process"),
        peer_calls(
            "oneflake, 20-bit sequence", count=_MANY, name="oneflake, 2 processes", workers=2
        ),
    ),
    (
        Aim(
            "IDs a second of two processes, over one's",
            _over("frazil, 1 process", "frazil, 2 processes"),
        ),
    ),
)

_INTERPRETED = Case(
    "interpreted",
    "Without a compiler, one ID per call",
    50,
    (
        frazil_calls("frazil, interpreted", "wide", pure=True),
        *map(peer_calls, ["a def with a lock", "snowflake-id", "flakeid", "tsidpy"]),
    ),
    (
        Aim(
            "`ids()`, interpreted, over snowflake-id, which threads may not share",
            _over("frazil, interpreted", "snowflake-id"),
            most=1.0,
        ),
    ),
)

_LAYOUTS = Case(
    "layouts",
    "Other layouts, one ID per call",
    100,
    (
        frazil_calls("plain", "wide"),
        frazil_calls("reversed time", "reversed"),
        frazil_calls("split fields", "split"),
        frazil_calls("shuffled", "shuffled"),
        frazil_calls("128 bits", "128 bits"),
    ),
    tuple(
        Aim(f"`ids()`, {name}, over plain", _over(name, "plain"))
        for name in ("reversed time", "split fields", "shuffled", "128 bits")
    ),
)

_LAYOUT_ARRAYS = Case(
    "layout-arrays",
    "Other layouts, arrays of 1,000,000",
    1,
    (
        frazil_array("plain", "wide", 1_000_000),
        frazil_array("reversed time", "reversed", 1_000_000),
        frazil_array("split fields", "split", 1_000_000),
        frazil_array("shuffled", "shuffled", 1_000_000),
    ),
    tuple(
        Aim(f"`array(1_000_000)`, {name}, over plain", _over(name, "plain"))
        for name in ("reversed time", "split fields", "shuffled")
    ),
)

# A new namespace waits one horizon. It is short here, because it is not what is measured.
_OPENED = "frazil.open('memory:?horizon=5ms')()"
_FIRST = f"import frazil; {_OPENED}"
_IMPORT = Case(
    "import",
    "A new interpreter and one import",
    5,
    (
        starting("sys"),
        starting("frazil"),
        starting("frazil", then=_OPENED),
        starting("uuid"),
        starting("oneflake", "oneflake"),
        starting("uuid_utils", "uuid-utils"),
        starting("ulid", "python-ulid"),
        starting("flakeid", "flakeid"),
        starting("tsidpy", "tsidpy"),
    ),
    (
        Aim(
            "`import frazil`, beyond a bare interpreter's start",
            lambda found: (found["import frazil"].wall_ns - found["import sys"].wall_ns) / 1e6,
            most=30,
            unit=" ms",
        ),
        Aim(
            "the first ID of a program, beyond a bare interpreter's start",
            lambda found: (found[_FIRST].wall_ns - found["import sys"].wall_ns) / 1e6,
            unit=" ms",
        ),
    ),
    unit="ms",
)

CASES = {
    case.name: case
    for case in (
        _SINGLE,
        _RATE,
        _TAKE,
        _ARRAY,
        _THREADS,
        _PROCESSES,
        _INTERPRETED,
        _LAYOUTS,
        _LAYOUT_ARRAYS,
        _IMPORT,
    )
}
