"""The packages that stamp and audit need, which are an extra of frazil."""

from frazil.errors import ConfigError
from frazil.system.extras import missing_extra

__all__ = ["check_extra"]


def check_extra() -> None:
    """Raise ConfigError, which names the extra, if numpy, pyarrow or DuckDB is missing."""
    try:
        import duckdb  # noqa: F401
        import numpy  # noqa: F401, ICN001
        import pyarrow  # noqa: F401, ICN001
    except ImportError as error:
        raise _error(error) from None


def _error(error: ImportError) -> ConfigError:
    return missing_extra("files of IDs need numpy, pyarrow and DuckDB", "files", error)
