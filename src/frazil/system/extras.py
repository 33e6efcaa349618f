"""Optional packages: the one error for a package that is not installed."""

from collections.abc import Iterator
from contextlib import contextmanager

from frazil.errors import ConfigError, TryLater, unfinished


def missing_extra(what: str, extra: str, error: ImportError) -> ConfigError | TryLater:
    """The error to raise. what: the feature and its package. extra: the extra of frazil."""
    step = f'frazil is not on PyPI yet; in a checkout, run: pip install ".[{extra}]"'
    if not isinstance(error, ModuleNotFoundError):  # a part of it is, or its import was interrupted
        step += "; if it is installed, start the program again"
    missing = ConfigError(f"{what}; {step} ({error})", extra=extra)
    return unfinished(what.partition(":")[0].partition(" needs")[0], error) or missing


@contextmanager
def needs(what: str, extra: str) -> Iterator[None]:
    """Raise ``missing_extra`` for an optional package that the block cannot import."""
    try:
        yield
    except ImportError as error:
        raise missing_extra(what, extra, error) from error
