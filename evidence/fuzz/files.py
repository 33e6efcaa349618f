"""An input as a file, for parsers that open one."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["kept"]


@contextmanager
def kept(data: bytes) -> Iterator[Path]:
    """A file with these bytes, removed at the end of the block."""
    with tempfile.NamedTemporaryFile(prefix="frazil-fuzz-") as file:
        file.write(data)
        file.flush()
        yield Path(file.name)
