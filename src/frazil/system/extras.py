"""Optional packages: the one error for a package that is not installed."""

from frazil.errors import ConfigError

__all__ = ["missing_extra"]


def missing_extra(what: str, extra: str, error: ImportError) -> ConfigError:
    """The error to raise. what: the feature and its package. extra: the extra of frazil."""
    return ConfigError(f'{what}; run: pip install "frazil[{extra}]" ({error})', extra=extra)
