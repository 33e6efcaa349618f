"""Registries as the commands see them that tell what is there, rather than take from it."""

from frazil.claim import Look
from frazil.errors import ConfigError
from frazil.record import stranger
from frazil.registries import connect
from frazil.registries.base import Registry
from frazil.registries.memory import MemoryRegistry
from frazil.schemes import Scheme

__all__ = ["kept", "look"]


def kept(url: str, namespace: str, scheme: Scheme) -> Registry:
    """The registry at a URL; ConfigError where other processes cannot see what it holds."""
    registry = connect(url, namespace, scheme)
    if isinstance(registry, MemoryRegistry):
        raise ConfigError(
            f"{url} keeps its claims inside each process, so there is nothing here that a command "
            "can see or set up; name a registry that lasts, like sqlite:",
            url=url,
        )
    return registry


def look(registry: Registry, *, same_terms: bool = False) -> Look | None:
    """The record of the registry's namespace; None if there is none. Nothing is made or changed.

    ``same_terms`` asks that it belongs to the registry's scheme: else ConfigError with both.
    """
    found = registry.look()
    if found is not None and same_terms and found.fingerprint != registry.terms.fingerprint:
        raise stranger(found.layout, registry.terms)
    return found
