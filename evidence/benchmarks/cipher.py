"""Keyed text, checked by the million and timed.

Command: ``python -m evidence.benchmarks.cipher``.

Random numbers of a scheme must decode to themselves and have different texts; then one ID and a
million are timed beside Sqids and hashids, which obscure numbers in text without a cipher and have
no arrays: their million is a loop. ``pip install "frazil[bench]"`` brings both; ``--alone`` leaves
them out. Exit code 1: a text repeats or decodes to another number.
"""

import argparse
import secrets
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from itertools import chain
from os import getloadavg
from typing import TypeVar

import numpy as np

from evidence.benchmarks.report import setting
from frazil.schemes.codec import Codec
from frazil.schemes.scheme import Scheme, scheme

__all__ = ["main", "mistakes"]

_CHUNK = 1_000_000
_ONES = 20_000

T = TypeVar("T")


def mistakes(subject: Scheme, count: int, seed: int) -> tuple[int, int]:
    """How many of ``count`` different random numbers do not decode, and how many texts repeat."""
    random = np.random.default_rng(seed)
    top = np.uint64(64 - subject.bits)
    numbers = np.unique(random.integers(0, 1 << 64, count, dtype=np.uint64) >> top)
    wrong, images = 0, np.empty(len(numbers), np.uint64)
    reader = Codec(subject.encoding, subject.bits)  # of the digits alone, still encrypted
    start = len(subject.prefix) + 1
    for at in range(0, len(numbers), _CHUNK):
        part = slice(at, at + _CHUNK)
        texts = subject.codec.encode_array(numbers[part])
        wrong += int((subject.codec.decode_array(texts) != numbers[part]).sum())
        codes = texts.view(np.uint8).reshape(len(texts), -1)[:, start:]
        digits = np.ascontiguousarray(codes).view(f"S{codes.shape[1]}").ravel()
        images[part] = reader.decode_array(digits)
    return wrong, len(images) - len(np.unique(images))


def _timings(subject: Scheme, million: int) -> Iterator[tuple[str, float, float]]:
    """(name, ns to write, ns to read) of one ID each."""
    ones = [subject.pack(time=1 << 38, node=5, sequence=0) + i for i in range(_ONES)]
    yield _one_by_one(f"frazil, {_ONES:,} one by one", ones, subject.format, subject.parse)
    many = np.arange(ones[0], ones[0] + million, dtype=np.uint64)
    write_ns, texts = _timed(lambda: subject.codec.encode_array(many), million)
    read_ns, found = _timed(lambda: subject.codec.decode_array(texts), million)
    _check(len(np.unique(texts)) == million and (found == many).all(), "frazil, array")
    yield f"frazil, an array of {million:,}", write_ns, read_ns


def _others(million: int) -> Iterator[tuple[str, float, float]]:
    """The same of Sqids and hashids."""
    try:
        from hashids import Hashids
        from sqids import Sqids
    except ImportError as error:
        raise SystemExit(
            f'{error.name} is not installed: pip install "frazil[bench]", or give --alone'
        ) from None
    sqids, hashids = Sqids(min_length=11), Hashids(salt="salt", min_length=11)
    first = scheme().pack(time=1 << 38, node=5, sequence=0)
    for count in (_ONES, million):
        numbers = [first + i for i in range(count)]
        for name, write, read in (
            ("Sqids", lambda n: sqids.encode([n]), lambda text: sqids.decode(text)[0]),
            ("hashids", hashids.encode, lambda text: hashids.decode(text)[0]),
        ):
            yield _one_by_one(f"{name}, {count:,} one by one", numbers, write, read)


def _one_by_one(
    name: str, ones: list[int], write: Callable[[int], str], read: Callable[[str], int]
) -> tuple[str, float, float]:
    write_ns, texts = _timed(lambda: [write(n) for n in ones], len(ones))
    read_ns, found = _timed(lambda: [read(text) for text in texts], len(ones))
    _check(len(set(texts)) == len(ones) and found == ones, name)
    return name, write_ns, read_ns


def _timed(call: Callable[[], T], count: int) -> tuple[float, T]:
    began_ns = time.perf_counter_ns()
    result = call()
    return (time.perf_counter_ns() - began_ns) / count, result


def _check(right: object, name: str) -> None:
    if not right:
        raise SystemExit(f"{name}: a text repeats, or decodes to another number")


def main(arguments: Sequence[str]) -> int:
    """Check, time and print. Returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m evidence.benchmarks.cipher", description="Keyed text."
    )
    parser.add_argument("--values", type=int, default=1_000_000, help="numbers that are checked")
    parser.add_argument("--million", type=int, default=1_000_000, help="numbers of the timed array")
    parser.add_argument("--seed", type=int, default=secrets.randbits(32))
    parser.add_argument("--alone", action="store_true", help="without Sqids and hashids")
    options = parser.parse_args(arguments)
    about = setting("python -m evidence.benchmarks.cipher", 0, 1, "none")
    print("\n".join(f"{key}: {about[key]}" for key in ("Date", "Commit", "Python", "CPU")))
    used = ("libffx", "cryptography", "numpy", *(() if options.alone else ("sqids", "hashids")))
    print("Packages:", ", ".join(f"{name} {version(name)}" for name in used))
    print(f"Load: {getloadavg()[0]:.1f}")
    print(f"seed {options.seed}")
    subject = scheme("icicle", prefix="order_", key=secrets.token_bytes(32))
    wrong, repeated = mistakes(subject, options.values, options.seed)
    print(f"{options.values:,} values: {wrong} decode to another, {repeated} texts repeat")
    others = () if options.alone else _others(options.million)
    for name, write_ns, read_ns in chain(_timings(subject, options.million), others):
        print(f"{name:30} {write_ns:10,.0f} ns to write {read_ns:10,.0f} ns to read")
    return 1 if wrong or repeated else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
