"""Reading TOML so that a mistake is told by file, key, and what would have been right.

A configuration is typed once and read for years. A key that is misspelt must not be a silent
default, and a message that says "expected str" sends its reader searching. So every value is taken
by name and kind from a table that knows where it stands, and what nobody took is refused at the
end, beside the names that are known there.
"""

import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from frazil.errors import ConfigError

__all__ = ["Table", "read_table"]

Kind = TypeVar("Kind")

_KINDS = {str: "a text", int: "a whole number", bool: "true or false", list: "a list"}


class Table:
    """One table of a TOML file. ``place`` is its dotted name; "" for the whole file."""

    def __init__(self, file: str, place: str, values: Mapping[str, Any]) -> None:
        self.file = file
        self.place = place
        self._values = dict(values)
        self._known: list[str] = []

    def take(self, key: str, kind: type[Kind], default: Kind, allowed: str = "") -> Kind:
        """The value of a key, or the default; ConfigError for a value of another kind.

        allowed: what is right, in words, for the message.
        """
        self._known.append(key)
        if key not in self._values:
            return default
        value = self._values.pop(key)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            self.refuse(key, value, allowed or _KINDS.get(kind, kind.__name__))
        return value

    def texts(self, key: str, allowed: str, *, needed: bool = True) -> tuple[str, ...]:
        """The value of a key, a list of texts; one that is needed must be there, and not empty."""
        found = self.take(key, list, [], allowed)
        if (needed and not found) or not all(isinstance(one, str) for one in found):
            self.refuse(key, found, allowed)
        return tuple(found)

    def table(self, key: str) -> "Table":
        """The table below this one of that name; an empty one if it is not there."""
        self._known.append(key)
        found = self._values.pop(key, {})
        if not isinstance(found, dict):
            self.refuse(key, found, f"a table, [{self._name(key)}]")
        return Table(self.file, self._name(key), found)

    def tables(self, key: str) -> "Iterator[Table]":
        """The tables of an array, ``[[key]]``."""
        self._known.append(key)
        found = self._values.pop(key, [])
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            self.refuse(key, found, f"tables, each under [[{self._name(key)}]]")
        return (Table(self.file, f"{self._name(key)}[{i}]", one) for i, one in enumerate(found))

    def items(self) -> list[tuple[str, Any]]:
        """All that is left, for a table whose keys are names."""
        left, self._values = list(self._values.items()), {}
        return left

    def finish(self) -> None:
        """Refuse what nobody took."""
        for key in self._values:
            near = get_close_matches(key, self._known, 1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise ConfigError(
                f"{self.file}: {self._name(key)} is no key; {hint}known here: "
                f"{', '.join(sorted(self._known))}",
                file=self.file,
                key=self._name(key),
            )

    def refuse(self, key: str, value: object, allowed: str) -> NoReturn:
        """ConfigError for a value; what is allowed instead, in words."""
        shown = repr(value) if len(repr(value)) <= 80 else repr(value)[:77] + "..."
        raise ConfigError(
            f"{self.file}: {self._name(key)} is {shown}; it must be {allowed}",
            file=self.file,
            key=self._name(key),
        )

    def blame(self, key: str, error: Exception) -> ConfigError:
        """An error of what a value led to, with the file and key before it."""
        return ConfigError(
            f"{self.file}: {self._name(key)}: {error}", file=self.file, key=self._name(key)
        )

    def _name(self, key: str) -> str:
        return f"{self.place}.{key}" if self.place else key


def read_table(path: Path) -> Table:
    """A TOML file as a table; ConfigError for one that cannot be read, with the line."""
    try:
        with path.open("rb") as file:
            return Table(str(path), "", tomllib.load(file))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; name a file with --config") from None
    except (ValueError, RecursionError) as error:  # a number without end, brackets without end
        raise ConfigError(f"{path} is no TOML: {error}", file=str(path)) from None
