"""Registries: where claims are kept, chosen by URL (see ``frazil.inputs.kinds``)."""

from frazil.errors import ConfigError
from frazil.inputs.url import Url, parse_url
from frazil.registries.base import Registry
from frazil.schemes.scheme import Scheme

__all__ = ["connect"]

_POSIX = {"fcntl", "grp", "pwd"}


def connect(url: str | Url, namespace: str, scheme: Scheme) -> Registry:
    """The registry at a URL, for one namespace and scheme. Contacts nothing.

    Raises ConfigError for an invalid URL, for a URL of something else, and for unknown options.
    """
    where = parse_url(url) if isinstance(url, str) else url
    if where.maker != "registry":
        raise ConfigError(
            f"{where.kind}: makes IDs and keeps no claims; name a registry, like redis://host",
            url=str(where),
        )
    if not namespace or len(namespace) > 200 or not namespace.isprintable():
        raise ConfigError(f"namespace {namespace!r} is invalid; use 1 to 200 printable characters")
    try:
        make = where.opened_by.load()
    except ImportError as error:  # a registry of another package: those of frazil name their extra
        if error.name in _POSIX:
            raise ConfigError(
                f"{where.kind}: locks files as POSIX systems do, and this system has no "
                f"{error.name}; use a server (redis://...), or memory: for tests",
                url=str(where),
            ) from None
        raise ConfigError(
            f"{where.kind}: {where.opened_by.home} cannot be imported ({error}); install its "
            "driver, or uninstall the package that brings it",
            url=str(where),
        ) from error
    registry: Registry = make(where, namespace, scheme)
    return registry
