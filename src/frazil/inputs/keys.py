"""Keys: where they come from, and how they stay out of everything that is shown.

A key in a source file, a command line or a log is no longer secret. ``ps`` shows arguments to every
user of the host, and a traceback shows what an object prints. So a key is named, not written:
``env:ORDER_KEY`` is the value of an environment variable, ``file:/run/secrets/order-key`` the
content of a file. Bytes are accepted from code that has its own store of secrets. Nothing here
shows the key itself: not ``repr``, not an error, also not the error for an invalid key. Many
programs record the local variables of each frame of an error. So a function that gets a key calls
``hidden`` first, and a key that is read becomes a ``Secret`` at once: an error is raised only where
no variable holds a key. A text that is not a name may be the key, and is treated as one, also after
``env:`` or ``file:``.

**Numbers.** A key that leaked or is old is replaced, and the texts that it wrote are still in
links. So each key has a number from 1 to 9, which the text shows. The last key of a list writes,
and all of them read. The order decides this, not the number: a fleet first gets the new key as a
reader (``2=env:NEW`` before ``1=env:OLD``), then as the writer.

**The form.** A variable or a file holds 128, 192 or 256 bits: 32, 48 or 64 hex digits of either
case, or 24, 32 or 44 characters of base64 (the standard or the URL-safe alphabet, with its
padding). A text of hex digits alone is read as hex. Space around it is ignored. A key whose bytes
are all equal is refused: it is a placeholder.

**Copies.** The bytes of a key are in a ``Secret``, which no ``vars``, ``dataclasses.asdict`` or
JSON encoder looks into. A pickle lands in queues, caches and spilled files, so it carries the name
of a key, and the process that loads it reads the key again: workers of Spark or Dask need the same
environment and files. A key that was given as bytes has no name, and its pickle is refused. A copy
in memory shares the key.
"""

import os
import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Never, TypeAlias

from frazil.errors import ConfigError
from frazil.system.imports import load

_SIZES = (128, 192, 256)
_NUMBERS = range(1, 10)
_NAMED = re.compile(r"(?:(?P<number>[1-9])=)?(?P<name>(?P<kind>env|file):(?P<place>.+))", re.DOTALL)
_FILE_MAX = 1024  # bytes; a key has at most 64 characters
_FORM = "32, 48 or 64 hex digits, or 24, 32 or 44 characters of base64"
_MAKE = "openssl rand -hex 32"
_STANDARD = bytes.maketrans(b"-_", b"+/")
_KEYLIKE = re.compile(r"[0-9A-Fa-f]{32,}|(?=.*[a-z])(?=.*[A-Z])[A-Za-z0-9+/_-]{22,}={0,2}")
_HOW = "name it, like 'env:ORDER_KEY' or 'file:/run/secrets/order-key'"


class Secret:
    """The bytes of a key, which only ``reveal`` shows."""

    __slots__ = ("_bytes",)

    def __init__(self, secret: bytes) -> None:
        self._bytes = secret

    def reveal(self) -> bytes:
        """The bytes, for a cipher."""
        return self._bytes

    def __repr__(self) -> str:
        return "***"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return False
        # Imported here because it loads OpenSSL, which a process without a key does not need.
        return bool(load("hmac:compare_digest")(self._bytes, other._bytes))

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __copy__(self) -> "Secret":
        return self

    def __deepcopy__(self, memo: object) -> "Secret":
        return self

    def __reduce__(self) -> Never:
        raise ConfigError(
            "a key that was given as bytes is not pickled, because a pickle may be stored; "
            f"{_HOW}, so that the other process reads it there"
        )


@dataclass(frozen=True)
class _Refused:
    """Stands for a value that is not a key, and holds the reason."""

    reason: str


@dataclass(frozen=True)
class Key:
    """A key of 16, 24 or 32 bytes, its number, and its name ("" for one given as bytes)."""

    number: int
    name: str
    secret: Secret = field(repr=False)

    def __repr__(self) -> str:
        return f"{self.number}={self.name or '***'}"


@dataclass(frozen=True)
class Keys:
    """Keys with different numbers. The last one writes, and all of them read."""

    keys: tuple[Key, ...]

    @property
    def writer(self) -> Key:
        """The key of new texts."""
        return self.keys[-1]

    @property
    def numbers(self) -> str:
        """The numbers of all keys, for messages."""
        return ", ".join(str(key.number) for key in sorted(self.keys, key=lambda key: key.number))

    def __repr__(self) -> str:
        return f"<keys {', '.join(map(repr, self.keys))}>"

    def __reduce__(self) -> Any:
        return read_keys, ({key.number: key.name or key.secret for key in self.keys},)

    def __copy__(self) -> "Keys":
        return self

    def __deepcopy__(self, memo: object) -> "Keys":
        return self  # without reading a variable that may be gone


KeysLike: TypeAlias = bytes | str | Iterable[str] | Mapping[int, bytes | str] | Keys
"""One key, a list of texts like ``2=env:NEW``, or keys by their numbers."""


def hidden(given: KeysLike) -> KeysLike:
    """``given`` with each key in a ``Secret``, so that no local variable shows it.

    Raises no error for an invalid key; ``read_keys`` does.
    """
    if isinstance(given, Keys):
        return given
    hide: Any = _hidden
    if isinstance(given, Mapping):
        return {number: hide(one) for number, one in given.items()}
    if isinstance(given, Iterable) and not isinstance(given, bytes | str | bytearray | memoryview):
        return [hide(one) for one in given]
    hid: KeysLike = hide(given)
    return hid


def read_keys(given: KeysLike) -> Keys:
    """The keys of ``key=``. Raises ConfigError, which never shows a key.

    ``given`` is bytes, a name like ``env:ORDER_KEY``, several of them as ``1=env:OLD`` and
    ``2=env:NEW``, or a mapping from numbers to bytes or names. A single key without a number has
    the number 1.
    """
    given = hidden(given)
    if isinstance(given, Keys):
        return given
    if isinstance(given, Mapping):
        keys = [_key(one, number) for number, one in given.items()]
    elif isinstance(given, list):
        keys = _listed(given)
    else:
        keys = [_key(given)]
    if not keys:
        raise ConfigError(f"no key is given; {_HOW}")
    numbers = [key.number for key in keys]
    for number in numbers:
        if numbers.count(number) > 1:
            raise ConfigError(
                f"two keys have the number {number}; give each its own, from 1 to 9", number=number
            )
    return Keys(tuple(keys))


def _hidden(one: object) -> "Secret | _Refused | str":
    """Bytes as a Secret; a name; the reason for anything else, which may be the key."""
    if isinstance(one, Secret | _Refused):
        return one
    if isinstance(one, bytes):
        return Secret(one)
    if not isinstance(one, str):
        return _Refused(f"a key must be bytes or a name, not {type(one).__name__}; {_HOW}")
    found = _NAMED.fullmatch(one)
    if found is None or _is_key(found["kind"], found["place"].strip()):
        return _Refused(
            "a key must not be written where programs and logs can show it (if this was a key, "
            f"it is exposed: make another); {_HOW}"
        )
    return one


def _is_key(kind: str, place: str) -> bool:
    """Whether a key may have been written where the name of a variable or a file belongs."""
    if not _KEYLIKE.fullmatch(place):
        return False
    return place not in os.environ if kind == "env" else not os.path.exists(place)  # noqa: PTH110


def _listed(given: list[Any]) -> list[Key]:
    for one in given:
        found = _NAMED.fullmatch(one) if isinstance(one, str) else None
        if len(given) > 1 and found and not found["number"]:
            raise ConfigError(
                f"{found['name']!r} has no number, and there are {len(given)} keys; write each "
                "with its number, like '2=env:NEW_KEY', the key that writes last"
            )
    return [_key(one) for one in given]


def _key(given: Any, number: int | None = None) -> Key:
    """The key of something hidden."""
    if number is not None and (type(number) is not int or number not in _NUMBERS):
        raise ConfigError("the number of a key is a whole number from 1 to 9", limit=_NUMBERS[-1])
    if isinstance(given, _Refused):
        raise ConfigError(given.reason)
    if isinstance(given, Secret):
        return Key(number or 1, "", _usable(given, "the key"))
    found = _NAMED.fullmatch(given)
    assert found is not None
    if number is not None and found["number"] not in (None, str(number)):
        raise ConfigError(f"the key {given!r} is listed as number {number}; write one number")
    text = _from_env(found["place"]) if found["kind"] == "env" else _from_file(found["place"])
    secret = _usable(_bytes_of(text, found["name"]), f"the key in {found['name']}")
    return Key(number or int(found["number"] or 1), found["name"], secret)


def _from_env(name: str) -> Secret:
    if name not in os.environ:
        raise ConfigError(f"the environment has no variable {name}; put the key there: {_FORM}")
    return Secret(os.environ[name].encode(errors="replace"))


def _from_file(path: str) -> Secret:
    try:
        with Path(path).open("rb") as file:
            return Secret(file.read(_FILE_MAX))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(
            f"the key in file:{path} cannot be read: {reason}; write it there: {_FORM}"
        ) from None


def _bytes_of(text: Secret, name: str) -> Secret:
    secret = _decoded(text.reveal().strip())
    if secret is None:
        raise ConfigError(
            f"{name} holds {len(text.reveal().strip())} characters that are not a key; a key is "
            f"{_FORM} ({_MAKE} makes one)"
        )
    return secret


def _decoded(text: bytes) -> Secret | None:
    if re.fullmatch(rb"[0-9A-Fa-f]+", text):
        if len(text) % 2 == 0:
            return Secret(bytes.fromhex(text.decode()))
    elif re.fullmatch(rb"(?:[A-Za-z0-9+/]+|[A-Za-z0-9_-]+)={0,2}", text):
        with suppress(Base64Error):
            return Secret(b64decode(text.translate(_STANDARD), validate=True))
    return None


def _usable(secret: Secret, what: str) -> Secret:
    """``secret``. ``what`` describes it in errors.

    Raises ConfigError for a length that AES does not have, and if all bytes are equal.
    """
    bits = len(secret.reveal()) * 8
    if bits not in _SIZES:
        raise ConfigError(
            f"{what} has {bits} bits; give 128, 192 or 256 ({_MAKE} makes a key of 256)",
            value=bits,
            limit=_SIZES[-1],
        )
    if len(set(secret.reveal())) == 1:
        raise ConfigError(
            f"all bytes of {what} are equal, so it is easy to guess; make a random one: {_MAKE}"
        )
    return secret
