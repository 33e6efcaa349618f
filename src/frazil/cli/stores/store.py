"""Registries as the commands see them that tell what is there, rather than take from it."""

import click

from frazil.claims.claim import Snapshot
from frazil.claims.record import layout_mismatch
from frazil.errors import ConfigError
from frazil.registries import connect
from frazil.registries.base import Registry
from frazil.registries.memory import MemoryRegistry
from frazil.registries.sqlite.default_file import make_shared
from frazil.schemes.scheme import Scheme

__all__ = ["kept", "look", "share"]


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


def look(registry: Registry, *, same_terms: bool = False) -> Snapshot | None:
    """The record of the registry's namespace; None if there is none. Nothing is made or changed.

    ``same_terms`` asks that it belongs to the registry's scheme: else ConfigError with both.
    """
    found = registry.look()
    if found is not None and same_terms and found.fingerprint != registry.terms.fingerprint:
        raise layout_mismatch(found.layout, registry.terms)
    return found


def share(group: str) -> None:
    """Make the default file of this host one for a group of its users, and say what follows.

    Nothing else may be asked with it: what users' own files have given away is not known here, so
    the namespaces of the new file are not said to be new.
    """
    context = click.get_current_context()
    told = click.core.ParameterSource.COMMANDLINE
    if any(context.get_parameter_source(name) is told for name in {*context.params} - {"shared"}):
        raise click.UsageError("--shared makes a folder and nothing else; give it alone")
    folder = make_shared(group)
    click.echo(
        f"Without a URL every user of this host now keeps claims in {folder}/claims.db; who is "
        f"not in group {group} gets an error.\n"
        "Stop all programs that use the default, then start them again: a program that goes on "
        "with its old file repeats IDs of the others.\n"
        "A namespace with time waits once, about a second; a counter needs frazil init --start N."
    )
