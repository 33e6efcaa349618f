"""A generator of ``frazil.open`` that waits inside a running event loop says so, once."""

import asyncio
import warnings

import pytest

import frazil

__all__: list[str] = []


def new(tmp_path, **options):
    """A generator whose first ID waits for one horizon."""
    return frazil.open(f"sqlite:{tmp_path}/claims.db?horizon=500ms", **options)


async def in_loop(ids):
    return ids()


def test_a_wait_inside_a_loop_is_told_once(tmp_path):
    with new(tmp_path) as ids, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        made = [asyncio.run(in_loop(ids)) for _ in range(2)]
    assert made == sorted(set(made))
    assert len(told) == 1
    assert "frazil.aio.open" in str(told[0].message)
    assert told[0].category is RuntimeWarning
    if frazil.COMPILED:  # interpreted, a step of the walk stands between the call and its wait
        assert told[0].filename == __file__


@pytest.mark.parametrize("method", ["take", "array"])
def test_also_for_many(tmp_path, method):
    async def run():
        return getattr(ids, method)(3)

    with new(tmp_path) as ids, pytest.warns(RuntimeWarning, match="blocks the event loop"):
        assert len(asyncio.run(run())) == 3


def test_elsewhere_nothing_is_said(tmp_path):
    async def run():
        await asyncio.to_thread(ids.ready)
        return ids()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with new(tmp_path) as ids:
            assert ids() < asyncio.run(run())
        with new(tmp_path, namespace="other") as ids:
            assert asyncio.run(run())
