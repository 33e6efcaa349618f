"""What happens to a generator and its store: records of the logger ``frazil``, and the last error.

A day without a fault has no record at WARNING. At INFO a claim's life can be read: granted, given
back or lost, and by which process. The claims on one node number are disjoint, so an ID was made by
the process that was granted its node number last, at or before the ID's tick. ``frazil.mint`` has
such a record too. Renewals are at DEBUG, unless they are late.

No record has a password: a store is named by its URL as it is shown.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from frazil.claims.claim import Claim, Terms
from frazil.claims.holder import Holder
from frazil.claims.record import JUMP_US
from frazil.errors import ClockError, FrazilError
from frazil.inputs.duration import offset_text
from frazil.inputs.masking import masked
from frazil.system import clock
from frazil.system.event_log import DEBUG, INFO, WARNING, tell

Report: TypeAlias = Callable[..., None]
"""Takes an event's name, which is a method of ``Journal``, and its facts."""

_LATE_S = 1.0
_NO_DIGITS = str.maketrans("", "", "0123456789")


def ignored(_event: str, **_facts: Any) -> None:
    """A ``Report`` that drops all events."""


class StoreJournal:
    """Tells the events of one generator and its store, at ``url``.

    ``last_error`` of the store, as text, at ``last_error_us``; "" if there was none. apart_us: how
    far this host's clock is ahead of the store's, if that is why no claim is granted; else None.
    """

    def __init__(self, url: str, namespace: str) -> None:
        self.last_error = ""
        self.last_error_us = 0
        self.apart_us: int | None = None
        self._url = url
        self._namespace = namespace
        self._here = f"namespace {namespace!r} at {url}"
        self._refused = ""

    def failed(self, error: FrazilError, *, first: bool) -> None:
        """The store does not answer. first: it answered the last time."""
        self._note(error)
        if first:
            self._tell_error("store away")

    def back(self, since_us: int) -> None:
        """The store answers again."""
        away_s = max(0, clock.wall_us() - since_us) / 1e6
        text = f"store back after {away_s:.1f} s: {self._here}"
        self._tell(WARNING, "store back", text, away_s=away_s)

    def refused(self, error: FrazilError) -> None:
        """The store refuses a verb. Told once until the next grant, whatever times it names."""
        self._note(error)
        if "witness_us" in error.facts:
            self.apart_us = error.facts["witness_us"] - error.facts["reading_us"]
        reason = self.last_error.translate(_NO_DIGITS)
        if self._refused == reason:
            return
        self._refused = reason
        event = "clock refused" if isinstance(error, ClockError) else "claim refused"
        self._tell_error(event)

    def closed(self, issued: int | None) -> None:
        """The generator was closed. issued: its IDs; None if it was freed without a close."""
        how = "freed" if issued is None else f"closed after {issued} IDs"
        self._tell(INFO, "generator closed", f"generator {how}: {self._here}", issued=issued)

    def _note(self, error: FrazilError) -> None:
        self.last_error, self.last_error_us = masked(error), clock.wall_us()

    def _tell_error(self, event: str) -> None:
        """Tell the last error. Most begin with the store's URL, which stands there already."""
        error = self.last_error.removeprefix(self._url).lstrip(": ")
        self._tell(WARNING, event, f"{event}: {self._here}: {error}")

    def _tell(self, level: int, event: str, text: str, **facts: Any) -> None:
        tell(
            level,
            event,
            f"{text}, process {Holder.here()}",
            namespace=self._namespace,
            store=self._url,
            process=str(Holder.here()),
            **facts,
        )


class Journal(StoreJournal):
    """The same of a generator with claims."""

    def __init__(self, url: str, terms: Terms) -> None:
        super().__init__(url, terms.namespace)
        self._terms = terms
        self._awaits = self._ahead = False

    def __call__(self, event: str, **facts: Any) -> None:
        """Tell an event. The name is that of a method, like ``granted``."""
        getattr(self, event)(**facts)

    def granted(self, claim: Claim) -> None:
        """A claim was granted."""
        self._refused, self._awaits = "", False
        self._compare(claim)
        begins_us = claim.start * self._terms.tick_us + self._terms.epoch_us
        ahead_s = (begins_us - claim.now_us) / 1e6 if self._terms.timed else 0.0
        # As after a loss: it begins where what was lost can have ended.
        facts: dict[str, Any] = {"usable_in_s": round(ahead_s, 3)} if ahead_s > 0 else {}
        self._claim(INFO, "claim granted", claim, **facts)

    def minted(self, claim: Claim) -> None:
        """A claim was granted for the IDs of one call of ``mint``."""
        self._compare(claim)
        self._claim(INFO, "claim granted", claim, mint=True)

    def renewed(self, claim: Claim, late_ticks: int = 0) -> None:
        """A claim was renewed. late_ticks: how long after its end."""
        self._compare(claim)
        late_s = late_ticks * self._terms.tick_us / 1e6
        if late_s > 0:
            level = WARNING if late_s > _LATE_S else INFO
            self._claim(level, "claim renewed late", claim, late_s=late_s)
        else:
            self._claim(DEBUG, "claim renewed", claim)

    def lost(self, claim: Claim, *, ended: bool) -> None:
        """A claim cannot be renewed. ended: it was over, so another process may have the node."""
        self._claim(INFO if ended else WARNING, "claim lost", claim, ended=ended)

    def given_back(self, claim: Claim, used: int) -> None:
        """A claim was given back from ``used`` on."""
        self._claim(INFO, "claim given back", claim, used)

    def awaited(self, wait_us: int, why: str, *, new: bool) -> None:
        """The store grants nothing for a while. Told once until the next grant.

        new: nothing was ever granted.
        """
        self.apart_us = None
        if self._awaits:
            return
        self._awaits = True
        text = f"no claim for {wait_us / 1e6:.1f} s: {self._here}: {why}"
        self._tell(INFO if new else WARNING, "claim awaited", text, wait_s=wait_us / 1e6)

    def loss_noticed(self) -> None:
        """The store has another record than before."""
        text = f"loss noticed: {self._here}: the store lost its claims, and has a new record"
        self._tell(WARNING, "loss noticed", text)

    def _compare(self, claim: Claim) -> None:
        """Tell once if the namespace's timestamps are far ahead of this host's clock."""
        ahead_us = claim.now_us - clock.wall_us()
        before, self._ahead = self._ahead, self._terms.timed and ahead_us > JUMP_US
        if self._ahead and not before:
            text = (
                f"clock ahead: {self._here}: its timestamps are {offset_text(ahead_us)} ahead of "
                f"this host's clock; see {ClockError.page}"
            )
            self._tell(WARNING, "clock ahead", text, ahead_s=ahead_us / 1e6)

    def _claim(
        self, level: int, event: str, claim: Claim, end: int | None = None, **facts: Any
    ) -> None:
        """Tell what happened to a claim, with its region up to ``end``, if not up to its own."""
        self.apart_us = None
        end = claim.until if end is None else end
        node = claim.slot % self._terms.nodes
        first, last = self._place(claim.start), self._place(end)
        more = "".join(f", {name}={fact}" for name, fact in facts.items())
        text = f"{event}: node {node}, {first} to {last}{more}, {self._here}"
        region = {"node": node, "start": claim.start, "end": end, "first": first, "last": last}
        self._tell(level, event, text, **region, **facts)

    def _place(self, value: int) -> str:
        """The moment of a tick; of a layout without time, the value."""
        terms = self._terms
        if not terms.timed:
            return str(value)
        return clock.sortable_text(value * terms.tick_us + terms.epoch_us)


def is_loss(before: str, now: str) -> bool:
    """Whether a store that told the first ``sid``, and now the second one, lost its record."""
    return bool(before) and before != now and _store_of(before) == _store_of(now)


def _store_of(sid: str) -> str:
    """The number of the store, if a registry has several; see ``partitioned``."""
    return sid.rpartition("@")[0]
