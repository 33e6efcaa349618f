"""A place and a crew for each test; both are gone when it ends."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes.harness import Processes


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that other users may enter. IDs by the million are not kept after the test."""
    with tempfile.TemporaryDirectory(prefix="frazil-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def quick(place: Path) -> Iterator[Path]:
    """A directory without a disk below it where there is one, for tests that are not about disks.

    Every verb of a registry in a file waits for the disk, and a thousand of them for a slow one.
    """
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(
        prefix="frazil-", dir=memory if os.access(memory, os.W_OK) else place
    ) as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def crew(place: Path) -> Iterator[Processes]:
    crew = Processes(place)
    yield crew
    crew.close()
