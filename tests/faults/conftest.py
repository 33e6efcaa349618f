"""A directory and fleets for each test; both are removed when it ends."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.fleet import Fleet


@pytest.fixture
def place() -> Iterator[Path]:
    """A temporary directory for the issued IDs."""
    with tempfile.TemporaryDirectory(prefix="frazil-") as name:
        yield Path(name)


@pytest.fixture
def fleet(place: Path) -> Iterator[Callable[..., Fleet]]:
    """Makes fleets: ``fleet(url, ...)``. No ID of one of them repeats an ID of another one."""
    made: list[Fleet] = []

    def make(url: str, **how: Any) -> Fleet:
        alone = place / str(len(made))
        alone.mkdir()
        made.append(Fleet(alone, url, **how))
        return made[-1]

    yield make
    for one in made:
        one.close()
