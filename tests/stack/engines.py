"""What the tests of Spark, Dask and Ray have in common: a table that is stamped while one dies."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evidence.benchmarks.engines import striking
from frazil.errors import ConfigError
from frazil.tables.audit import Audit
from tests.servers.redis import Server

ROWS = 200_000


def stamped_with_a_death(module: Any, world: Any, folder: Path) -> Audit:
    """The audit by the engine itself of a table, a worker of which was stopped and killed."""
    begun, victims = module.targets(world, folder)
    with Server() as server, striking(begun, victims) as killed:
        path = str(folder / "whole")
        audit: Audit = module.stamped_and_audited(world, server.url, ROWS, path)
    assert len(killed) == 1
    return audit


def refuses(stamp: Callable[[str], object], *urls: str) -> None:
    """Each of these registries cannot be shared by workers of that kind."""
    for url in urls:
        with pytest.raises(ConfigError, match="cannot be shared"):
            stamp(url)
