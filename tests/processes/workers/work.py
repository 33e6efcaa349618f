"""What the worker scripts share: their order, and where they put what they were given."""

import json
import os
import sys
from array import array
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import frazil


def order() -> SimpleNamespace:
    """What the test ordered, with frazil broken as it says."""
    told = SimpleNamespace(**json.loads(sys.argv[1]))
    if told.broken:
        import broken

        getattr(broken, told.broken)()
    return told


def opened(told: SimpleNamespace, **options: Any) -> frazil.Generator:
    """The generator that the order is about."""
    patience = getattr(told, "timeout", "3s" if told.broken else "60s")
    options = {"lead": getattr(told, "lead", "1s"), "timeout": patience} | options
    return frazil.open(told.url, told.scheme, **options)


class IdLog:
    """A file of IDs. What ``put`` has written survives any end of the process."""

    def __init__(self, told: SimpleNamespace, name: str) -> None:
        self.path = f"{told.out}/{name}"
        self._file = os.open(f"{self.path}.u64", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)

    def put(self, ids: Iterable[int]) -> None:
        """Append IDs."""
        left = memoryview(array("Q", ids)).cast("B")
        while left:
            left = left[os.write(self._file, left) :]

    def fail(self, error: BaseException) -> None:
        """Say what stopped this worker."""
        with open(f"{self.path}.error", "w") as file:  # noqa: PTH123
            file.write(f"{type(error).__name__}: {error}")


def tell(**facts: Any) -> None:
    """One line of facts for the test."""
    print(json.dumps(facts), flush=True)  # noqa: T201
