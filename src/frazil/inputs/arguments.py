"""What a caller passes, held against what a call takes, so that a slip is told in plain words."""

from collections.abc import Callable, Iterable, Mapping

from frazil.errors import ConfigError

__all__ = ["check_count", "check_fields", "expect", "refuse_unknown"]

_MOST_AT_ONCE = 1 << 40


def refuse_unknown(name: str, call: Callable[..., object], given: Iterable[str]) -> None:
    """ConfigError for a keyword argument that a call does not know. name: the call's, for users."""
    code = call.__code__
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    for argument in given:
        if argument not in known:
            from difflib import get_close_matches  # only where a person waits for the hint

            near = get_close_matches(argument, known, 1)
            hint = f"did you mean {near[0]}=? " if near else ""
            raise ConfigError(
                f"{name} has no argument {argument}=; {hint}It takes {', '.join(known)}",
                argument=argument,
            )


def expect(name: str, value: object, kinds: type | tuple[type, ...], words: str) -> None:
    """ConfigError unless a value is of one of the kinds, which ``words`` say."""
    if not isinstance(value, kinds):
        # What it holds may be a secret that was passed in the wrong place.
        raise ConfigError(f"{name} is {words}, not {type(value).__name__}", argument=name)


def check_fields(fields: Mapping[str, int] | None) -> None:
    """ConfigError unless ``fields=`` is a mapping of names."""
    expect("fields=", fields, (Mapping, type(None)), "a mapping like {'cluster': 3}")
    for name in fields or ():
        expect("a name in fields=", name, str, "a text")


def check_count(n: int) -> int:
    """``n`` if it is a number of IDs; else ConfigError."""
    if not isinstance(n, int) or isinstance(n, bool) or n < 0:
        raise ConfigError(f"how many IDs? {n!r} is no whole number from 0 on", value=n)
    if n > _MOST_AT_ONCE:
        raise ConfigError(f"{n} IDs at once are more than memory holds; ask for them in parts")
    return n
