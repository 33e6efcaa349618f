"""Registries for the commands that show or set up a namespace: claims, doctor and init."""

import click

from frazil.claims.claim import Snapshot, layout_mismatch
from frazil.cli.show.terminal import wrapped
from frazil.errors import ConfigError
from frazil.generator.request import OpenRequest
from frazil.registries.base import Registry
from frazil.registries.memory import MemoryRegistry


def persistent(request: OpenRequest) -> Registry:
    """The registry of a request; ConfigError if its claims are in the memory of one process."""
    registry = request.connect()
    if isinstance(registry, MemoryRegistry):
        raise ConfigError(
            f"{request.url} keeps its claims in the memory of each process, where this command "
            "cannot see them; use a persistent registry, like sqlite:",
            url=str(request.url),
        )
    return registry


def look(registry: Registry, *, same_terms: bool) -> Snapshot | None:
    """The record of the registry's namespace, or None; changes nothing.

    With ``same_terms``, raises ConfigError if the record has another scheme.
    """
    found = registry.look()
    if found is not None and same_terms and found.fingerprint != registry.terms.fingerprint:
        raise layout_mismatch(found.layout, registry.terms)
    return found


def share(group: str) -> None:
    """Share the default file of this host among a group of users, and print the next steps.

    It takes no other options: the claims in the users' own files are unknown, so the namespaces of
    the shared file are never set up as new.
    """
    context = click.get_current_context()
    typed = click.core.ParameterSource.COMMANDLINE
    if any(context.get_parameter_source(name) is typed for name in {*context.params} - {"shared"}):
        raise click.UsageError("--shared only creates a folder; omit all other options")
    try:
        from frazil.registries.sqlite.default_file import make_shared
    except ModuleNotFoundError as error:
        raise ConfigError(
            "--shared is for sqlite:, which locks files as POSIX systems do, and this system has "
            f"no {error.name}; use a server (redis://...)"
        ) from None
    folder = make_shared(group)
    text = (
        f"Without a URL, every user of this host now keeps claims in {folder}/claims.db; users "
        f"outside group {group} get an error.\n"
        "Stop all programs that use the default, then start them again: a program that continues "
        "with its old file repeats IDs of the others.\n"
        "A namespace with time waits once, about a second; a counter needs frazil init --start N."
    )
    click.echo(wrapped(text))
