"""The state of a generator at one moment, and whether it will still have IDs in a moment.

A status is read from values that the generator has anyway: it sends no request, takes no lock and
waits for nothing, so a signal handler or an event loop may read one.

A store that is away is no fault while the rest of the claim lasts, and most stores are back before.
So a generator is unready only when its IDs are about to run out: with less than ``margin_s`` left,
a quarter of the horizon and at most 10 s (of a counter 10 s). That is the time in which a balancer
sends calls to another process.

A store that hangs refuses nothing: its first error comes after a time limit, when the IDs may have
run out. So a request that is late counts as one without an answer (``is_late``).
"""

from collections import Counter, deque
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from numbers import Real
from weakref import WeakSet

from frazil.inputs.arguments import expect
from frazil.system.process import at_fork

COUNTS = ("issued", "waits", "failures", "store_errors")  # the fields of a status that only grow

Counts = Counter[tuple[str, str, str, str]]  # by namespace, scheme, store and the name of the field
_FREED_MOST = 100

MARGIN_MOST_S = 10.0
_PROMPT_S = 0.1  # no answer is late before
_USUAL_TIMES = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """See ``frazil.Generator.status``. None: unknown, or without a meaning here.

    claimed_until: when the claim ends, by the store's clock. seconds_left: how long IDs are left
    without the store; of a layout without time at the pace since the last renewal. lead_s: how far
    timestamps are ahead of the store's clock. clock_offset_s: how far this host's clock is ahead of
    the store's, to half a tick. exhausted_in_s: until the time field is full. store_away_s: since
    when the store does not answer; 0 if it does. store_errors: requests that it did not answer.
    blocked: calls wait or fail, and no ID can be made now; why_blocked: the reason. issued: IDs
    made; the interpreted core leaves out one that a thread draws while another ends its tick.
    waits: how often a call waited for the store. failures: calls that ended without an ID. Neither
    counts ``ready``.
    """

    namespace: str
    scheme: str
    store: str
    closed: bool
    issued: int
    waits: int
    failures: int
    store_away_s: float
    store_errors: int
    last_error: str
    last_error_at: datetime | None
    claimed: bool = False
    node: int | None = None
    claimed_until: datetime | None = None
    seconds_left: float | None = None
    lead_s: float | None = None
    clock_offset_s: float | None = None
    exhausted_in_s: float | None = None
    blocked: bool = False
    why_blocked: str = ""
    margin_s: float = 0.0

    def why_unready(self, margin_s: float | None = None) -> str:
        """Why calls fail or are about to; "" if they do not. Without names of hosts."""
        expect("margin_s=", margin_s, (Real, type(None)), "a number of seconds")
        margin_s = self.margin_s if margin_s is None else margin_s
        if self.closed:
            return "the generator is closed"
        if self.exhausted_in_s is not None and self.exhausted_in_s <= 0:
            return "the time field of the layout is full; choose another layout"
        if self.blocked:
            return f"no ID can be made now: {self.why_blocked}"
        left_s = self.seconds_left
        if self.store_away_s and (not self.claimed or (left_s is not None and left_s < margin_s)):
            left = f"{left_s or 0.0:.1f} s of IDs are left"
            return f"the store does not answer for {self.store_away_s:.0f} s, and {left}"
        return ""


def is_late(silent_s: float, usual_s: float, left_s: float) -> bool:
    """Whether a request that waits for ``silent_s`` is late. usual_s: the time of the last answer.

    It is after a quarter of the time that was left when it was sent (``silent_s + left_s``). A
    store that is usually slow may take more, but not more than three quarters.
    """
    if silent_s < _PROMPT_S or silent_s < left_s / 3:
        return False
    return silent_s > _USUAL_TIMES * usual_s or silent_s > left_s * 3


open_generators: WeakSet[object] = WeakSet()
"""What in this process has a ``status``: generators that were not freed yet."""

_freed: deque[Counts] = deque()
at_fork(after_in_child=_freed.clear)  # they are the parent's


def counts_of(status: Status) -> Counts:
    """The counts of a generator."""
    key = (status.namespace, status.scheme, status.store)
    return Counter({(*key, name): getattr(status, name) for name in COUNTS})


def freed(status: Status) -> None:
    """Keep the counts of a generator that is freed.

    A finalizer runs in any thread, which may hold any lock. So this takes none: each step is
    atomic. Counts that are just added up are missing for a moment in ``freed_counts``.
    """
    _freed.append(counts_of(status))
    if len(_freed) > _FREED_MOST:
        total: Counts = Counter()
        with suppress(IndexError):  # other threads add up the rest
            for _ in range(_FREED_MOST // 2):
                total.update(_freed.popleft())
        _freed.append(total)


def freed_counts() -> Counts:
    """The sums of the counts of all generators that were freed."""
    total: Counts = Counter()
    for counts in _freed.copy():
        total.update(counts)
    return total
