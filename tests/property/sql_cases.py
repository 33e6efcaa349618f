"""Schemes and IDs for the tests of SQL: every preset, every text form, and unusual cuts."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import frazil
from frazil.errors import CodecError, LayoutError
from frazil.schemes.scheme import PRESETS, Scheme

_EPOCH = "2025-01-01T00:00:00Z"
_TEXTS = ("decimal", "hex", "base32", "base58", "base62")
OWN = "alphabet:123456789BCDFGHJKMNPQRSTVWXZ"  # O is no digit, and 0 neither
_LAYOUTS = {
    "pieces": "time[39..20] node.rack:4 kind:3=5 time[19..0] node.unit:5 sequence:9 @1ms",
    "reversed": "time:40~ node:8 sequence:14 @7us",
    "wide-sequence": "sequence:30 time:60 node:38 @1us",
    "no-time": "run:20 node:12 sequence:8",
}


def schemes() -> dict[str, Scheme]:
    """Schemes by the names of their tests."""
    found = {
        name: frazil.scheme(name, epoch=_EPOCH if preset.layout.endswith("?") else None)
        for name, preset in PRESETS.items()
    }
    for name in ("icicle", "js53", "globalid-128"):
        for encoding in _TEXTS:
            scheme = frazil.scheme(name, encoding=encoding, prefix="order_")
            found[f"{name}-{encoding}"] = scheme
        found[f"{name}-check"] = frazil.scheme(name, encoding="base32", check=True)
    for name in ("icicle", "globalid-128"):
        for encoding in ("decimal", "hex", OWN):
            look = {"encoding": encoding, "prefix": "order_"}
            found[f"{name}-{encoding}-check"] = frazil.scheme(name, check=True, **look)
            found[f"{name}-{encoding}-group"] = frazil.scheme(name, group=4, **look)
        for encoding in ("decimal", "base32", OWN):
            found[f"{name}-{encoding}-both"] = frazil.scheme(
                name, encoding=encoding, check=True, group=5
            )
    for digits in ("01", "ABC", "0123456789", "23456789"):  # the first digit of 64 bits is always 0
        found[f"icicle-{digits}"] = frazil.scheme("icicle", encoding=f"alphabet:{digits}")
    found["icicle-ABC-check"] = frazil.scheme("icicle", encoding="alphabet:ABC", check=True)
    found["shuffled"] = frazil.scheme("js53", shuffle="seed:v1:7")
    for name, text in _LAYOUTS.items():
        found[name] = frazil.scheme(f"{text} since {_EPOCH}" if "@" in text else text)
    return found


def id_of(scheme: Scheme, chance: random.Random) -> int:
    """A random ID."""
    free = [field for field in scheme.layout.fields if field.fixed is None]
    return scheme.pack(**{field.name: chance.randrange(field.limit + 1) for field in free})


def some_ids(scheme: Scheme, count: int) -> list[int]:
    """Random IDs of a scheme, the one with zeros in it, and the largest."""
    chance = random.Random(str(scheme.layout))
    free = [field for field in scheme.layout.fields if field.fixed is None]
    zero = scheme.pack(**{field.name: 0 for field in free})
    return [zero, scheme.id_max, *(id_of(scheme, chance) for _ in range(count))]


def read_or_none(scheme: Scheme, value: str | int) -> int | None:
    """The ID that a text or a number is."""
    try:
        return scheme.read(value)
    except CodecError:
        return None


def windows(scheme: Scheme, count: int) -> Iterator[tuple[datetime, datetime, range | None]]:
    """Some spans of time, and their IDs; None where the layout has no such moment."""
    chance, now = random.Random(1), datetime.now(UTC)
    for _ in range(count):
        start = now - timedelta(microseconds=chance.randrange(200_000_000_000_000))
        stop = start + timedelta(microseconds=chance.randrange(10_000_000))
        try:
            yield start, stop, scheme.window(start, stop)
        except LayoutError:
            yield start, stop, None


def other_texts(scheme: Scheme, text: str) -> list[str]:
    """Texts that are near to the text of an ID and, but for chance, are none."""
    end = text[len(scheme.prefix) :]
    joined = end.replace("-", "")
    typed = [
        joined.lower(),
        " ".join(joined),
        joined.translate(str.maketrans("01", "OI")),
        joined.replace("1", "l"),
        end + "-",
        end.replace("-", "--", 1),
        "-".join(joined),
    ]
    return [
        *(scheme.prefix + one for one in typed),
        "", " ", end[:-1], text + " ", text + "\n", " " + text, text + "0", "0" + text, "é" + text,
        text[:-1] + "é", text[:-1] + "%", text.swapcase(), text[:-1] + "-", text + text, "x_" + end,
        scheme.prefix + "z" * len(end), scheme.prefix + "9" * len(end), scheme.prefix + "-1",
        scheme.prefix + "00", scheme.prefix + "1e5", scheme.prefix + "f" * len(end),
        scheme.prefix + "Z" * len(end),
    ]  # fmt: skip
