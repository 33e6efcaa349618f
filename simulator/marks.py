"""Marks: the interesting states that a run came through, counted by name.

A simulator that never gets into the rare states passes without having shown anything, and nobody
sees it. So whatever is worth reaching has a name here, is counted where it happens, and a run that
has not reached all of them has not shown what it is for.
"""

from collections import Counter

__all__ = ["MARKS", "Marks"]

MARKS = {
    "guard hit": "a verb found that the store forgot, and set the guard",
    "wait answered": "a grant was put off: nothing could be given yet",
    "pool full": "a slot was given that somebody still held",
    "stolen while paused": "the holder of a slot that was given away was paused",
    "claim lost": "a renewal was refused",
    "late renewal": "a claim was made longer after its end had passed",
    "horizon reached": "a claim was made to reach as far as anything may",
    "offset absorbed": "the store's clock stepped back, and now did not",
    "offset shrank": "what was absorbed was worked off again",
    "witness refused": "a step forward was not believed",
    "leap smeared": "a verb was told the time by a clock amid a leap second's smear",
    "member smeared": "an ID was issued by a clock amid a leap second's smear",
    "store booted": "the store's host came back with another time",
    "clock from before": "a verb was told a time before the layout's epoch",
    "request lost": "a request never came to the store",
    "reply lost": "a verb was done and its member does not know",
    "request repeated": "a verb was done a second time, later",
    "request overtaken": "a request came after a later one of its member",
    "overtaken by others": "a request came after a later one of another member",
    "reply overtaken": "a reply came when its member awaited another, and was thrown away",
    "struck while asking": "a fault came between a member's request and its reply",
    "partition": "a member could not reach the store",
    "store down": "the store was not there",
    "tail lost": "the store came back without its last writes",
    "failover": "an older replica with a clock of its own took over",
    "wiped": "the store came back empty",
    "restored": "an old backup was put in the store's place",
    "told by a member": "a member remembered what the store had lost without a sign",
    "claim released": "an idle or closing member gave its claim back",
    "release refused": "a release came too late, or twice",
    "lead used": "an ID was issued ahead of the clock, inside the claim",
    "out of order": "an ID was smaller than an earlier one of another member, within the bound",
    "lead exhausted": "a walk had to wait for the clock",
    "spent in pause": "a claim's time passed while its member was paused",
    "forked": "a child found that it is not its parent",
    "child left": "a child ended and released nothing of its parent's",
    "crashed": "a member died and another began in its place",
    "booted": "a member's host came back with another time, and its boot clock anew",
    "double start": "one more member began beside the others",
    "closed": "a member closed while it held a claim",
    "struck in a step": "an exception struck a caller between two steps",
    "struck while calling": "it struck a caller who was calling its keeper",
    "struck while closing": "it struck a caller who was closing",
    "closed while asking": "a member closed while a request about its claim was on its way",
    "block given": "runs or counter values were given, where nobody's could be made longer",
    "block made longer": "a member's runs or values were made more before they were spent",
    "block queued": "an ID was issued while the next block lay ready behind the present one",
    "strict": "a value of a counter was issued that was taken when it was asked for",
    "counter refused": "a verb found a counter that was lost, replaced or gone back",
    "counter moved on": "a lost counter was begun anew, behind all that it ever gave",
    "minted": "IDs were had without a claim",
}


class Marks:
    """How often each mark was reached."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def hit(self, mark: str) -> None:
        """Count one; the name must be known."""
        assert mark in MARKS, mark
        self.counts[mark] += 1

    def missing(self) -> list[str]:
        """The marks not reached."""
        return [mark for mark in MARKS if not self.counts[mark]]

    def add(self, other: "Marks") -> None:
        """Count another's too."""
        self.counts.update(other.counts)
