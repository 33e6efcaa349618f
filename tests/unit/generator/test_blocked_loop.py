"""A generator of ``frazil.open`` that waits inside a running event loop says so, once."""

import asyncio
import socket
import warnings

import pytest

import frazil
from frazil.errors import TryLater
from tests.tools.waiting import until


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
    assert told[0].filename == __file__


def test_elsewhere_nothing_is_said(tmp_path):
    def ready():
        ids.ready()
        until(lambda: ids.status().seconds_left > 60, "a claim that does not end in the loop")

    async def run():
        await asyncio.to_thread(ready)
        return ids()

    url = f"sqlite:{tmp_path}/claims.db?horizon=10min"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for namespace in ("one", "other"):
            frazil.init(url, namespace=namespace, new=True)
            with frazil.open(url, namespace=namespace) as ids:
                assert namespace == "other" or ids()
                assert asyncio.run(run())


@pytest.mark.parametrize("verb", ["__call__", "ready"])
@pytest.mark.parametrize("url", ["icicle://{}?timeout=300ms", "http://{}"])
def test_also_for_servers_that_make_the_ids(url, verb):
    """Here one that accepts connections and does not answer."""

    async def run():
        with pytest.raises(TryLater):
            getattr(ids, verb)()

    with socket.create_server(("127.0.0.1", 0)) as silent:
        place = f"127.0.0.1:{silent.getsockname()[1]}"
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            with frazil.open(url.format(place), timeout="300ms") as ids:
                for _ in range(2):
                    asyncio.run(run())
    [only] = told
    assert "frazil.aio.open" in str(only.message)
    assert only.filename == __file__
