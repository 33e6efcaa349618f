"""Checks of arguments, with errors that name the argument and the accepted values."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from operator import index
from typing import Any

from frazil.errors import ConfigError, brief

_MOST_AT_ONCE = 1 << 40


def refuse_unknown(name: str, call: Callable[..., object], given: Any) -> None:
    """Raise ConfigError for an unknown keyword argument. name: the call, as users know it.

    Then ``given`` is emptied, because ``kye=`` may have a secret, and tools record variables.
    """
    code = call.__code__
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    for argument in tuple(given):
        if argument not in known:
            from difflib import get_close_matches  # slow to import, and only errors need it

            near = get_close_matches(argument, known, 1)
            given.clear()
            hint = f"did you mean {near[0]}=? " if near else ""
            raise ConfigError(
                f"{name} has no argument {argument}=; {hint}It accepts {', '.join(known)}",
                argument=argument,
            )


def expect(name: str, value: object, kinds: type | tuple[type, ...], words: str) -> None:
    """Raise ConfigError unless a value has one of the types, described by ``words``."""
    if not isinstance(value, kinds):
        # The value is not shown: it may be a secret that was passed in the wrong place.
        raise ConfigError(f"{name} must be {words}, not {type(value).__name__}", argument=name)


def check_fields(fields: Mapping[str, int] | None) -> None:
    """Raise ConfigError unless ``fields=`` is a mapping with names as keys."""
    expect("fields=", fields, (Mapping, type(None)), "a mapping like {'cluster': 3}")
    for name in fields or ():
        expect("a name in fields=", name, str, "a string")


def check_whole(name: str, value: object, least: int = 0) -> int:
    """A value as an int if it is a whole number, ``least`` or more; else ConfigError.

    An integer of numpy is one. A bool and a float are not.
    """
    found: Any = None
    if not isinstance(value, bool):
        with suppress(TypeError):
            found = index(value)  # type: ignore[arg-type]
    if found is None or found < least:
        raise ConfigError(
            f"{name} must be a whole number, {least} or more, not {brief(value)}", value=value
        )
    return int(found)


def check_count(n: int) -> int:
    """``n`` if it is a number of IDs; else ConfigError."""
    if type(n) is int and 0 <= n <= _MOST_AT_ONCE:
        return n  # a tenth of the time of what follows
    count = check_whole("the number of IDs", n)
    if count > _MOST_AT_ONCE:
        raise ConfigError(f"{brief(n)} IDs do not fit into memory; request them in parts")
    return count
