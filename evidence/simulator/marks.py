"""Marks: the interesting states that a run reaches, counted by name.

A simulator that never reaches the rare states passes and proves nothing, and nobody notices. So
each state that matters has a name here and is counted where it occurs, and a run must reach all.
"""

from collections import Counter

__all__ = ["MARKS", "Marks"]

MARKS = {
    "guard hit": "a verb found that the store forgot, and set the guard",
    "wait answered": "a grant had to wait: nothing could be given yet",
    "pool full": "a slot was given that another member still held",
    "stolen while paused": "the holder of a slot that was granted to another was paused",
    "claim lost": "a renewal was refused",
    "late renewal": "a claim was renewed after its end",
    "horizon reached": "a claim was renewed up to the horizon",
    "offset absorbed": "the store's clock stepped back, and now did not",
    "offset shrank": "the offset of a step back became smaller",
    "witness refused": "a step forward was refused",
    "leap smeared": "a verb read a clock that was smearing a leap second",
    "member smeared": "an ID was issued by a clock that was smearing a leap second",
    "store booted": "the store's host came back with another time",
    "clock from before": "a verb read a time before the layout's epoch",
    "request lost": "a request never reached the store",
    "reply lost": "a verb was done, and its member does not know",
    "request repeated": "a verb was done a second time, later",
    "request overtaken": "a request arrived after a later one of its member",
    "overtaken by others": "a request arrived after a later one of another member",
    "reply overtaken": "a reply arrived when its member awaited another, and was discarded",
    "struck while asking": "a fault occurred between a member's request and its reply",
    "partition": "a member could not reach the store",
    "store down": "the store did not answer",
    "tail lost": "the store came back without its last writes",
    "failover": "an older replica with another clock took over",
    "successor": "a replica took over that had missed writes, and its clock was behind",
    "told of a loss": "a member told enough before anything was granted",
    "wiped": "the store came back empty",
    "restored": "the store was restored from an old backup",
    "told by a member": "a member remembered what the store had lost silently",
    "claim released": "an idle or closing member gave its claim back",
    "release refused": "a release arrived too late, or twice",
    "lead used": "an ID was issued ahead of the clock, inside the claim",
    "out of order": "an ID was smaller than an earlier one of another member, within the bound",
    "answered": "a member made an ID after one of another member",
    "lead exhausted": "a walk had to wait for the clock",
    "spent in pause": "a claim's time passed while its member was paused",
    "forked": "a child found that it is not its parent",
    "child left": "a child ended and released nothing of its parent",
    "crashed": "a member died and another started in its place",
    "booted": "a member's host came back with another time and a new boot clock",
    "double start": "one more member started beside the others",
    "closed": "a member closed while it held a claim",
    "struck in a step": "an exception interrupted a caller between two steps",
    "struck while calling": "it interrupted a caller that was calling its keeper",
    "struck while closing": "it interrupted a caller that was closing",
    "closed while asking": "a member closed while a request about its claim was on its way",
    "block given": "runs or counter values were given as a new block",
    "block made longer": "a member's block was extended before it was spent",
    "block queued": "an ID was issued while the next block was ready",
    "strict": "a counter issued a value that was fetched when it was requested",
    "counter refused": "a verb found a counter that was lost, replaced or older",
    "counter moved on": "a lost counter was restarted after all values that it ever gave",
    "shelf lost": "the store lost the record of one shelf",
    "all shelves asked": "a step on one shelf was not enough, and was repeated on all",
    "no slot is free on a shelf": "a shelf had no free slot, and others were asked",
    "minted": "IDs were issued without a claim",
}


class Marks:
    """How often each mark was reached."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def hit(self, mark: str) -> None:
        """Count a mark, whose name must be known."""
        assert mark in MARKS, mark
        self.counts[mark] += 1

    def missing(self) -> list[str]:
        """The marks not reached."""
        return [mark for mark in MARKS if not self.counts[mark]]

    def add(self, other: "Marks") -> None:
        """Add the counts of another."""
        self.counts.update(other.counts)
