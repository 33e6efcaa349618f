"""A fixture for pytest: each test gets the same IDs in every run.

    def test_an_order(frazil_ids):
        assert order.format(next_order()) == "order_1hBk000000"

pytest loads this module at its start wherever frazil is installed, so it imports nothing else; the
fixture does. While a test uses it, every generator of the process counts for itself, whether it was
opened before or after, and asks no store: in a namespace the first ID is of the first tick of 2026,
the next one of the second, with all other fields 0. The numbers start again in each test, so they
depend neither on the order of the tests nor on the worker of pytest-xdist.

Limits: the rows of a test must end with it, as in a transaction that is rolled back. Another
process makes its own IDs, and so does ``frazil.mint``.
"""

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

__all__ = ["frazil_ids"]

_BEGIN_US = 1_767_225_600_000_000  # 2026-01-01


@pytest.fixture
def frazil_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same IDs in every run of this test."""
    from frazil.aio import AwaitedGenerator
    from frazil.generator.local import LocalGenerator
    from frazil.inputs.arguments import check_count
    from frazil.remote.base import AsyncServed, Served

    numbers: dict[Any, Iterator[int]] = {}

    def one(ids: Any, seen: Any = None, *, trusted: bool = True) -> int:
        return _next(ids, numbers, seen, trusted=trusted)

    def after(ids: Any, *seen: Any, trusted: bool = True) -> int:
        return one(ids, seen, trusted=trusted)

    def take(ids: Any, n: int, *, after: Any = None) -> list[int]:
        return [one(ids, after) for _ in range(check_count(n))]

    def array(ids: Any, n: int, dtype: str = "uint64", *, after: Any = None) -> Any:
        from frazil.schemes.arrays import from_ints

        kind = ids.scheme.array_dtype(dtype)
        made = from_ints(take(ids, n, after=after), ids.scheme.bits)
        return made.view(kind) if ids.scheme.bits <= 64 else made

    def text(ids: Any, *, after: Any = None) -> Any:
        return ids.scheme.format(one(ids, after))

    def uuid(ids: Any) -> Any:
        return ids.scheme.uuid(one(ids))

    def ready(_ids: Any, timeout: Any = None) -> None:
        pass

    def later(call: Any) -> Any:
        async def awaited(*arguments: Any, **options: Any) -> Any:
            return call(*arguments, **options)

        return awaited

    both = {
        "__call__": one,
        "after": after,
        "take": take,
        "text": text,
        "uuid": uuid,
        "ready": ready,
    }
    now = both | {"__next__": one, "array": array}
    awaited = {name: later(call) for name, call in (both | {"__anext__": one}).items()}
    for kinds, methods in (
        ((LocalGenerator, Served), now),
        ((AwaitedGenerator, AsyncServed), awaited),
    ):
        for kind in kinds:
            for name, method in methods.items():
                monkeypatch.setattr(kind, name, method)


def _next(ids: Any, numbers: dict[Any, Iterator[int]], seen: Any, *, trusted: bool) -> int:
    """The next ID of a generator, after those that were seen."""
    from frazil.generator.order import Order

    scheme = ids.scheme
    key = (scheme.fingerprint, ids.config.namespace)
    n = _nth(scheme, next(numbers.setdefault(key, count())))
    if seen is not None:
        order = Order(scheme, 0)
        top = max(order.marks(seen, trusted=trusted).numbers, default=-1)
        if n <= top:
            numbers[key] = count(order.tick(top) + 1 - order.tick(_nth(scheme, 0)))
            n = _nth(scheme, next(numbers[key]))
    return n


def _nth(scheme: Any, n: int) -> int:
    """The ID of a scheme with that number, counted from 0."""
    layout = scheme.layout
    first = 1
    if layout.axis == "time" and layout.epoch_us < _BEGIN_US < layout.exhausted_us:
        first = layout.tick_at(_BEGIN_US)
    values = {field.name: 0 for field in layout.fields if field.fixed is None}
    number: int = scheme.pack(**values | {layout.axis: first + n})
    return number
