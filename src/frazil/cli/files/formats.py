"""The format of a file, by its name, and the files that a path names.

A path is a file, a glob (``events/*/*.parquet``) or a folder, which stands for every file in it
with a known ending. Folders like ``year=2026`` above a file are Hive partitions: their keys become
columns. An unknown ending is an error, because a guess could write nonsense that looks like data.
"""

import glob
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from frazil.errors import ConfigError
from frazil.system.extras import missing_extra

FORMATS = ("csv", "jsonl", "parquet", "arrow", "text")
_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".txt": "text",
}
_PACKED = {".gz": "gzip", ".zst": "zstd"}
_WHOLE = ("parquet", "arrow")  # compressed inside, so .gz and .zst mean nothing for them


def check_extra() -> None:
    """Raise ConfigError, which names the extra, if numpy, pyarrow or DuckDB is missing."""
    for name in ("numpy", "pyarrow", "duckdb"):
        if find_spec(name) is None:
            error = ImportError(f"No module named {name!r}")
            raise missing_extra("files of IDs need numpy, pyarrow and DuckDB", "files", error)


def shown(path: str) -> str:
    """The name of a file in messages."""
    return "standard input" if path == "-" else path


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
    kind = given or (_SUFFIXES.get(ending) if ending else default)
    if kind is None and not ending:
        raise ConfigError(
            f"{shown(path)} has no ending that names its format; set it, like {option} csv",
            path=path,
        )
    if kind is None or (kind in _WHOLE and packing_of(path) and not given):
        raise ConfigError(
            f"{path}: the ending '{ending}' is unknown; known are {', '.join(_SUFFIXES)}, "
            f"each text format also with .gz or .zst; set the format with {option}",
            path=path,
        )
    return kind


def files_of(paths: Iterable[str]) -> list[str]:
    """The files that the paths name, in order. Raises ConfigError for a path that names none."""
    found: list[str] = []
    for path in paths:
        if path == "-" or Path(path).is_file():
            found.append(path)
        elif Path(path).is_dir():
            found += _of(path, (str(each) for each in Path(path).rglob("*")), known_only=True)
        elif glob.has_magic(path):
            found += _of(path, glob.iglob(path, recursive=True), known_only=False)  # noqa: PTH207
        else:
            found.append(path)  # missing, or a pipe: the error, or the data, comes when it is read
    return found


def _of(path: str, names: Iterable[str], *, known_only: bool) -> list[str]:
    files = sorted(
        name
        for name in names
        if Path(name).is_file() and (not known_only or ending_of(name) in _SUFFIXES)
    )
    if not files:
        raise ConfigError(
            f"{path} names no file; write a file, a folder of files, or a glob in quotes, like "
            "'events/*/*.parquet'",
            path=path,
        )
    return files


def same_format(files: list[str], given: str | None, default: str | None = None) -> str:
    """The one format of all files. Raises ConfigError if they differ."""
    kinds = {format_of(file, given, default): file for file in files}
    if len(kinds) > 1:
        raise ConfigError(
            f"the input has files of different formats ({', '.join(sorted(kinds))}); stamp one "
            "format at a time",
            path=files[0],
        )
    return next(iter(kinds))


def hive_keys(*files: str) -> list[str]:
    """The keys of the Hive partitions above files, like ``year`` of the folder ``year=2026``."""
    parts = (part for file in files for part in Path(file).parts[:-1])
    return [part.partition("=")[0] for part in parts if "=" in part.strip("=")]


def check_keys(file: str, names: Iterable[str]) -> None:
    """Raise ConfigError if a column of a file is also a key of a folder, which would replace it."""
    known = {name.lower() for name in names}
    for key in hive_keys(file):
        if key.lower() in known:
            raise ConfigError(
                f"{file} has a column {key!r}, and the folder '{key}=...' above it would replace "
                "its values; rename the folder or the column",
                path=file,
            )
