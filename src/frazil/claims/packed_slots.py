"""A record's slots, or all of it, as one value, for stores with a row or a key for a namespace.

Such a store reads and writes all slots in every verb while the record is locked. A verb changes one
slot of thousands and must not spend time on the others, as it would with an object or a JSON text
for each slot.

So slots are stored in columns, sorted by number: arrays of machine integers that are read and
written by copying memory. A slot is found by bisection, put by changing one entry, and chosen by
scanning one column. Tokens take 8 bytes, because members draw 8 bytes; a token of another form is
stored as text beside the columns. Each holder's name is stored once. No slot is ever dropped: old
slots show which node numbers were used and given back, and those are granted first.

Large values are compressed to about half: etcd refuses requests over 1.5 MiB, and the 32,768 slots
of 2,048 generators in 16 clusters exceed that. Small values are not compressed, to save time,
unless many are written in one request.
"""

import json
import sys
import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import fields
from struct import Struct
from typing import TypeVar

from frazil.claims.record import Record
from frazil.claims.slots import UNTOUCHED, Slot, Slots, fit_rank
from frazil.errors import ConfigError

Notes = TypeVar("Notes")

_PLAIN, _DEFLATED = b"\x01", b"\x02"  # the version of the format, and its form
_DEFLATE_FROM = 1 << 18
_DEFLATE_MANY_FROM = 1 << 12
_HEAD = Struct("<II")  # how many slots, how many bytes of text
_CODES = ("Q", "q", "q", "q", "Q", "I")  # number, until, start, since, token, holder
_OTHER = (1 << 64) - 1  # stands for a token that is not 16 hexadecimal digits
_HEX = frozenset("0123456789abcdef")


class PackedSlots(Slots):
    """The slots of a namespace; see ``slots.Slots``. ``PackedSlots(slots.pack())`` is a copy."""

    __slots__ = ("_holder", "_n", "_names", "_others", "_since", "_start", "_token", "_until")

    def __init__(self, packed: bytes = b"") -> None:
        columns = [array(code) for code in _CODES]
        names, others = json.loads(_unpack(packed, columns)) if packed else ([""], {})
        self._n, self._until, self._start, self._since, self._token, self._holder = columns
        self._names: list[str] = names
        self._others: dict[int, str] = {int(n): token for n, token in others.items()}

    def pack(self, *, one_of_many: bool = False) -> bytes:
        """All slots, as bytes. one_of_many: whether others go into the same request."""
        self._forget_names()
        text = json.dumps([self._names, self._others], separators=(",", ":")).encode()
        columns = (self._n, self._until, self._start, self._since, self._token, self._holder)
        body = b"".join([_HEAD.pack(len(self._n), len(text)), *map(_little, columns), text])
        if len(body) < (_DEFLATE_MANY_FROM if one_of_many else _DEFLATE_FROM):
            return _PLAIN + body
        return _DEFLATED + zlib.compress(body, 1)

    def get(self, n: int) -> Slot:
        i = bisect_left(self._n, n)
        return self._slot(i) if self._n[i : i + 1] == array("Q", [n]) else UNTOUCHED

    def put(self, n: int, slot: Slot) -> None:
        assert 0 <= slot.start <= slot.until
        i = bisect_left(self._n, n)
        if self._n[i : i + 1] != array("Q", [n]):
            self._n.insert(i, n)
            for column in (self._until, self._start, self._since, self._token, self._holder):
                column.insert(i, 0)
        self._until[i], self._start[i], self._since[i] = slot.until, slot.start, slot.since_us
        self._token[i] = self._number(n, slot.token)
        if self._names[self._holder[i]] != slot.holder:
            if slot.holder not in self._names:
                self._names.append(slot.holder)
            self._holder[i] = self._names.index(slot.holder)

    def best_free(self, now: int, guard: int, among: range, late_from: int) -> int | None:
        if guard > now:
            return None
        low, high = self._span(among)
        columns = (self._n[low:high], self._until[low:high], self._token[low:high])
        ranks = [
            fit_rank(n, until, token, guard, late_from)
            for n, until, token in zip(*columns, strict=True)
            if until <= now
        ]
        untouched = self._untouched(among)
        if untouched is not None:
            ranks.append(fit_rank(untouched, 0, 0, guard, late_from))
        return min(ranks)[-1] if ranks else None

    def lowest_floor(self, now: int, guard: int, among: range) -> int:
        low, high = self._span(among)
        best = None
        columns = (self._until[low:high], self._token[low:high], self._n[low:high])
        for until, token, n in zip(*columns, strict=True):
            rank = (max(until, guard), token > 0 and until > now, n)
            if best is None or rank < best:
                best = rank
        free = self._untouched(among)
        if free is not None and (best is None or (guard, False, free) < best):
            return free
        assert best is not None  # an empty range has nothing to choose from
        return best[2]

    def void_tokens(self) -> None:
        size = len(self._n)
        for i, token in enumerate(self._token):
            if token:
                self._start[i] = self._until[i]
        self._since, self._token = array("q", bytes(8 * size)), array("Q", bytes(8 * size))
        self._holder = array("I", [0]) * size
        self._names, self._others = [""], {}

    def stored(self) -> Iterator[tuple[int, Slot]]:
        return ((n, self._slot(i)) for i, n in enumerate(self._n))

    def _slot(self, i: int) -> Slot:
        number = self._token[i]
        token = "" if not number else f"{number:016x}"
        if number == _OTHER:
            token = self._others[self._n[i]]
        holder = self._names[self._holder[i]]
        return Slot(self._until[i], self._start[i], token, holder, self._since[i])

    def _number(self, n: int, token: str) -> int:
        """The entry of a token in its column."""
        self._others.pop(n, None)
        if not token:
            return 0
        if len(token) == 16 and _HEX.issuperset(token) and 0 < int(token, 16) < _OTHER:
            return int(token, 16)
        self._others[n] = token
        return _OTHER

    def _span(self, among: range) -> tuple[int, int]:
        """The indices of a range of slots in the columns."""
        return bisect_left(self._n, among.start), bisect_left(self._n, among.stop)

    def _untouched(self, among: range) -> int | None:
        """The lowest slot of a range that was never put; None if there is none.

        Up to that slot, the difference between a slot's number and its index is constant.
        """
        low, high = self._span(among)
        offset = among.start - low
        free = bisect_right(range(low, high), offset, key=lambda i: self._n[i] - i) + low + offset
        return free if free < among.stop else None

    def _forget_names(self) -> None:
        """Drop the names of past holders if there are many."""
        used = set(self._holder)
        if len(self._names) < 2 * len(used) + 16:
            return
        kept = sorted(used | {0})
        new_index = {old: new for new, old in enumerate(kept)}
        self._names = [self._names[old] for old in kept]
        self._holder = array("I", [new_index[old] for old in self._holder])


def packed(record: Record, noted: object = (), *, one_of_many: bool = False) -> bytes:
    """A record: a line of JSON, with what is noted beside it, and the slots (see ``pack``)."""
    assert isinstance(record.slots, PackedSlots)
    head = {f.name: getattr(record, f.name) for f in fields(record) if f.name != "slots"}
    head |= {"noted": noted} if noted else {}
    return json.dumps(head).encode() + b"\n" + record.slots.pack(one_of_many=one_of_many)


def unpacked(value: bytes, notes: Callable[..., Notes], cure: str) -> tuple[Record, Notes]:
    """The record of such a value, and what is noted beside it; both are empty without a value.

    cure: how to delete it. Raises ConfigError for a value of another program.
    """
    if not value:
        return Record(PackedSlots()), notes()
    head, _, slots = value.partition(b"\n")
    try:
        told = json.loads(head)
        noted = notes(**told.pop("noted", {}))
        return Record(PackedSlots(slots), **told), noted
    except (ValueError, TypeError, AttributeError) as error:
        raise ConfigError(
            "the record of this namespace was written by another program or version of frazil; "
            f"delete it ({cure}): members then wait one horizon"
        ) from error


def _little(column: "array[int]") -> bytes:
    """A column's bytes, the least significant first on every machine."""
    if sys.byteorder == "big":
        column = column[:]
        column.byteswap()
    return column.tobytes()


def _unpack(packed: bytes, columns: "list[array[int]]") -> bytes:
    """Fill the columns, and return the text after them."""
    body = memoryview(packed)[1:]
    if packed[:1] == _DEFLATED:
        body = memoryview(zlib.decompress(body))
    size, text = _HEAD.unpack_from(body)
    at = _HEAD.size
    for column in columns:
        end = at + size * column.itemsize
        column.frombytes(body[at:end])
        if sys.byteorder == "big":
            column.byteswap()
        at = end
    return bytes(body[at : at + text])
