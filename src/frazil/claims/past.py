"""Past regions: ticks of earlier years, for rows that have an older moment of their own.

A job that gives IDs to rows of the past claims one slot and the ticks ``[start, stop)``, up to
``now`` at most, from a slot whose floor is at or before ``start``. The floor becomes ``stop``. That
is a claim like any other: nothing else ever uses a cell of it. It has one owner, which may use its
cells in any order, and no token: a renewal would reach beyond it, and a release would give used
ticks back. After a crash or a fork the job claims another region.

That nothing used these ticks *before the record existed*, the record cannot know: it is a person's
word (``declare_past``), kept as the tick from which on the past is known. It never moves the guard.
It stands in the layout's text in the record ("| past from 61"), which every store keeps and which
each noticed loss replaces: then the past is unknown again, until a person declares it again.

Without a word, the past is known from a minute after the last guard on: no claim of a lost record
reaches beyond the guard. A record that was made as new has no guard, and its past is unknown.

A loss that the record does not show (a copy put back that no member notices) gives the same past
away again, as that of a counter does, whatever the clocks show.
"""

from frazil.claims.claim import Claim, LastSeen, Lost, Terms, VerbRequest, Wait, past_in
from frazil.claims.record import Record
from frazil.claims.slots import Slot
from frazil.errors import ConfigError
from frazil.system.clock import moment_text

MARGIN_US = 60_000_000


def known_from(record: Record, terms: Terms) -> int | None:
    """The first tick that the record knows to be used only by its claims; None without one."""
    declared = past_in(record.layout)[1]
    if declared is not None or not record.guard:
        return declared
    return record.guard + -(-MARGIN_US // terms.tick_us)


def claim_past(
    record: Record,
    terms: Terms,
    ask: VerbRequest,
    reading_us: int,
    incarnation: str,
    region: tuple[int, int],
) -> Claim | Wait | Lost:
    """Grant the ticks of a region, ``(start, stop)``, for good. Lost: no slot has them left.

    ``stop`` is 0 for ``now``, and ``start`` -1 for the first tick that is known. Raises ConfigError
    for a past that is unknown, and for ticks in the future; then nothing was changed.
    """
    _check_time(terms)
    now_us = record.begin_verb(terms, ask, reading_us, incarnation)
    if (rest := record.rest_ticks(terms, ask, terms.tick_at(now_us))) > 0:
        return Wait.ticks(rest, terms, record.seen(terms, now_us), guarded=True)
    now = min(terms.tick_at(now_us), terms.end)
    known, (start, stop) = known_from(record, terms), region
    start, stop = known if start < 0 and known is not None else start, stop or now
    if known is None or start < known or (region[0] < 0 and known >= now):
        raise unknown_past(terms, known)
    if not start < stop <= now:
        raise ConfigError(
            f"{moment_text(terms.us_at(stop if stop > now else start))} is not in the past of "
            f"{terms.named}, which ends at {moment_text(terms.us_at(now))}; give stop=, and a "
            "start= before it, that are not after that moment",
            value=stop,
            limit=now,
        )
    n = record.slots.best_free(start, known, terms.slots, now - terms.horizon_ticks)
    if n is None:
        return Lost(record.seen(terms, now_us))
    assert max(record.slots.get(n).until, known) <= start < stop <= now  # I2, and no live tick
    record.slots.put(n, Slot(stop, start))
    return Claim(n, start, stop, "", now_us, record.seen(terms, now_us))


def declare_past(
    record: Record,
    terms: Terms,
    ask: VerbRequest,
    reading_us: int,
    incarnation: str,
    start: int,
) -> LastSeen | Wait:
    """Note a person's word: no ID has a tick from ``start`` on, but those of the record's claims.

    Raises ConfigError for a tick in the future; then nothing was changed.
    """
    _check_time(terms)
    now_us = record.begin_verb(terms, ask, reading_us, incarnation)
    now = terms.tick_at(now_us)
    if (rest := record.rest_ticks(terms, ask, now)) > 0:
        return Wait.ticks(rest, terms, record.seen(terms, now_us), guarded=True)
    if start > now:
        raise ConfigError(
            f"{moment_text(terms.us_at(start))} is not in the past, which ends at "
            f"{moment_text(now_us)}; give an earlier start=",
            value=start,
            limit=now,
        )
    record.layout = f"{terms.layout} | past from {start}"
    return record.seen(terms, now_us)


def _check_time(terms: Terms) -> None:
    if not terms.timed:
        raise ConfigError(
            f"the layout {terms.layout!r} has no time, so its IDs have no past; use a layout with "
            "a time"
        )


def unknown_past(terms: Terms, known: int | None) -> ConfigError:
    """The error for a region that begins before what is known."""
    since = "at all" if known is None else f"before {moment_text(terms.us_at(known))}"
    return ConfigError(
        f"it is unknown whether the past of {terms.named} is unused {since}; if no ID of it is "
        "that old, declare it once: frazil claims URL --declare-past-from 2015-01-01 (in Python "
        "frazil.declare_past)",
        limit=known,
    )
