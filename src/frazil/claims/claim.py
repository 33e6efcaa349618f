"""Claims: the owners of the regions of a layout, as plain values.

A claim is a slot (a node number; 0 if the layout has none) and a half-open interval
``[start, until)`` on the layout's axis: ticks, run numbers or counter values. The holder may use
every cell inside, at any later moment, whatever the clocks say then. A claim is not a lease: it
does not end when time passes. Only the right to renew it can end.

``Terms`` are the constants that all members of a namespace share. A member with other terms is
refused, because it would draw other regions from the same record. ``LastSeen`` is what a member
remembers of a store and sends with every verb, so that a loss is noticed, and so that the guard
after it is beyond everything that was granted. ``Claim``, ``Wait`` and ``Lost`` are the replies.

Units: ``_ticks`` and plain axis values count from the layout's epoch; ``_us`` are microseconds
(moments: since 1970).
"""

import re
from typing import NamedTuple

from frazil.errors import ConfigError
from frazil.system.digest import digest

_PAST = re.compile(r" \| past from (\d+)$")


class Terms(NamedTuple):
    """The constants of a namespace.

    identity: fingerprint of the numbers (layout, constants, shuffle). layout: its text, for error
    messages. slots: what this registry grants; a slot modulo ``nodes`` is a node number, and the
    quotient holds the layout's constants. end: the first axis value that does not exist. tick_us is
    0 for a layout without time, which has no epoch; ``horizon_ticks`` is then the longest block.
    namespace: its name, for error messages; "" if unknown. shared: whether processes share the
    record, or each has its own.
    """

    identity: str
    layout: str
    slots: range
    nodes: int
    end: int
    tick_us: int
    epoch_us: int
    horizon_ticks: int
    namespace: str = ""
    shared: bool = True

    @property
    def named(self) -> str:
        """The namespace, as error messages name it."""
        return f"namespace {self.namespace!r}" if self.namespace else "this namespace"

    @property
    def timed(self) -> bool:
        """Whether the axis is time."""
        return self.tick_us > 0

    @property
    def slack_ticks(self) -> int:
        """How far two clocks may be apart before a record waits for the later one."""
        return self.horizon_ticks // 8

    @property
    def wait_ticks(self) -> int:
        """How long nothing is granted after a loss: a horizon and an eighth."""
        return self.horizon_ticks + -(-self.horizon_ticks // 8)

    @property
    def fingerprint(self) -> str:
        """A short text that differs if any of the terms that matter does."""
        return digest(f"{self.identity} {self.tick_us} {self.epoch_us} {self.horizon_ticks}")

    def tick_at(self, us: int) -> int:
        """The tick of a moment (microseconds since 1970)."""
        return (us - self.epoch_us) // self.tick_us

    def us_at(self, tick: int) -> int:
        """The moment at which a tick begins."""
        return self.epoch_us + tick * self.tick_us


class LastSeen(NamedTuple):
    """The identity, revision and clock of the record in the last reply.

    The rest is a member's own (see ``VerbRequest.memory``). reach: the first tick that nothing in
    this store can have reached, as far as the member knows; a counter's reply has the one after the
    value at which a person let it start. sent_us and told_us are times of its boot clock: when it
    sent the request of that reply, and when it was first told this ``sid``. shelf: the part of the
    record whose revision this is (see ``shelves``).
    """

    sid: str = ""
    revision: int = 0
    now_us: int = 0
    reach: int = 0
    sent_us: int = -1
    told_us: int = 0
    shelf: int = 0


class Claim(NamedTuple):
    """A region, its owner's token, and the registry's clock when it was granted.

    token is "" for a region that cannot be renewed or released (``mint``).
    """

    slot: int
    start: int
    until: int
    token: str
    now_us: int
    seen: LastSeen = LastSeen()

    def time(self, terms: Terms) -> tuple[int, int]:
        """The registry's clock when this was granted: a tick, and nanoseconds into it."""
        if not terms.timed:
            return 0, 0
        since_us = self.now_us - terms.epoch_us
        return since_us // terms.tick_us, since_us % terms.tick_us * 1000


class VerbRequest(NamedTuple):
    """A member's request: what it remembers, its wall clock as a witness, its claim, its name.

    token: a fresh random text; a grant makes it the token of the new claim. boot_us: the member's
    boot clock when it sends the request.
    """

    seen: LastSeen
    witness_us: int
    token: str
    holder: str = ""
    held: Claim | None = None
    boot_us: int = 0

    @property
    def clock_us(self) -> int:
        """The clock of the member's last reply, continued until now; it is not behind the store's.

        It was read after the request was sent. Two clocks differ by less than a thousandth. Without
        a time of sending (a reply that did not pass through ``memory``) it is not continued.
        """
        passed_us = max(0, self.boot_us - self.seen.sent_us) if self.seen.sent_us >= 0 else 0
        return self.seen.now_us + passed_us + -(-passed_us // 1000) if self.seen.sid else 0

    @property
    def known_us(self) -> int:
        """How long the member has known the ``sid`` that it remembers."""
        return self.boot_us - self.seen.told_us

    def memory(
        self, reply: "Claim | Wait | Lost | LastSeen", heard_us: int, terms: Terms
    ) -> LastSeen:
        """What the member remembers after a reply to this request, heard at ``heard_us``.

        A reply of another ``sid`` may be one of a store that lost the record and whose clock is
        behind. Then the clock of the lost record is remembered as a reach.
        """
        told = reply if isinstance(reply, LastSeen) else reply.seen
        same = told.sid == self.seen.sid
        reach = max(self.seen.reach, told.reach)
        if isinstance(reply, Claim):
            reach = max(reach, reply.until)
        if terms.timed and not same:
            clock = terms.tick_at(self.clock_us)
            if clock > terms.tick_at(told.now_us) + terms.slack_ticks:
                reach = max(reach, clock + terms.wait_ticks)
        told_us = self.seen.told_us if same else heard_us
        return told._replace(reach=reach, sent_us=self.boot_us, told_us=told_us)


class Wait(NamedTuple):
    """Nothing can be granted now; repeat the request after ``wait_us``.

    guarded: the namespace is new, or its store lost claims. Else all node numbers are in use.
    """

    wait_us: int
    seen: LastSeen
    guarded: bool = False

    @classmethod
    def ticks(cls, ticks: int, terms: Terms, seen: LastSeen, *, guarded: bool = False) -> "Wait":
        """Wait until the tick ``ticks`` after the one of the registry's ``now`` begins.

        A member that waits whole ticks retries at the same moment of each tick, and a holder that
        renews earlier in the tick would always be first.
        """
        into_us = (seen.now_us - terms.epoch_us) % terms.tick_us if terms.timed else 0
        return cls(ticks * terms.tick_us - into_us, seen, guarded)


class Lost(NamedTuple):
    """The claim cannot be renewed or released: another member has the slot, or the store lost it.

    The holder may still use the claim, up to the ``until`` of its last grant. For ``claim_past``:
    every slot has granted some of the ticks.
    """

    seen: LastSeen


class LossNoticed(ConfigError):
    """A verb is refused, and the record keeps what the member remembers of a loss.

    Other verbs that raise change nothing.
    """


class Holding(NamedTuple):
    """One slot and its holder. since_us: the moment of the holder's grant."""

    slot: int
    start: int
    until: int
    held: bool
    holder: str
    since_us: int


class Snapshot(NamedTuple):
    """A copy of a record's contents.

    layout and fingerprint: of its terms. now_us: the registry's clock. away: the errors of the
    stores of a partitioned registry that did not answer. past_from: the tick from which on a person
    declared the past (see ``past``).
    """

    layout: str
    fingerprint: str
    now_us: int
    holdings: tuple[Holding, ...]
    away: tuple[str, ...] = ()
    past_from: int | None = None


def past_in(layout: str) -> tuple[str, int | None]:
    """The layout that a record shows, without what was declared; and the tick from which on."""
    found = _PAST.search(layout)
    return (layout[: found.start()], int(found[1])) if found else (layout, None)


def layout_mismatch(theirs: str, terms: Terms) -> ConfigError:
    """The error for a namespace with other terms; it shows both layouts."""
    from frazil.layout.drawing import draw
    from frazil.layout.layout import Layout

    theirs = past_in(theirs)[0]

    def show(text: str) -> str:
        text = text.rpartition(" | ")[0] if text.endswith(" shelves") else text
        return f"{text}\n{draw(Layout.parse(text.partition(' | ')[0]))}"

    problem = f"{terms.named} has another horizon or shuffle than yours"
    if theirs != terms.layout:
        both = f"{show(theirs)}\nand yours is\n{show(terms.layout)}"
        problem = f"{terms.named} has the layout\n{both}"
    return ConfigError(
        f"{problem}\nA namespace has one scheme, which all members use. Use that one, or another "
        'namespace (namespace="orders"; in the command, --namespace orders).',
        theirs=theirs,
        ours=terms.layout,
    )
