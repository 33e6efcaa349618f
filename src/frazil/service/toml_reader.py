"""A TOML reader whose errors name the file, the key and the allowed values.

Each value is read by name and type. Keys that were not read are refused at the end, with the known
names, so a misspelt key never becomes a silent default. Errors go to a log, so they show numbers,
booleans and times, but no other value: it may be a URL with its password at a wrong place.
"""

import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import date, time
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from frazil.errors import ConfigError
from frazil.inputs.masking import masked

Kind = TypeVar("Kind")

_PASSWORD = re.compile(r"(?<=:)(?!//)[^/?#\s]+(?=@)|(?<=password=)[^\s&]+")  # in no valid URL too
_KINDS = {str: "a string", bool: "true or false", list: "a list", dict: "a table"}


class Table:
    """One table of a TOML file. ``place`` is its dotted name; "" is the whole file."""

    def __init__(self, file: str, place: str, values: Mapping[str, Any]) -> None:
        self.file = file
        self.place = place
        self._values = dict(values)
        self._known: list[str] = []

    def take(
        self,
        key: str,
        kind: type[Kind],
        default: Any,
        allowed: str = "",
        valid: Callable[[Kind], bool] = lambda _: True,
    ) -> Any:
        """Return the value of a key, or the default. Raises ConfigError for another type.

        An empty string is refused if it is not the default: it would turn something off in silence.
        allowed: the allowed values in words, for the message; valid: whether a value is one.
        """
        self._known.append(key)
        if key not in self._values:
            return default
        value = self._values.pop(key)
        boolean = kind is int and isinstance(value, bool)
        if not isinstance(value, kind) or boolean or value == "" != default or not valid(value):
            self.refuse(key, value, allowed or _KINDS.get(kind, kind.__name__))
        return value

    def need(self, key: str, allowed: str, valid: Callable[[str], bool] = bool) -> str:
        """Return the value of a key that must be there, a string."""
        found: str | None = self.take(key, str, None, allowed, valid)
        return self.refuse(key, "", allowed) if found is None else found

    def texts(
        self, key: str, allowed: str, among: Collection[str] = (), *, needed: bool = True
    ) -> tuple[str, ...]:
        """Return the value of a key, a list of strings; if ``needed``, it must not be empty.

        among: the strings that are allowed; by default any.
        """
        found = self.take(key, list, [], allowed)
        if needed and not found:
            self.refuse(key, found, allowed)
        for at, one in enumerate(found, 1):
            if not isinstance(one, str) or (among and one not in among):
                near = get_close_matches(str(one), among, 1)
                hint = f" (did you mean {near[0]}?)" if near else ""
                raise self._error(key, f": entry {at} is wrong{hint}; it must be {allowed}")
        return tuple(found)

    def table(self, key: str) -> "Table":
        """Return the table with that name below this one, or an empty one."""
        found = self.take(key, dict, {}, f"a table, [{self._name(key)}]")
        return Table(self.file, self._name(key), found)

    def tables(self, key: str) -> "Iterator[Table]":
        """Return the tables of an array, ``[[key]]``."""
        allowed = f"tables, each under [[{self._name(key)}]]"
        found = self.take(key, list, [], allowed)
        if not all(isinstance(one, dict) for one in found):
            self.refuse(key, found, allowed)
        return (Table(self.file, f"{self._name(key)}[{i}]", one) for i, one in enumerate(found))

    def items(self) -> list[tuple[str, Any]]:
        """Return all remaining keys and values, for a table whose keys are names."""
        left, self._values = list(self._values.items()), {}
        return left

    def finish(self) -> None:
        """Raise ConfigError for a key that was not read."""
        for key in self._values:
            near = get_close_matches(key, self._known, 1)
            hint = f"did you mean {near[0]}? " if near else ""
            known = ", ".join(sorted(self._known))
            raise self._error(key, f" is not a known key; {hint}known keys: {known}")

    def refuse(self, key: str, value: object, allowed: str) -> NoReturn:
        """Raise ConfigError for a value. allowed: the allowed values, in words."""
        harmless = isinstance(value, int | float | date | time)
        shown = value if harmless else _KINDS[type(value)] if value else "empty"
        raise self._error(key, f" is {shown}; it must be {allowed}")

    def error_at(self, key: str, error: object) -> ConfigError:
        """Return an error caused by a value as ConfigError, with the file and the key."""
        return self._error(key, f": {error}")

    def _error(self, key: str, words: str) -> ConfigError:
        name, words = (_PASSWORD.sub("***", masked(text)) for text in (self._name(key), words))
        return ConfigError(f"{self.file}: {name}{words}", file=self.file, key=name)

    def _name(self, key: str) -> str:
        return f"{self.place}.{key}" if self.place else key


def read_table(path: Path) -> Table:
    """Read a TOML file. Raises ConfigError, with the line, if that fails."""
    try:
        with path.open("rb") as file:
            return Table(str(path), "", tomllib.load(file))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; pass a file with --config") from None
    except (ValueError, RecursionError) as error:  # numbers that are too long, or nested too deep
        raise ConfigError(f"{path} is not valid TOML: {error}", file=str(path)) from None
