"""The setting ``FRAZIL``, and the value of an ID: a number that shows itself as text.

A model, a form, a serializer and a URL all need the same scheme. A scheme written in each of them
would also be written into every migration, and a generator there would be opened by each of them.
So a field carries a name, and the name is looked up here, when it is used::

    FRAZIL = {
        "url": "postgresql://db/shop",              # of all schemes; the default is FRAZIL_URL
        "test_url": "memory:",                      # of all schemes in tests; this is the default
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

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Self

from django.conf import settings
from django.core.signals import setting_changed

from frazil.errors import CodecError, ConfigError
from frazil.generator.generator import Generator
from frazil.generator.local import open_request
from frazil.generator.request import OpenRequest, make_request
from frazil.opening import OpenOptions
from frazil.schemes.scheme import Scheme, scheme

DEFAULT = "default"  # the name of what models without a name of their own use
_LOOKS = ("scheme", "fields", "epoch", "encoding", "shuffle", "prefix", "check", "key", "group")
_MAKING = ("url", *(n for n in OpenOptions.__annotations__ if n not in ("fields", "registry")))
_OLD_KEYS_END = 10**12  # an ID of such a number would be of the first hours of its epoch
_generators: dict[OpenRequest, Generator] = {}


@dataclass(frozen=True)
class Declaration:
    """One entry of ``schemes``. making: arguments of ``frazil.open``, without the scheme.

    old_keys: the largest key that the database made before the table moved to frazil, while such
    keys are still accepted, else 0. They keep the text that they had, their digits.
    """

    name: str
    scheme: Scheme
    making: Mapping[str, Any] = field(repr=False)  # a URL may hold a password
    test_url: str = "memory:"
    old_keys: int = 0

    def request(self) -> OpenRequest:
        """The arguments for ``frazil.open``, as a request. Raises ConfigError."""
        making = dict(self.making)
        if _testing():
            making |= {"url": self.test_url, "token": None}
        return make_request(scheme=self.scheme, **making)

    def read(self, value: Any) -> int:
        """The number of an ID or its text, or of an old key. Raises CodecError."""
        if isinstance(value, int) and not isinstance(value, bool):
            value = int(value)  # an ``Id`` is one
        number = self.old_key(value)
        return self.scheme.read(value) if number is None else number

    def old_key(self, value: Any) -> int | None:
        """The number of an old key or its digits; None for anything else."""
        if isinstance(value, str) and len(value) <= len(str(self.old_keys)):
            number = int(value) if value.isascii() and value.isdecimal() else 0
            value = number if str(number) == value else None  # 017 is another text
        known = (
            isinstance(value, int) and not isinstance(value, bool) and 0 < value <= self.old_keys
        )
        return int(value) if known else None

    def text_of(self, value: Any) -> str:
        """The text of what ``read`` accepts."""
        return self.format(self.read(value))

    def format(self, n: int) -> str:
        """The text of an ID, or the digits of an old key."""
        return str(n) if 0 < n <= self.old_keys else self.scheme.format(n)

    @property
    def pattern(self) -> str:
        """A regular expression for the texts that ``read`` accepts."""
        ours = self.scheme.pattern.removeprefix("^").removesuffix("$")
        digits = len(str(self.old_keys))
        return f"^(?:{ours}|[1-9][0-9]{{0,{digits - 1}}})$" if self.old_keys else f"^{ours}$"

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
    _known("FRAZIL", setting, ("url", "test_url", "schemes", "wrong_text"))
    if setting.get("wrong_text", "error") not in ("error", "no row"):
        raise ConfigError('FRAZIL["wrong_text"] must be "error" or "no row"')
    schemes = setting.get("schemes", {})
    if not isinstance(schemes, Mapping):
        raise ConfigError(
            f'FRAZIL["schemes"] must be a mapping from names to schemes, not '
            f"{type(schemes).__name__}"
        )
    return {
        name: _declaration(name, entry, setting) for name, entry in {DEFAULT: {}, **schemes}.items()
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


def wrong_text_is_no_row() -> bool:
    """Whether a lookup by a text that is no ID finds nothing, instead of raising."""
    return bool(getattr(settings, "FRAZIL", {}).get("wrong_text") == "no row")


def _testing() -> bool:
    """Whether Django's tests run: of ``manage.py test``, or of pytest-django."""
    utils = sys.modules.get("django.test.utils")
    return utils is not None and hasattr(utils._TestState, "saved_data")


def _declaration(name: str, entry: object, setting: Mapping[str, Any]) -> Declaration:
    place = f'FRAZIL["schemes"][{name!r}]'
    if isinstance(entry, Scheme | str):
        entry = {"scheme": entry}
    if not isinstance(entry, Mapping):
        raise ConfigError(
            f"{place} must be a Scheme, a scheme's name, or a mapping with arguments of "
            f"frazil.scheme and frazil.open, not {type(entry).__name__}"
        )
    _known(place, entry, (*_LOOKS, *_MAKING, "old_keys"))
    looks = {key: entry[key] for key in _LOOKS[1:] if key in entry}
    making = {"namespace": name, "url": setting.get("url")} | {
        key: entry[key] for key in _MAKING if key in entry
    }
    try:
        made = scheme(entry.get("scheme", "icicle"), **looks)
        old_keys = _checked(entry.get("old_keys", 0), made)
        return Declaration(name, made, making, setting.get("test_url", "memory:"), old_keys)
    except (ConfigError, ValueError) as error:
        raise ConfigError(f"{place}: {error}", name=name) from error


def _checked(old_keys: object, made: Scheme) -> int:
    """The largest old key. Raises ConfigError if an ID could have its number or its text."""
    if not isinstance(old_keys, int) or not 0 <= old_keys < _OLD_KEYS_END:
        raise ConfigError(
            f"old_keys is the largest key that the database made, below {_OLD_KEYS_END}, not "
            f"{old_keys!r}"
        )
    if old_keys and (made.shuffle is not None or made.layout.axis != "time"):
        raise ConfigError("old_keys needs a scheme whose IDs begin with their time")
    bare = not made.prefix and made.encoding != "decimal"
    if old_keys and bare and len(str(old_keys)) >= len(made.format(0)):
        raise ConfigError("old_keys needs a prefix=, as a key could have the text of an ID")
    return old_keys


def _known(place: str, given: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in given:
        if key not in known:
            raise ConfigError(f"{place} has no entry {key!r}; it accepts {', '.join(known)}")


def _forget(*, setting: str, **_: object) -> None:
    """A test that changes the setting reads it again."""
    if setting == "FRAZIL":
        declarations.cache_clear()


setting_changed.connect(_forget)


class Id(int):
    """An ID: an int whose ``str`` is its text. name: its declaration in ``FRAZIL``.

    A plain ``int`` is right in Python and in the table. Django shows a value with ``str``, in URLs,
    templates, hidden inputs, the admin and its log, and so every place would show digits and need a
    line that converts. A ``str`` would be right there, but a number that someone assigned, or that
    came from another layer, would not equal it, and would not be found in a dictionary with IDs as
    keys. So it is an ``int`` in all that it does (``==``, ``hash``, ``<``, ``%d``).

    It knows the name of its declaration and not the scheme, so a pickle in a cache holds a number
    and a name. Limit: ``json`` writes every subclass of ``int`` as a number; ``with_texts`` comes
    before it.
    """

    name: str

    def __new__(cls, n: int, name: str) -> Self:
        self = super().__new__(cls, n)
        self.name = name
        return self

    @classmethod
    def read(cls, value: Any, declaration: Declaration) -> Self:
        """The ID of a number or a text, of a declaration. Raises CodecError."""
        return cls(declaration.read(value), declaration.name)

    @property
    def scheme(self) -> Scheme:
        """How it is cut and shown: ``order.id.scheme.unpack(order.id).moment``."""
        return declared(self.name).scheme

    def __str__(self) -> str:
        return declared(self.name).format(int(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (int(self), self.name)


def why(error: CodecError) -> str:
    """The reason, without the drawing below it, which is for a terminal."""
    return str(error).partition("\n")[0]


def with_texts(value: Any) -> Any:
    """The same with the text of each ``Id``, for what writes an ``int`` as a number."""
    if isinstance(value, Id):
        return str(value)
    if isinstance(value, dict):
        return {with_texts(key): with_texts(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [with_texts(one) for one in value]
    return value
