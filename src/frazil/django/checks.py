"""System checks: ``manage.py check``, and before ``runserver``, ``migrate``, ``makemigrations``.

Otherwise the first request would show a wrong declaration. E001 to E003 are about declarations,
E004 about a generator in a field. With ``check --deploy`` also W001 to W003: a store that several
hosts cannot share.
"""

from collections.abc import Iterable
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.core.checks import Warning as Hint
from django.db import connections

from frazil.django.declared import Declaration, declarations
from frazil.errors import ConfigError, FrazilError
from frazil.generator.generator import AsyncGenerator, Generator
from frazil.generator.request import Request

__all__ = ["check_defaults", "check_production", "check_settings"]

_LOCAL = ("", "localhost", "127.0.0.1", "::1")


def check_settings(**_: object) -> list[CheckMessage]:
    """E001 for a setting that is wrong, W004 for text that Django would group like a number."""
    try:
        found = declarations()
    except ConfigError as error:
        return [Error(str(error), hint="correct FRAZIL in the settings", id="frazil.E001")]
    messages: list[CheckMessage] = _shared_namespaces(found.values())
    for name, declaration in found.items():
        try:
            declaration.request()
        except FrazilError as error:
            text = f'FRAZIL["schemes"][{name!r}]: {error}'
            messages.append(Error(text, hint="correct FRAZIL in the settings", id="frazil.E001"))
    if getattr(settings, "USE_THOUSAND_SEPARATOR", False):
        problem = "USE_THOUSAND_SEPARATOR puts separators into IDs in templates"
        hint = "write {{ order.id|unlocalize }}, after {% load l10n %}, or leave the setting out"
        messages.append(Hint(problem, hint=hint, id="frazil.W004"))
    return messages


def _shared_namespaces(found: Iterable[Declaration]) -> list[CheckMessage]:
    """E005: a namespace has one layout, or its IDs could be equal."""
    messages: list[CheckMessage] = []
    first: dict[tuple[object, object], Declaration] = {}
    for declaration in found:
        making = declaration.making
        other = first.setdefault((making["url"], making["namespace"]), declaration)
        if other.scheme.fingerprint != declaration.scheme.fingerprint:
            problem = (
                f"{other.name!r} and {declaration.name!r} share the namespace "
                f"{making['namespace']!r} and have different layouts"
            )
            hint = "give each a namespace of its own"
            messages.append(Error(problem, hint=hint, id="frazil.E005"))
    return messages


def check_defaults(**_: object) -> list[CheckMessage]:
    """E004 for ``default=ids``, which no migration can hold."""
    return [
        Error(
            "default= is a generator, which cannot be written into a migration",
            hint='use FrazilAutoField("name", primary_key=True), or default= a function that '
            "returns ids()",
            obj=field,
            id="frazil.E004",
        )
        for model in apps.get_models(include_auto_created=True)
        for field in model._meta.local_fields
        if isinstance(getattr(field, "default", None), Generator | AsyncGenerator)
    ]


def check_production(**_: object) -> list[CheckMessage]:
    """W001 to W003: a store that other hosts cannot reach. For ``check --deploy``."""
    try:
        requests = {name: each.request() for name, each in declarations().items()}
    except FrazilError:
        return []  # check_settings reports it
    return [
        message
        for name, request in requests.items()
        for message in _production(name, request, declarations()[name])
    ]


def _production(name: str, request: Request, declaration: Declaration) -> Iterable[CheckMessage]:
    place = f'FRAZIL["schemes"][{name!r}]'
    kind = request.url.kind
    if kind == "memory":
        problem = f"{place} uses memory:, whose claims end with the process and are not shared"
        yield Error(problem, hint="use redis:, postgresql: or sqlite:", id="frazil.W002")
    elif declaration.making["url"] is None:
        problem = f"{place} has no url; FRAZIL_URL, or a file of this user, is used"
        yield Hint(problem, hint='set FRAZIL["url"]', id="frazil.W001")
    elif kind == "sqlite" and _remote_databases():
        problem = (
            f"{place} keeps claims in a file of this host, while the database "
            f"{_remote_databases()} is on another"
        )
        hint = (
            "with several hosts, use redis:, postgresql: or etcd:; the file of each host would "
            "begin with node 0"
        )
        yield Hint(problem, hint=hint, id="frazil.W003")


def _remote_databases() -> str:
    """The aliases of databases on other hosts."""
    kept: dict[str, Any] = connections.settings
    return ", ".join(
        alias
        for alias, each in kept.items()
        if str(each.get("HOST") or "") not in _LOCAL and not str(each["HOST"]).startswith("/")
    )
