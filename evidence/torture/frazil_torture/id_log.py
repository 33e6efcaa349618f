"""A log of issued IDs that survives ``kill -9``.

A test that keeps its IDs in memory loses them in a kill. So each generator has its own file and
appends each burst of IDs in one write: a header with its begin, its end and the number of calls
without an ID, and then the IDs. A partial write is recognised by its length. An empty file
``.first`` beside it shows that there are IDs.

Times are nanoseconds of the monotonic clock, which all processes of a host share, and which no
fault changes.
"""

import hashlib
import os
import re
import struct
import time
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

__all__ = ["DIED", "HUNG", "SLOW_NS", "Burst", "IdLog", "bursts", "complete_bytes", "number_of"]

DIED = "ended by itself"
"""The report of a process that ended early with an error."""

HUNG = "hung:"
"""The beginning of the report of a process that hung."""

SLOW_NS = 500_000_000
"""A burst that lasted so long ends, so that its length is that of one call, give or take this."""

_DECIMAL = re.compile(r"0|[1-9][0-9]{0,37}")
_HEAD = struct.Struct("<qqIHH")
_WORD = (1 << 64) - 1
_WIDE = (1 << 128) - 1
_MOST_REFUSED = (1 << 16) - 1
_MAX_REPORTED = 5  # errors of a generator in full


@dataclass(frozen=True, slots=True)
class Burst:
    """Consecutive IDs of one generator; in ``data`` each has ``width`` bytes."""

    began_ns: int
    ended_ns: int
    refused: int
    width: int
    data: bytes

    def __len__(self) -> int:
        return len(self.data) // self.width

    @property
    def ids(self) -> list[int]:
        """The IDs, in the order in which they were given."""
        words = array("Q", self.data).tolist()
        if self.width == 8:
            return words
        return [low | high << 64 for low, high in zip(words[::2], words[1::2], strict=True)]


def number_of(given: Any) -> int:
    """An ID as a number of at most 128 bits, equal for equal IDs only.

    A decimal text is its number; other texts are their bytes. Bytes are a number whose order is
    theirs if their lengths are equal; above 16 bytes, and above 128 bits, it is a hash.
    """
    if type(given) is not int:
        for name in ("int", "number"):  # of a UUID, of a TSID
            value = getattr(given, name, None)
            if type(value) is int:
                given = value
                break
        else:
            if isinstance(given, str) and not _DECIMAL.fullmatch(given):
                given = given.encode("utf-8", "surrogatepass")
            if isinstance(given, bytes | bytearray):
                # The leading 1 distinguishes "\0a" from "a"; 16 bytes have no room for it.
                if len(given) <= 16:
                    return int.from_bytes(b"\1" * (len(given) < 16) + given, "big")
                return _hash(given)
    number = int(given)
    if isinstance(given, float) and number != given:
        return _hash(given.hex().encode())
    return number if 0 <= number <= _WIDE else _hash(b"%d" % number)


def _hash(data: bytes | bytearray) -> int:
    return int.from_bytes(hashlib.blake2b(data, digest_size=16).digest(), "big")


class IdLog:
    """The file of one generator: ``burst`` issues IDs and writes them."""

    def __init__(self, folder: Path, name: str, call: Callable[[], Any]) -> None:
        self.path = folder / f"{name}.ids"
        self.call = call
        self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        self._reported = 0
        self.begun = False
        """Whether it has given an ID."""

    def burst(self, count: int, given: list[Any] | None = None) -> int:
        """Call ``count`` times and write the IDs; returns their number.

        given: IDs of earlier calls. A call that raises counts as refused and ends the burst, and a
        slow one ends it too.
        """
        made: list[Any] = [] if given is None else given
        began_ns = time.monotonic_ns()
        error: Exception | None = None
        call, keep, now_ns = self.call, made.append, time.monotonic_ns
        until_ns = began_ns + SLOW_NS
        try:
            for _ in repeat(None, count):
                keep(call())
                if now_ns() > until_ns:
                    break
        except Exception as caught:  # noqa: BLE001 - whatever a foreign generator raises
            error = caught
        refused = int(error is not None)
        if None in made:  # the answer of some generators without an ID
            refused += made.count(None)
            made = [one for one in made if one is not None]
        self.keep(began_ns, refused, made)
        if error is not None:
            self.report(error)
        return len(made)

    def report(self, error: BaseException) -> None:
        """Write an error to a file beside the IDs, the first few times."""
        self._reported += 1
        if self._reported <= _MAX_REPORTED:
            self.note(f"{type(error).__name__}: {error}")

    def note(self, trouble: str) -> None:
        """Write a line to that file, however many errors there were."""
        path = self.path.with_suffix(".trouble")
        with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(trouble.replace("\n", " ") + "\n")

    def keep(self, began_ns: int, refused: int, made: list[Any]) -> None:
        """Write a burst: its begin, the number of calls without an ID, and the IDs."""
        try:
            words = array("Q", made)
            width = 8
        except (TypeError, OverflowError):
            numbers = [number_of(one) for one in made]
            words = array("Q", [half for n in numbers for half in (n & _WORD, n >> 64)])
            width = 16
        refused = min(refused, _MOST_REFUSED)
        ended_ns = time.monotonic_ns()
        head = _HEAD.pack(began_ns, ended_ns, len(made), refused, width)
        left = memoryview(head + words.tobytes())
        while left:
            left = left[os.write(self._file, left) :]
        if made and not self.begun:
            self.begun = True
            self.path.with_suffix(".first").touch()


def complete_bytes(path: Path) -> int:
    """The size of the complete bursts in a log: the last one may be half written."""
    return sum(_HEAD.size + len(burst.data) for burst in bursts(path))


def bursts(path: Path, at: int = 0) -> Iterator[Burst]:
    """The complete bursts of a log, if there is one.

    at: the position to begin at, which must be the end of a burst.
    """
    if not path.exists():
        return
    with path.open("rb") as file:
        file.seek(at)
        while len(head := file.read(_HEAD.size)) == _HEAD.size:
            began_ns, ended_ns, count, refused, width = _HEAD.unpack(head)
            data = file.read(count * width)
            if len(data) < count * width:
                return
            yield Burst(began_ns, ended_ns, refused, width, data)
