"""System checks: ``manage.py check``, and before ``runserver``, ``migrate``, ``makemigrations``.

Otherwise the first request would show a wrong declaration. E001 to E003 are about declarations,
E004 about a generator in a field, W005 about an app that keeps the database's keys. With
``check --deploy`` also W001 to W003, a store that several hosts cannot share; with
``check --database`` and before ``migrate`` W006, a namespace that is not set up.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.core.checks import Warning as Hint
from django.db import connections
from django.utils.module_loading import import_string

from frazil.django.declared import DEFAULT, Declaration, declarations
from frazil.django.fields import FrazilAutoField, IdColumn
from frazil.errors import ConfigError, FrazilError
from frazil.generator.generator import AsyncGenerator, Generator
from frazil.generator.request import OpenRequest
from frazil.tables.reach import is_loopback


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


def check_apps(**_: object) -> list[CheckMessage]:
    """W005 for an app whose apps.py overrides DEFAULT_AUTO_FIELD, as ``startapp`` writes it."""
    if not issubclass(import_string(settings.DEFAULT_AUTO_FIELD), FrazilAutoField):
        return []
    return [
        Hint(
            f"{type(config).__name__} sets default_auto_field to {config.default_auto_field!r}, so "
            "the database makes the keys of this app's models",
            hint="remove the line from its apps.py; then makemigrations",
            obj=config.label,
            id="frazil.W005",
        )
        for config in apps.get_app_configs()
        if config._is_default_auto_field_overridden
        and not {"site-packages", "dist-packages"} & set(Path(config.path).parts)
        and any(
            key.auto_created and not key.is_relation and not isinstance(key, IdColumn)
            for key in (model._meta.pk for model in config.get_models())
        )
    ]


def check_namespaces(databases: object = None, **_: object) -> list[CheckMessage]:
    """W006 for a namespace that is not set up; with ``check --database`` and ``migrate``."""
    messages: list[CheckMessage] = []
    if not databases:  # contacts the stores
        return messages
    for request, names in to_set_up().items():
        try:
            missing = request.connect().look() is None
        except FrazilError as error:
            problem = f"namespace {request.namespace!r} of {request.url} cannot be read: {error}"
            messages.append(Hint(problem, id="frazil.W006"))
            continue
        if missing:
            problem = (
                f"namespace {request.namespace!r} of {request.url} is not set up, so the first ID "
                f"of {', '.join(names)} waits for seconds"
            )
            hint = "run manage.py frazil init"
            messages.append(Hint(problem, hint=hint, id="frazil.W006"))
    return messages


def to_set_up() -> dict[OpenRequest, list[str]]:
    """The namespaces that models and settings use, with the names of their declarations."""
    used = {
        field.declaration.name
        for model in apps.get_models(include_auto_created=True)
        for field in model._meta.local_fields
        if isinstance(field, FrazilAutoField)
    }
    found: dict[OpenRequest, list[str]] = {}
    for name, declaration in declarations().items():
        if name in used or name != DEFAULT:
            request = declaration.request()
            if request.url.opened_by.maker == "registry" and request.url.kind != "memory":
                found.setdefault(request, []).append(name)
    return found


def check_production(**_: object) -> list[CheckMessage]:
    """W001 to W003: a store that other hosts cannot reach. For ``check --deploy``."""
    try:
        return [message for each in declarations().values() for message in _production(each)]
    except FrazilError:
        return []  # check_settings reports it


def _production(declaration: Declaration) -> Iterable[CheckMessage]:
    place = f'FRAZIL["schemes"][{declaration.name!r}]'
    kind = declaration.request().url.kind
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
        if not (is_loopback(str(each.get("HOST") or "")) or str(each["HOST"]).startswith("/"))
    )
