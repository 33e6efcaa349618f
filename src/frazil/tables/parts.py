"""Parquet files of many tasks, each of one attempt, that move into place when all are complete.

An engine may declare a worker dead that is only paused, and run its task again. If a file is named
by the partition, both attempts write the same one. The paused worker continues after ``stamp`` has
returned, and writes other IDs over rows that a program has read.

So each attempt writes a file of its own, in a folder that no reader opens, and the result of its
task is that file's name. The caller moves only the files that the engine returned, and removes the
folder. A late attempt then finds no folder, or writes to a file that is in no result.

Limits: an object store moves a file by a copy. A caller that dies while it moves leaves a part of
the files; it never returned, so no program takes them for a complete table.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from frazil.errors import ConfigError

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Parts:
    """Where the files of a table are written first, ``draft``, and where they end, ``path``.

    It is pickled and sent to the workers. Both are local paths or URIs that pyarrow knows.
    """

    path: str
    draft: str

    @property
    def files(self) -> Any:
        """The file system of both, as pyarrow has it."""
        return _opened(self.path)[0]

    def write(self, table: "pa.Table") -> str:
        """Write the file of an attempt. Returns its name."""
        from pyarrow import parquet

        files, folder = _opened(self.draft)
        name = f"{uuid4().hex}.parquet"
        with files.open_output_stream(f"{folder}/{name}") as out:
            parquet.write_table(table, out)
        return name

    def keep(self, run: Callable[[], Iterable[str]]) -> list[str]:
        """Move the files that ``run`` names into place; the others are removed.

        Returns the paths of the files, in the order of ``run``. A folder lists them in any order.
        """
        files, draft = _opened(self.draft)
        _, place = _opened(self.path)
        files.create_dir(draft)
        kept = []
        try:
            for number, name in enumerate(run()):
                kept.append(f"{place}/part-{number:06d}-{name}")
                files.move(f"{draft}/{name}", kept[-1])
        finally:
            files.delete_dir(draft)
        return kept


def make_parts(path: str | os.PathLike[str]) -> Parts:
    """The parts of a table at ``path``. Raises ConfigError if there is something already."""
    from pyarrow import fs

    whole = os.fspath(path)
    whole = whole.rstrip("/") if "://" in whole else os.path.abspath(whole)  # noqa: PTH100 - a URI
    files, place = _opened(whole)
    kind = files.get_file_info(place).type
    here = kind == fs.FileType.Directory and files.get_file_info(fs.FileSelector(place))
    if here or kind == fs.FileType.File:
        raise ConfigError(
            f"{whole} exists already, and its rows would be mixed with the new ones; give the "
            "path of a folder that does not exist, or is empty",
            value=whole,
        )
    return Parts(whole, f"{whole}/_frazil-{uuid4().hex}")


def _opened(path: str) -> Any:
    """The file system of a path, and the path in it."""
    from pyarrow import fs

    return fs.FileSystem.from_uri(path)
