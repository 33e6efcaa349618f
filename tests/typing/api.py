"""User code that must type-check (mypy --strict and pyright read it; nothing runs it)."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import frazil
from frazil import aio, errors

ids = frazil.open(Path("claims.db"))
ids = frazil.open("sqlite:", "icicle", namespace="orders", lead=timedelta(milliseconds=5))
assert_type(ids, frazil.Generator)
assert_type(ids(), int)
assert_type(next(ids), int)
assert_type(ids.take(3), list[int])
assert_type(ids.array(3), NDArray[np.uint64])
assert_type(ids.array(3, "int64"), NDArray[np.int64])
assert_type(ids.array(3, dtype="uint64"), NDArray[np.uint64])
assert_type(ids.text(), str)
column_default: Callable[[], int] = ids
endless: Iterator[int] = ids.stream()

scheme = frazil.scheme("uniqueid-spread", fields={"cluster": 3})
assert_type(scheme.pack(time=1, sequence=0, node=256), int)
assert_type(scheme.unpack(1)["node"], int)
assert_type(scheme.unpack(1).node, int)
assert_type(scheme.parse("07617b3c4e802000"), int)
assert_type(frazil.mint(5), list[int])

with frazil.open("memory:") as held:
    assert_type(held, frazil.Generator)

try:
    held()
except errors.TryLater as trouble:
    raise SystemExit(str(trouble.facts)) from trouble


async def wait_for_some() -> list[int]:
    """The asyncio skin."""
    async with aio.open(namespace="orders", keep="5min", block=None) as later:
        assert_type(await later(), int)
        return await later.take(2)


asyncio.run(wait_for_some())
