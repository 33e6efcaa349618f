"""The text form of a layout.

A layout that exists only as code cannot be typed at a prompt, stored beside its IDs, or compared
with that of another host. So a layout has a short text that round-trips, most significant bit
first::

    sign:1=0 time:41 node:10 sequence:12 @1ms since 2016-02-18T09:43:20.316Z
    time:42~ sequence:6 node[10..8] mode:1=0 node[7..0] cluster:4=0 @1ms since 1970-01-01T00:00:00Z
    version:3=0 time:32 sequence:8 node:4 @1s since ?

A word is ``name:bits``, or ``name[high..low]`` for a piece, then ``~`` if the value is reversed,
then ``=value`` for a constant. ``node.worker:5`` is a part of the node. A layout with a time ends
with the tick and the epoch. ``?`` is an epoch that is chosen at deployment, and a date alone is its
midnight in UTC. An unknown unit, or a moment without ``Z``, is an error. This module reads words;
``field`` and ``layout`` check the pieces.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from frazil.errors import LayoutError, brief
from frazil.inputs.duration import UNITS_US, exact_us
from frazil.layout.field import ROLES, Piece, Role
from frazil.system.clock import moment_text, to_us

Parsed = tuple[tuple[Piece, ...], int | None, int | None]
_WORD = re.compile(
    r"(?P<part>node\.)?(?P<name>[a-z][a-z0-9_]*)"
    r"(?::(?P<bits>[0-9]{1,4})|\[(?P<high>[0-9]{1,4})\.\.(?P<low>[0-9]{1,4})\])"
    r"(?P<reversed>~)?(?:=(?P<value>[0-9]{1,40}))?"
)
_TICK = re.compile(r"@([0-9]{1,18}(?:\.[0-9]{1,9})?)(us|ms|s)")
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z)?")


def parse_layout(text: str) -> Parsed:
    """Pieces, tick and epoch (µs; None if absent or ``?``) of a layout string, or LayoutError."""
    if not isinstance(text, str):
        raise LayoutError(
            f"a layout string must be a str, not {type(text).__name__}; write it like "
            "'time:42 node:10 sequence:12 @1ms since 2025-01-01T00:00:00Z'",
            field=None,
            value=text,
            limit=None,
        )
    words = [(match[0], match.start() + 1) for match in re.finditer(r"\S+", text)]
    end = next((i for i, (word, _) in enumerate(words) if word.startswith("@")), len(words))
    pieces = tuple(_piece(*word) for word in words[:end])
    if end == len(words):
        return pieces, None, None
    tick_us = _tick(*words[end])
    rest = words[end + 1 :]
    if len(rest) != 2 or rest[0][0] != "since":
        wrong = rest[2:] if rest and rest[0][0] == "since" else rest
        rule = "a tick is followed by 'since' and the epoch, and nothing after it"
        raise _refused(*(wrong or words[-1:])[0], rule)
    return pieces, tick_us, _epoch(*rest[1])


def format_layout(pieces: Iterable[Piece], tick_us: int | None, epoch_us: int | None) -> str:
    """The canonical text of a layout; ``parse_layout`` returns the arguments."""
    pieces = tuple(pieces)
    names = [piece.name for piece in pieces]
    words = [_word(piece, whole=names.count(piece.name) == 1) for piece in pieces]
    if tick_us is not None:
        since = "?" if epoch_us is None else moment_text(epoch_us)
        words.append(f"@{_tick_text(tick_us)} since {since}")
    return " ".join(words)


def _piece(word: str, position: int) -> Piece:
    match = _WORD.fullmatch(word)
    if match is None:
        rule = (
            "a field is name:bits or name[high..low], then ~ if reversed, then =value if constant"
        )
        raise _refused(word, position, rule)
    name = match["name"]
    role: Role = "node" if match["part"] else next((r for r in ROLES if r == name), "fixed")
    if match["part"] and name == "node":
        raise _refused(word, position, "a part of the node needs a name of its own")
    if match["bits"] is not None:
        high, low = int(match["bits"]) - 1, 0
    else:
        high, low = int(match["high"]), int(match["low"])
    if high < low:
        raise _refused(word, position, "a field has at least one bit, and high..low starts high")
    value = None if match["value"] is None else int(match["value"])
    return Piece(name, role, high, low, match["reversed"] is not None, value)


def _word(piece: Piece, *, whole: bool) -> str:
    extent = f":{piece.bits}" if whole else f"[{piece.high}..{piece.low}]"
    mark = "~" if piece.reversed else ""
    value = "" if piece.value is None else f"={piece.value}"
    return f"{piece.label}{extent}{mark}{value}"


def _tick(word: str, position: int) -> int:
    match = _TICK.fullmatch(word)
    tick_us, rest, _ = exact_us(match[1], match[2]) if match else (0, 0, 0)
    if not tick_us or rest:
        rule = "a tick is @ and a whole number of microseconds, like @1ms, @10us, @1s"
        raise _refused(word, position, rule)
    return tick_us


def _tick_text(tick_us: int) -> str:
    unit = next(unit for unit in ("s", "ms", "us") if tick_us % UNITS_US[unit] == 0)
    return f"{tick_us // UNITS_US[unit]}{unit}"


def _epoch(word: str, position: int) -> int | None:
    if word == "?":
        return None
    try:
        if not _MOMENT.fullmatch(word):
            raise ValueError(word)
        return to_us(datetime.fromisoformat(word.removesuffix("Z")).replace(tzinfo=UTC))
    except ValueError:
        rule = "an epoch is a UTC moment like 2025-01-01T00:00:00Z, or ?"
        raise _refused(word, position, rule) from None


def _refused(word: str, position: int, rule: str) -> LayoutError:
    return LayoutError(
        f"layout string, character {position}: cannot read {brief(word)}; {rule}",
        field=None,
        value=word,
        limit=None,
        position=position,
    )
