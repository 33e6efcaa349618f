"""A place and a crew for each test; both are gone when it ends."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes.harness import Crew

__all__ = ["crew", "place"]


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that other users may enter. IDs by the million are not kept after the test."""
    with tempfile.TemporaryDirectory(prefix="frazil-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def crew(place: Path) -> Iterator[Crew]:
    crew = Crew(place)
    yield crew
    crew.close()
