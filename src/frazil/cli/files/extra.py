"""The packages that stamp and audit need, which are an extra of frazil."""

from importlib.util import find_spec

from frazil.system.extras import missing_extra

__all__ = ["check_extra"]


def check_extra() -> None:
    """Raise ConfigError, which names the extra, if numpy, pyarrow or DuckDB is missing."""
    for name in ("numpy", "pyarrow", "duckdb"):
        if find_spec(name) is None:
            error = ImportError(f"No module named {name!r}")
            raise missing_extra("files of IDs need numpy, pyarrow and DuckDB", "files", error)
