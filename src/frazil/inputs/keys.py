"""Keys: where they come from, and how they stay out of everything that is shown.

A key in a source file, a command line or a log is no longer one. ``ps`` shows arguments to every
user of the host, and a traceback shows what an object prints. So a key is named, not written:
``env:ORDER_KEY`` is the value of an environment variable, ``file:/run/secrets/order-key`` the
content of a file. Bytes are accepted from code that has its own store of secrets. Nothing here
shows the key itself: not ``repr``, not an error, also not the error for an invalid key.

**Numbers.** A key that leaked or is old is replaced, and the texts that it wrote are still in
links. So each key has a number from 1 to 9, which the text shows. The last key of a list writes,
and all of them read. The order says it, not the number: a fleet first gets the new key as a reader
(``2=env:NEW`` before ``1=env:OLD``), then as the writer.

**The form.** A variable or a file holds 128, 192 or 256 bits: 32, 48 or 64 hex digits of either
case, or 24, 32 or 44 characters of base64 (the standard or the URL-safe alphabet, with its
padding). A text of hex digits alone is read as hex. Space around it is ignored.

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
from dataclasses import dataclass, field
from hmac import compare_digest
from pathlib import Path
from typing import Any, Never, TypeAlias

from frazil.errors import ConfigError

__all__ = ["Key", "Keys", "KeysLike", "Secret", "read_keys"]

_SIZES = (16, 24, 32)
_NUMBERS = range(1, 10)
_NAMED = re.compile(r"(?:(?P<number>[1-9])=)?(?P<name>(?P<kind>env|file):(?P<place>.+))", re.DOTALL)
_FILE_MAX = 1024  # bytes; a key has at most 64 characters
_FORM = "32, 48 or 64 hex digits, or 24, 32 or 44 characters of base64"
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
        return isinstance(other, Secret) and compare_digest(self._bytes, other._bytes)

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


def read_keys(given: KeysLike) -> Keys:
    """The keys of ``key=``. Raises ConfigError, which never shows a key.

    ``given`` is bytes, a name like ``env:ORDER_KEY``, several of them as ``1=env:OLD`` and
    ``2=env:NEW``, or a mapping from numbers to bytes or names. A single key without a number has
    the number 1.
    """
    if isinstance(given, Keys):
        return given
    if isinstance(given, bytes | str):
        keys = [_key(given)]
    elif isinstance(given, Mapping):
        keys = [_key(one, number) for number, one in given.items()]
    elif isinstance(given, Iterable) and not isinstance(given, bytearray | memoryview):
        keys = _listed(list(given))
    else:
        raise ConfigError(f"a key is bytes or a name, not {type(given).__name__}; {_HOW}")
    if not keys:
        raise ConfigError(f"no key is given; {_HOW}")
    numbers = [key.number for key in keys]
    for number in numbers:
        if numbers.count(number) > 1:
            raise ConfigError(
                f"two keys have the number {number}; give each its own, from 1 to 9", number=number
            )
    return Keys(tuple(keys))


def _listed(given: list[Any]) -> list[Key]:
    for one in given:
        found = _NAMED.fullmatch(one) if isinstance(one, str) else None
        if len(given) > 1 and found and not found["number"]:
            raise ConfigError(
                f"{found['name']!r} has no number, and there are {len(given)} keys; write each "
                "with its number, like '2=env:NEW_KEY', the key that writes last"
            )
    return [_key(one) for one in given]


def _key(given: object, number: int | None = None) -> Key:
    """One key. Neither its bytes nor a text that is not a name are shown: it may be the key."""
    if number is not None and (type(number) is not int or number not in _NUMBERS):
        raise ConfigError("the number of a key is a whole number from 1 to 9", limit=_NUMBERS[-1])
    if isinstance(given, bytes):
        return Key(number or 1, "", Secret(_sized(given, "the key")))
    if not isinstance(given, str):
        raise ConfigError(f"a key is bytes or a name, not {type(given).__name__}; {_HOW}")
    found = _NAMED.fullmatch(given)
    if found is None:
        raise ConfigError(
            "a key is not written where programs and logs can show it (if this was one, it is "
            f"known now: make another); {_HOW}"
        )
    if number is not None and found["number"] not in (None, str(number)):
        raise ConfigError(f"the key {given!r} is listed as number {number}; write one number")
    text = _from_env(found["place"]) if found["kind"] == "env" else _from_file(found["place"])
    secret = _sized(_bytes_of(text, found["name"]), f"the key in {found['name']}")
    return Key(number or int(found["number"] or 1), found["name"], Secret(secret))


def _from_env(name: str) -> str:
    text = os.environ.get(name)
    if text is None:
        raise ConfigError(f"the environment has no variable {name}; put the key there: {_FORM}")
    return text


def _from_file(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            return file.read(_FILE_MAX).decode("latin-1")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(
            f"the key in file:{path} cannot be read: {reason}; write it there: {_FORM}"
        ) from None


def _bytes_of(text: str, name: str) -> bytes:
    text = text.strip()
    if re.fullmatch(r"[0-9A-Fa-f]+", text):
        if len(text) % 2 == 0:
            return bytes.fromhex(text)
    elif re.fullmatch(r"(?:[A-Za-z0-9+/]+|[A-Za-z0-9_-]+)={0,2}", text):
        try:
            return b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
        except Base64Error:
            pass
    raise ConfigError(
        f"{name} holds {len(text)} characters that are no key; a key is {_FORM} (openssl rand "
        "-hex 32 makes one)"
    )


def _sized(secret: bytes, what: str) -> bytes:
    if len(secret) not in _SIZES:
        raise ConfigError(
            f"{what} has {len(secret) * 8} bits; give 128, 192 or 256 (openssl rand -hex 32 makes "
            "a key of 256)",
            value=len(secret) * 8,
            limit=_SIZES[-1] * 8,
        )
    return secret
