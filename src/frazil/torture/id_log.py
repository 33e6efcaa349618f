"""Where a process puts what it issued, so that ``kill -9`` at any moment leaves it to be read.

A test that keeps its IDs in memory loses them to the very fault that it is about. So each generator
has a file of its own, and appends each burst of IDs in one write: a head that says when it began
and ended, and how many calls gave no ID, and then the IDs. A part left by a kill is recognised by
its length. An empty file ``.first`` beside it says that there are any.

Times are nanoseconds of the monotonic clock, which is one for all processes of a host, and which no
fault touches.
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

__all__ = ["DIED", "HUNG", "Burst", "IdLog", "bursts", "complete_bytes", "number_of"]

DIED = "ended by itself"
"""Said of a process whose end nobody asked for, and which was no good one."""

HUNG = "hung:"
"""Begins what is said of a process that neither issued nor ended when its time was over."""

_DECIMAL = re.compile(r"0|[1-9][0-9]{0,37}")
_HEAD = struct.Struct("<qqIHH")
_WORD = (1 << 64) - 1
_WIDE = (1 << 128) - 1
_MOST_REFUSED = (1 << 16) - 1
_MAX_REPORTED = 5  # errors of a generator in full


@dataclass(frozen=True, slots=True)
class Burst:
    """Some IDs that one generator gave in a row; in ``data`` each has ``width`` bytes."""

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
    """What a generator gave, as a number of at most 128 bits; equal for equal things only.

    Texts, but for the decimal text of a number, are their bytes. Bytes are the number that they
    write, of equal lengths in their order; longer ones, and longer numbers, a hash of 128 bits.
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
                # The one in front tells "0a" from "a"; 16 bytes have no room for it.
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
    """The file of one generator: ``burst`` has it issue, and keeps what it gave."""

    def __init__(self, folder: Path, name: str, call: Callable[[], Any]) -> None:
        self.path = folder / f"{name}.ids"
        self.call = call
        self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        self._reported = 0
        self.begun = False
        """Whether it has given an ID."""

    def burst(self, count: int, given: list[Any] | None = None) -> int:
        """Call ``count`` times and keep what comes; answers how many IDs that were.

        given: IDs of calls that were made already. A call that raises is a refusal, and ends it.
        """
        made: list[Any] = [] if given is None else given
        began_ns = time.monotonic_ns()
        error: Exception | None = None
        call, keep = self.call, made.append
        try:
            for _ in repeat(None, count):
                keep(call())
        except Exception as caught:  # noqa: BLE001 - whatever somebody's generator raises
            error = caught
        refused = int(error is not None)
        if None in made:  # what some generators give when they have none
            refused += made.count(None)
            made = [one for one in made if one is not None]
        self.keep(began_ns, refused, made)
        if error is not None:
            self.report(f"{type(error).__name__}: {error}")
        return len(made)

    def report(self, trouble: str) -> None:
        """Say, beside the IDs, what went wrong; only the first times."""
        self._reported += 1
        if self._reported <= _MAX_REPORTED:
            self.note(trouble)

    def note(self, trouble: str) -> None:
        """Say it, however much was said before."""
        path = self.path.with_suffix(".trouble")
        with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(trouble.replace("\n", " ") + "\n")

    def keep(self, began_ns: int, refused: int, made: list[Any]) -> None:
        """Write down a burst that began then: how many calls gave nothing, and what others gave."""
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
    """How many bytes of an outlet are whole bursts: one may be half written while it is read."""
    if not path.exists():
        return 0
    at, size = 0, path.stat().st_size
    with path.open("rb") as file:
        while len(head := file.read(_HEAD.size)) == _HEAD.size:
            _, _, count, _, width = _HEAD.unpack(head)
            end = at + _HEAD.size + count * width
            if end > size:
                break
            at = file.seek(end)
    return at


def bursts(path: Path, at: int = 0) -> Iterator[Burst]:
    """What an outlet has written, up to the part that a kill may have left at its end.

    at: how many bytes of it to pass over, which end with a burst.
    """
    with path.open("rb") as file:
        file.seek(at)
        while len(head := file.read(_HEAD.size)) == _HEAD.size:
            began_ns, ended_ns, count, refused, width = _HEAD.unpack(head)
            data = file.read(count * width)
            if len(data) < count * width:
                return
            yield Burst(began_ns, ended_ns, refused, width, data)
