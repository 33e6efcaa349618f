"""The setting ``FRAZIL``: for each name, how an ID looks and where it is made.

A model, a form, a serializer and a URL all need the same scheme. A scheme written in each of them
would also be written into every migration, and a generator there would be opened by each of them.
So a field carries a name, and the name is looked up here, when it is used::

    FRAZIL = {
        "url": "postgresql://db/shop",              # of all schemes; the default is FRAZIL_URL
        "schemes": {
            "order": {"prefix": "order_", "encoding": "base62"},
            "shop.Customer": frazil.scheme("tsid"),  # of the model shop.Customer
            "default": {},                           # of every other model
        },
    }

A value is a ``Scheme``, or a mapping with arguments of ``frazil.scheme`` and ``frazil.open``. The
namespace is the name, unless the value has another.

A generator is opened when its first ID is requested, once in each process. Equal declarations share
it. A forked worker inherits it and makes its own claims.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from django.conf import settings
from django.core.signals import setting_changed

from frazil.errors import ConfigError
from frazil.generator.generator import Generator
from frazil.generator.request import Request, make_request
from frazil.opening import open_request
from frazil.schemes.scheme import Scheme, scheme

__all__ = ["DEFAULT", "Declaration", "declarations", "declared"]

DEFAULT = "default"
"""The name of what models without a name of their own use."""

_LOOKS = ("scheme", "fields", "epoch", "encoding", "shuffle", "prefix", "check", "key")
_MAKING = ("namespace", "url", "lead", "keep", "timeout", "sequence_start", "block", "token")
_generators: dict[Request, Generator] = {}


@dataclass(frozen=True)
class Declaration:
    """One entry of ``schemes``. making: arguments of ``frazil.open``, without the scheme."""

    name: str
    scheme: Scheme
    making: Mapping[str, Any] = field(repr=False)  # a URL may hold a password

    def request(self) -> Request:
        """The arguments for ``frazil.open``, as a request. Raises ConfigError."""
        return make_request(scheme_=self.scheme, **self.making)

    def generator(self) -> Generator:
        """The generator of this process. Contacts nothing until its first ID is requested."""
        request = self.request()
        found = _generators.get(request)
        if found is None:
            # Of two threads one wins; the other's generator has contacted nothing.
            found = _generators.setdefault(request, open_request(request))
        return found


@cache
def declarations() -> Mapping[str, Declaration]:
    """All declarations by name, ``default`` included. Raises ConfigError for a wrong setting."""
    setting = getattr(settings, "FRAZIL", {})
    if not isinstance(setting, Mapping):
        raise ConfigError(
            f'FRAZIL must be a mapping like {{"url": "redis://host", "schemes": {{}}}}, not '
            f"{type(setting).__name__}"
        )
    _known("FRAZIL", setting, ("url", "schemes"))
    schemes = setting.get("schemes", {})
    if not isinstance(schemes, Mapping):
        raise ConfigError(
            f'FRAZIL["schemes"] must be a mapping from names to schemes, not '
            f"{type(schemes).__name__}"
        )
    return {
        name: _declaration(name, entry, setting.get("url"))
        for name, entry in {DEFAULT: {}, **schemes}.items()
    }


def declared(name: str | None, label: str | None = None) -> Declaration:
    """The declaration of that name; without a name that of a model's label, or the default.

    Raises ConfigError for a name that the setting does not have.
    """
    all_ = declarations()
    if name is None:
        return all_.get(label or DEFAULT) or all_[DEFAULT]
    if name not in all_:
        raise ConfigError(
            f'FRAZIL["schemes"] has no {name!r}; it has {", ".join(sorted(all_))}. Add '
            f'"{name}": {{}} to it, or use one of these names',
            name=name,
        )
    return all_[name]


def _declaration(name: str, entry: object, url: object) -> Declaration:
    place = f'FRAZIL["schemes"][{name!r}]'
    if isinstance(entry, Scheme | str):
        entry = {"scheme": entry}
    if not isinstance(entry, Mapping):
        raise ConfigError(
            f"{place} must be a Scheme, a scheme's name, or a mapping with arguments of "
            f"frazil.scheme and frazil.open, not {type(entry).__name__}"
        )
    _known(place, entry, _LOOKS + _MAKING)
    looks = {key: entry[key] for key in _LOOKS[1:] if key in entry}
    making = {"namespace": name, "url": url} | {key: entry[key] for key in _MAKING if key in entry}
    try:
        return Declaration(name, scheme(entry.get("scheme", "icicle"), **looks), making)
    except (ConfigError, ValueError) as error:
        raise ConfigError(f"{place}: {error}", name=name) from error


def _known(place: str, given: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in given:
        if key not in known:
            raise ConfigError(f"{place} has no entry {key!r}; it accepts {', '.join(known)}")


def _forget(*, setting: str, **_: object) -> None:
    """A test that changes the setting reads it again."""
    if setting == "FRAZIL":
        declarations.cache_clear()


setting_changed.connect(_forget)
