"""Chance for pauses and choices, from the system and not from the module ``random``.

A program that seeds ``random`` expects the same numbers in each run. It would not get them if the
renewals in the background took some. Forked processes get different numbers, too.
"""

import os
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")
_STEPS = 1 << 32


def jitter(least: float = 0.5, most: float = 1.0) -> float:
    """A random number from least on, and less than most."""
    return least + (most - least) * int.from_bytes(os.urandom(4)) / _STEPS


def shuffled(items: Iterable[T]) -> list[T]:
    """The items in a random order."""
    return sorted(items, key=lambda _: os.urandom(8))
