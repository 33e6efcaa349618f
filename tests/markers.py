"""Which tests are long, which run with both engines, and which run first, by where they stand."""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent

# What takes minutes, or programs that no wheel brings. In other folders such a test is marked where
# it stands; one that asks for a Redis or an etcd is marked by its fixture.
LONG = {
    "browser",
    "conformance/test_etcd.py",
    "faults",
    "platforms",
    "power",
    "processes",
    "stack",
    "unit/registries/etcd/test_losses.py",
}

# The engines are the compiled walk, with what the system tells it, and its interpreted source. What
# walks, owns a walk or forks under one may end otherwise with the other engine.
INTERPRETED = {
    "faults/test_members.py",
    "processes/test_endings.py",
    "processes/test_forks.py",
    "processes/test_free_threading.py",
    "processes/test_pauses.py",
    "processes/test_restarts.py",
    "unit/generator",
    "unit/registries/sqlite/test_forks.py",
    "unit/registries/sqlite/test_left_open.py",
    "unit/registries/test_shared_links.py",
    "unit/system",
    "unit/test_aio.py",
    "unit/walk",
}

# These import a walk or its owner for what is built on it, and run once, or say themselves what
# runs with both.
BUILT_ON_WALKS = {
    "faults/test_frazil_id_put_back.py",
    "faults/test_frozen.py",
    "faults/test_times.py",
    "house",
    "power",
    "property",
    "simulation",
    "stack",
    "unit/cli",
    "unit/inputs",
    "unit/registries",
    "unit/remote",
    "unit/service",
    "unit/tables",
    "unit/test_metrics.py",
    "unit/test_pytest.py",
    "unit/test_readiness.py",
    "unit/test_sqlalchemy.py",
}
# What takes longest with the others of its kind. It runs first, so that no worker is alone with it
# at the end.
FIRST = (
    "browser/test_documentation.py",
    "faults/test_frazil_id_put_back.py",
    "processes/test_torture.py",
    "stack/test_alembic.py",
    "stack/test_dask_workers.py",
    "unit/registries/postgres/test_ids.py",
    "unit/service/redis/test_clients.py",
    "faults/test_frozen.py",
    "simulation/test_simulate.py",
    "unit/generator/test_store_thread.py",
)
WALKS = re.compile(r"\bfrazil\.(aio|generator|system\.process|walk)\b|\bsimulator\b")


def is_in(file: Path, paths: set[str]) -> bool:
    """Whether it is one of these files or in one of these folders."""
    place = file.relative_to(TESTS) if file.is_relative_to(TESTS) else file
    return not paths.isdisjoint(map(str, (place, *place.parents)))


def longest_first(names: Sequence[str], workers: int) -> list[int]:
    """The order of tests, as numbers of them, in which each worker's share begins with ``FIRST``.

    names: their node IDs. pytest-xdist gives each worker as many tests, in their order.
    """
    slow: list[list[int]] = [[] for _ in range(workers)]
    others = []
    for number, name in enumerate(names):
        file = name.partition("::")[0].removeprefix("tests/")
        (slow[FIRST.index(file) % workers] if file in FIRST else others).append(number)
    order: list[int] = []
    for worker, begun in enumerate(slow):
        share = (len(names) - len(order)) // (workers - worker)
        rest = max(share - len(begun), 0)
        order += begun + others[:rest]
        del others[:rest]
    return order


@cache
def marks(file: Path) -> list[str]:
    """The markers of all tests of a file."""
    tables = {"long": LONG, "interpreted": INTERPRETED}
    return [name for name, paths in tables.items() if is_in(file, paths)]
