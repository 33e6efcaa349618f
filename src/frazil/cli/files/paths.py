"""What ``stamp`` and ``audit`` read: paths and formats; and the memory that they may use.

A path is a file, a glob (``events/*/*.parquet``) or a folder, which stands for every file in it
with a known ending. Folders like ``year=2026`` above a file are Hive partitions: their keys become
columns. An unknown ending is an error, because a guess could write nonsense that looks like data.

Python, numpy, pyarrow and DuckDB need some 250 MB before the first row, and DuckDB gets what
remains of the memory. So the bound is one for the whole process, and it has a least value.
"""

import glob
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from frazil.errors import ConfigError
from frazil.system.extras import missing_extra

FORMATS = ("csv", "jsonl", "parquet", "arrow", "text")
_KINDS = {".csv": "csv", ".tsv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_KINDS |= {".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow"}
_KINDS[".txt"] = "text"
_PACKED = {".gz": "gzip", ".zst": "zstd"}
_WHOLE = ("parquet", "arrow")  # compressed inside, so .gz and .zst mean nothing for them
LEAST_BYTES = 512 << 20
_OWN_BYTES = 320 << 20
_AUDIT_BYTES = 256 << 20
_BATCH_BYTES = 16 << 20
_BATCH_ROWS = 32_768  # whose buffers the processor's cache holds


@dataclass(frozen=True)
class Memory:
    """The bound of the process, in bytes."""

    size_bytes: int

    @property
    def database_bytes(self) -> int:
        """The bound of DuckDB."""
        return self.size_bytes - _OWN_BYTES

    @property
    def search_bytes(self) -> int:
        """The bound of DuckDB where it is alone."""
        return self.size_bytes - _AUDIT_BYTES

    @property
    def buffer_bytes(self) -> int:
        """How much of a text file DuckDB reads in one block; a row of CSV has at most a half."""
        return 16 << 20 if self.size_bytes >= 1 << 30 else 8 << 20

    def rows_for(self, size_bytes: int, rows: int) -> int:
        """Rows of a batch, in a table of ``rows`` rows and ``size_bytes`` bytes."""
        return max(1, min(_BATCH_ROWS, _BATCH_BYTES * rows // max(size_bytes, 1)))


def check_extra() -> None:
    """Raise ConfigError, which names the extra, if numpy, pyarrow or DuckDB is missing."""
    for name in ("numpy", "pyarrow", "duckdb"):
        if find_spec(name) is None:
            error = ImportError(f"No module named {name!r}")
            raise missing_extra("files of IDs need numpy, pyarrow and DuckDB", "files", error)


def shown(path: str) -> str:
    """The name of a file in messages."""
    if path == "-":
        return "standard input"
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def packing_of(path: str) -> str | None:
    """The compression that the file's name asks for: ``gzip``, ``zstd``, or None."""
    return _PACKED.get(Path(path).suffix.lower())


def ending_of(path: str) -> str:
    """The ending of the file's name in lower case, without ``.gz`` or ``.zst``; "" if none."""
    name = Path(path)
    return Path(name.stem if packing_of(path) else name.name).suffix.lower()


def format_of(
    path: str, given: str | None, default: str | None = None, *, option: str = "--format"
) -> str:
    """The given format, else that of the file's name without ``.gz`` or ``.zst``, else the default.

    The default applies to names without an ending. Raises ConfigError for an unknown ending, and
    if there is no default. option: the option that sets the format, for errors.
    """
    ending = ending_of(path)
    kind = given or (_KINDS.get(ending) if ending else default)
    if kind is None or (kind in _WHOLE and packing_of(path) and not given):
        problem = f"the ending '{ending}' is unknown" if ending else "the name has no ending"
        raise ConfigError(
            f"{shown(path)}: {problem}; known are {', '.join(_KINDS)}, each text format also with "
            f".gz or .zst; set the format, like {option} csv",
            path=path,
        )
    return kind


def same_format(files: list[str], given: str | None) -> str:
    """The one format of all files. Raises ConfigError if they differ."""
    kind, *others = sorted({format_of(file, given) for file in files})
    if others:
        found = ", ".join([kind, *others])
        problem = f"the input has files of different formats ({found}); stamp one format at a time"
        raise ConfigError(problem, path=files[0])
    return kind


def files_of(paths: Iterable[str]) -> list[str]:
    """The files that the paths name, in order. Raises ConfigError for a path that names none."""
    found: list[str] = []
    for path in paths:
        if Path(path).is_dir():
            names = [str(each) for each in Path(path).rglob("*") if ending_of(str(each)) in _KINDS]
        elif glob.has_magic(path) and not Path(path).is_file():
            names = glob.glob(path, recursive=True)  # noqa: PTH207
        else:
            found.append(path)  # one that is missing is an error when it is read
            continue
        files = sorted(name for name in names if Path(name).is_file())
        if not files:
            problem = "names no file; write a file, a folder of files, or a glob in quotes, like"
            raise ConfigError(f"{path} {problem} 'events/*/*.parquet'", path=path)
        found += files
    return found


def hive_keys(*files: str) -> list[str]:
    """The keys of the Hive partitions above files, like ``year`` of the folder ``year=2026``."""
    parts = (part for file in files for part in Path(file).parts[:-1])
    return [part.partition("=")[0] for part in parts if "=" in part.strip("=")]
