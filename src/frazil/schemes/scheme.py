"""Schemes: a layout with its shuffle and its text form, by one name.

A layout alone does not define how an ID looks. Chibrary shuffles its numbers after packing, and
TSIDs are base32. An application that must apply three objects in the right order can skip a step. A
scheme is one frozen value of the three: ``pack`` then ``format`` out, ``parse`` then ``unpack`` in.
**An ID of a shuffled scheme is the shuffled number**: ``pack`` returns it, ``format`` writes it,
``unpack`` expects it.

The presets are the layouts of published systems, bit for bit, as data. ``uuid7`` and ``uuid8`` are
those of RFC 9562, with a sequence and a node where random bits may be. A deployment sets its
constants (``fields={"cluster": 3}``), epoch, text form and shuffle by arguments. The
``fingerprint`` covers the layout with its constants, epoch and tick, and the shuffle. It does not
cover the text form, because one ID may be written in two ways, nor a key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Never

from frazil.errors import CodecError, ConfigError, LayoutError, brief
from frazil.inputs.arguments import check_fields, expect, refuse_unknown
from frazil.layout.field import ROLES, Role
from frazil.layout.layout import Layout
from frazil.layout.values import Values
from frazil.schemes.alphabet import UUID_BITS
from frazil.schemes.codec import Codec
from frazil.schemes.presets import PRESETS, Preset
from frazil.system.cached import Cached
from frazil.system.clock import to_us
from frazil.system.digest import digest

if TYPE_CHECKING:
    from uuid import UUID

    import numpy as np
    from numpy.typing import NDArray

    from frazil.inputs.keys import Keys, KeysLike
    from frazil.schemes.segments import Segment
    from frazil.schemes.shuffle import Shuffle

_MOMENT = (
    r"[0-9]{4}-?(?:[0-9]{2}-?[0-9]{2}|W[0-9]{2}-?[1-7])"
    r"(?P<time>[T ][0-9:.,]+(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?"
)


@dataclass(frozen=True)
class Scheme:
    """A layout, a shuffle of its numbers, and their text form.

    ``encoding``, ``prefix`` and ``check`` are those of ``Codec``. ``key`` makes its text a keyed
    one, and ``group`` one in groups of so many characters, which people type (0: without). Raises
    ConfigError for a shuffle of another width, an invalid text form, and a layout without a chosen
    epoch.
    """

    name: str
    layout: Layout
    encoding: str
    shuffle: Shuffle | None = None
    prefix: str = ""
    check: bool = False
    key: Keys | None = None
    group: int = 0

    def __post_init__(self) -> None:
        if self.layout.tick_us is not None and self.layout.epoch_us is None:
            raise ConfigError(
                f"scheme {self.name!r} has no epoch yet; choose it once and for all, like "
                "epoch='2025-01-01T00:00:00Z'",
                scheme=self.name,
            )
        if self.shuffle is not None and self.shuffle.bits != self.layout.bits:
            raise ConfigError(
                f"the shuffle has {self.shuffle.bits} bits and the layout {self.layout.bits}; give "
                "a shuffle of that width",
                value=self.shuffle.bits,
                limit=self.layout.bits,
            )
        _ = self.codec  # made here, so that an invalid text form is refused at once

    @Cached
    def codec(self) -> Codec:
        """The text form of the IDs."""
        look: dict[str, Any] = {"prefix": self.prefix, "check": self.check}
        if self.key is None:
            codec = Codec(self.encoding, self.bits, **look)
        else:
            from frazil.schemes.keyed import KeyedCodec  # for few programs; so are the others
            from frazil.schemes.keyed_uuid import KeyedUuidCodec

            made = KeyedUuidCodec if self.encoding == "uuid" else KeyedCodec
            codec = made(self.encoding, self.bits, **look, keys=self.key)
        if self.group == 0:
            return codec
        from frazil.schemes.grouped import GroupedCodec

        return GroupedCodec(self.encoding, self.bits, **look, inner=codec, group=self.group)

    @property
    def bits(self) -> int:
        """The width of an ID."""
        return self.layout.bits

    @property
    def pattern(self) -> str:
        """A regular expression that matches all texts, for JSON schemas; see ``Codec.pattern``."""
        return self.codec.pattern

    @Cached
    def fingerprint(self) -> str:
        """16 hex characters of the layout and the shuffle, without the text form.

        Without a shuffle it is the fingerprint of the layout.
        """
        if self.shuffle is None:
            return self.layout.fingerprint
        return digest(f"{self.layout.fingerprint} {self.shuffle.fingerprint}")

    def format(self, n: int) -> str:
        """The text of an ID. Raises CodecError for a number of another width."""
        return self.codec.encode(n)

    def parse(self, text: str) -> int:
        """The number of a text that you know is an ID, like one of your own table.

        It checks the form only; ``read`` is for text from outside. Raises CodecError, which shows
        the wrong character.
        """
        return self.codec.decode(text)

    def read(self, value: object) -> int:
        """The ID of a value from outside, as of a URL or a form: an int, text, or a UUID.

        Raises CodecError (value) for anything else, also for a number whose constants differ from
        the layout's, like a 64-bit number with the sign bit set.
        """
        # A UUID has its number as ``int``; a number has no such attribute.
        number: Any = getattr(value, "int", None)
        if isinstance(value, str):
            n = self.parse(value)
        elif number is not None and self._keyed_uuid:
            n = self.parse(f"{self.prefix}{value}")
        else:
            given: Any = value if number is None or self.bits != UUID_BITS else number
            n = self.codec.checked(given)
        if foreign := self.unpack(n).foreign:
            raise CodecError(
                f"{brief(value)} is not an ID of scheme {self.name!r}: its {', '.join(foreign)} "
                f"differs from {self.layout.fixed}; give an ID that this scheme made",
                value=value,
            )
        return n

    def uuid(self, n: int) -> UUID:
        """An ID as a UUID. Raises ConfigError as ``check_uuid``, CodecError as ``format``.

        With a key and the encoding ``uuid`` it is encrypted.
        """
        self.check_uuid()
        from uuid import UUID  # slow to load

        if self._keyed_uuid:
            return UUID(self.format(n).removeprefix(self.prefix))
        return UUID(int=self.codec.checked(n))

    @property
    def _keyed_uuid(self) -> bool:
        return self.key is not None and self.encoding == "uuid"

    def check_uuid(self) -> None:
        """Raise ConfigError (bits, limit) if an ID cannot be a UUID."""
        if self.bits != UUID_BITS and not self._keyed_uuid:
            raise ConfigError(
                f"a UUID has {UUID_BITS} bits and an ID of scheme {self.name!r} {self.bits}; open "
                "the generator with scheme='uuid7', in a namespace of its own, or with a key and "
                "encoding='uuid'",
                bits=self.bits,
                limit=UUID_BITS,
            )

    @property
    def id_max(self) -> int:
        """The largest ID."""
        n = self.layout.id_max
        return n if self.shuffle is None else self.shuffle.apply(n)

    @property
    def signed_safe(self) -> bool:
        """Whether a signed 64-bit column (BIGINT) holds every ID."""
        return self.id_max < 1 << 63

    def array_dtype(self, name: object) -> str:
        """``"uint64"`` or ``"int64"`` of a name or a numpy type; ConfigError if IDs do not fit."""
        if name == "uint64":  # the default
            return "uint64"
        kind: object = name
        if not isinstance(name, str):
            kind = getattr(name, "__name__", None) or getattr(name, "name", None)
        if kind not in ("uint64", "int64"):
            raise ConfigError(
                f"dtype={brief(name)} does not hold IDs; use 'uint64', or 'int64' for signed "
                "columns",
                value=name,
            )
        if kind == "int64" and not self.signed_safe:
            raise ConfigError(
                f"int64 holds 0 to {2**63 - 1}, and IDs of scheme {self.name!r} go up to "
                f"{self.id_max}; use 'uint64', the text form, or a scheme that fits a BIGINT",
                value=self.id_max,
                limit=2**63 - 1,
            )
        return str(kind)

    def pack(self, /, *, moment: datetime | int | None = None, **values: int) -> int:
        """The ID of raw field values (see ``Layout.pack``), shuffled if it has a shuffle.

        moment: a datetime (a naive one is UTC) or µs since 1970, instead of ``time=``; then a field
        that is not given is 0. Raises LayoutError for a moment outside the time field.
        """
        if moment is not None:
            values = self.layout.first_at(moment, values)
        n = self.layout.pack(**values)
        return n if self.shuffle is None else self.shuffle.apply(n)

    def unpack(self, n: int) -> Values:
        """The field values of an ID. Raises LayoutError for a number of another width."""
        return self.layout.unpack(n if self.shuffle is None else self.shuffle.invert(n))

    def positions(self, role: Role) -> tuple[int, ...]:
        """For each bit of a role's value, lowest first, its bit in the ID (0 = lsb)."""
        bits = self.layout.positions(role)
        return bits if self.shuffle is None else tuple(map(self.shuffle.position_of, bits))

    def segments(self, role: Role) -> tuple[Segment, ...]:
        """A role's value as shifts and masks. Raises LayoutError if there is no such field."""
        positions = self.positions(role)
        if not positions:
            raise LayoutError(
                f"scheme {self.name!r} has no {role}; its fields are "
                f"{', '.join(field.name for field in self.layout.fields)}",
                field=role,
            )
        from frazil.schemes.segments import segments_of

        return segments_of(positions)

    @Cached
    def constants(self) -> tuple[int, int]:
        """A mask and a value: a number is an ID of the scheme if ``n & mask == value``.

        The number must have at most ``bits`` bits.
        """
        mask = value = 0
        for field in self.layout.fields:
            if field.fixed is not None:
                mask |= field.pack(field.limit)
                value |= field.pack(field.fixed)
        if self.shuffle is None:
            return mask, value
        return self.shuffle.apply(mask), self.shuffle.apply(value)

    def format_many(self, ids: Any) -> NDArray[np.str_]:
        """The texts of many IDs as a numpy array of ``str``, in the order of ``ids``.

        ``ids`` is a column of numpy, pandas, Polars or Arrow without gaps, or an iterable of ints;
        above 64 bits, an array with the fields ``hi`` and ``lo``. Raises CodecError (index) for a
        number that is not an ID, Misuse for a column of another kind (float64 holds no IDs),
        ConfigError without numpy.
        """
        from frazil.schemes.columns import id_column

        return self.codec.encode_array(id_column(ids, self.codec)).astype(str)

    def parse_many(self, texts: Any) -> NDArray[np.uint64]:
        """The IDs of many texts as uint64 (above 64 bits: the fields ``hi`` and ``lo``).

        ``texts`` is a column of any library, or an iterable of ``str``. Raises CodecError (index).
        """
        return self.codec.decode_array(texts)

    def unpack_many(self, ids: Any) -> dict[str, NDArray[Any]]:
        """The values of many IDs as columns: ``time``, ``node``, ``sequence``, ``run``.

        Those that the scheme has, in the order of ``ids``. The time is datetime64 in µs, UTC; the
        others are int64. ``ids`` as in ``format_many``, and it may have missing values: there the
        time is NaT, and the others are masked arrays. ``pandas.DataFrame``, ``polars.DataFrame``
        and ``pyarrow.table`` take the result as it is. Raises the errors of ``format_many``, and
        LayoutError (index) for a value that does not fit its column.
        """
        from frazil.schemes.columns import id_column_and_gaps, moments, values_of, with_gaps

        column, missing = id_column_and_gaps(ids, self.codec)
        if self.shuffle is not None:
            column = self.shuffle.invert_array(column)
        found: dict[str, NDArray[Any]] = {}
        for role in ROLES:
            if positions := self.layout.positions(role):
                found[role] = values_of(column, positions)
        if self.layout.tick_us is not None and self.layout.epoch_us is not None:
            found["time"] = moments(found["time"], self.layout.tick_us, self.layout.epoch_us)
        return found if missing is None else with_gaps(found, missing)

    def window(self, start: datetime | int, stop: datetime | int) -> range:
        """The IDs of a time interval as one range (see ``Layout.window``).

        Raises LayoutError if they are not one range, as after a shuffle.
        """
        if self.shuffle is not None:
            raise LayoutError(
                f"scheme {self.name!r} shuffles its bits, so the IDs of an interval are not one "
                "range; filter by the unpacked moment instead",
                field="time",
            )
        return self.layout.window(start, stop)

    def with_fields(self, /, **fixed: int) -> Scheme:
        """The same scheme with other constants. Raises LayoutError for any other field."""
        layout = self.layout.with_fixed(**fixed)
        return self if layout is self.layout else replace(self, layout=layout)

    def with_epoch(self, epoch_us: int) -> Scheme:
        """The same scheme counting from ``epoch_us`` (µs since 1970). See ``Layout.with_epoch``."""
        return replace(self, layout=self.layout.with_epoch(epoch_us))


def names() -> tuple[str, ...]:
    """The names of the presets, the default first."""
    return tuple(PRESETS)


def scheme(
    spec: str | Scheme = "icicle",
    *,
    fields: Mapping[str, int] | None = None,
    epoch: datetime | str | int | None = None,
    encoding: str | None = None,
    shuffle: Shuffle | str | None = None,
    prefix: str = "",
    check: bool = False,
    key: KeysLike | None = None,
    group: int = 0,
    **unknown: Never,
) -> Scheme:
    """The scheme of a name, a layout string (decimal) or a scheme, with some changes.

    ``fields`` sets constants. ``epoch`` is an aware datetime, an ISO 8601 text with its offset (or
    a date alone, midnight in UTC), or µs since 1970. ``shuffle`` is a ``Shuffle`` or its text.
    ``encoding``, ``prefix`` and ``check`` are those of ``Codec``. ``group=4`` writes the text in
    groups of four, like ``0CH9-ZT8G-4G08-0``, and reads it as people type it (``GroupedCodec``).
    ``key`` encrypts the text: 16, 24 or 32 bytes, ``"env:NAME"``, ``"file:PATH"``, or several by
    number (see ``frazil.inputs.keys``); then base62 replaces decimal and uuid by default.
    Raises ConfigError for an unknown name, an invalid or missing epoch, a shuffle or text form that
    does not fit; LayoutError for an invalid layout or field.
    """
    if key is not None:
        from frazil.inputs.keys import hidden, read_keys

        key = hidden(key)
    refuse_unknown("scheme", scheme, unknown)
    check_fields(fields)
    expect("encoding=", encoding, (str, type(None)), "a name like 'base62'")
    if isinstance(spec, Scheme):
        given = fields, epoch, encoding, shuffle, key
        if given == (None,) * 5 and not (prefix or check or group):
            return spec  # keeps its cached values
        name, layout = spec.name, spec.layout
        own: Shuffle | str | None = spec.shuffle
        default, prefix, check = spec.encoding, prefix or spec.prefix, check or spec.check
        keys, group = spec.key, group or spec.group
    else:
        preset = _preset(spec)
        name = spec if spec in PRESETS else "custom"
        layout = Layout.parse(preset.layout)
        default = preset.encoding
        own = preset.shuffle or None
        keys = None
    if key is not None:
        keys = read_keys(key)
        default = "base62" if default in {"decimal", "uuid"} else default
    if fields:
        layout = layout.with_fixed(**fields)
    if epoch is not None:
        layout = layout.with_epoch(epoch_us(epoch))
    own = own if shuffle is None else shuffle
    made = None if own is None else _shuffle(own, layout.bits)
    encoding = default if encoding is None else encoding
    return Scheme(name, layout, encoding, made, prefix, check, keys, group)


def _shuffle(given: Shuffle | str, bits: int) -> Shuffle:
    from frazil.schemes.shuffle import Shuffle

    expect("shuffle=", given, (str, Shuffle), "a Shuffle or its text")
    return Shuffle.parse(given, bits) if isinstance(given, str) else given


def _preset(spec: str) -> Preset:
    given: object = spec
    if not isinstance(given, str):
        raise ConfigError(
            f"a scheme must be a name, a layout string or a Scheme, not {type(given).__name__}",
            value=given,
        )
    if spec in PRESETS:
        return PRESETS[spec]
    if ":" in spec:
        return Preset(spec)
    from difflib import get_close_matches  # slow to load

    near = get_close_matches(spec[:80].lower(), PRESETS, n=1)
    hint = f"did you mean {near[0]!r}? The" if near else "the"
    raise ConfigError(
        f"no scheme is called {brief(spec)}; {hint} names are {', '.join(PRESETS)}; or write a "
        "layout like 'time:42 node:10 sequence:12 @1ms since 2025-01-01T00:00:00Z'",
        scheme=spec,
        near=near,
    )


def epoch_us(epoch: datetime | str | int) -> int:
    """The µs since 1970 of a moment, as for ``scheme``. Raises ConfigError for anything else.

    A moment without an offset means another time on every host, and Python's parser reads forms
    that are not ISO 8601. Both are errors.
    """
    when: object = epoch
    if isinstance(epoch, str):
        when = None
        # fromisoformat alone reads "+0100" before anything, and "2025W01T05" as a date.
        if found := re.fullmatch(_MOMENT, epoch):
            with suppress(ValueError):
                moment = datetime.fromisoformat(epoch)
                when = moment if found["time"] else moment.replace(tzinfo=UTC)
    if isinstance(when, datetime) and when.tzinfo is not None:
        return to_us(when)
    if isinstance(when, int) and not isinstance(when, bool):
        return when
    raise ConfigError(
        f"epoch {brief(epoch)} is not a moment; write it with its offset, like "
        "'2025-01-01T00:00:00Z', or give an aware datetime or microseconds since 1970",
        value=epoch,
    )
