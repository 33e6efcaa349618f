"""Text for numbers: one ID has one text, and an error shows the wrong character.

An ID leaves the program as text: in a URL, a log, over the phone. ``str`` and ``int`` are not
enough. ``int`` reads ``" 1_0"``, ``"+10"`` and the digits of other scripts as ten, so one ID has
many texts, and a cache, a signature or a unique column sees many IDs. Texts without padding do not
sort as their numbers do.

So a codec is a value: an encoding, a width in bits, a prefix and optional check characters. It
reads only what it writes. Except in decimal it writes all digits, so texts sort (by character
code) as the numbers do. In hex, base58 and base62 the case matters; base32 writes upper case and
reads both, for texts that people type (``GroupedCodec`` reads more of what they type).

An alphabet of one's own, ``alphabet:`` and its digits from 0 up, may leave out vowels, so that no
words appear. Texts in it sort as the numbers do if its characters are in the order of ASCII. They
are letters and digits, which need no escape in a URL, in JSON, in CSV or in SQL.

``uuid`` is the form of RFC 9562: 32 hex digits, in groups of 8, 4, 4, 4 and 12, lower case. Many
programs also read capitals, braces and ``urn:uuid:``. A codec does not, because one ID has one
text; ``uuid.UUID(text)`` reads them, and ``Scheme.read`` accepts its result.

A prefix names the type of the record, like ``order_``: one or more parts of ASCII letters and
digits, each with a ``_`` at its end, a letter first, at most 32 characters. No encoding uses ``_``,
so the end of the prefix is always clear.

Limits: 1 to 128 bits. Decoding reads only as many characters as an ID can have. The check
characters (one in base32, else two) find every single wrong character and every swap of two
neighbours. They are not a signature.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import index as whole
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from frazil.errors import CodecError, ConfigError, InternalError, brief
from frazil.schemes.alphabet import (
    ENCODINGS,
    LIKE_ONE,
    OWN,
    UUID_BITS,
    checks_of,
    digit_values,
    digits_of,
    encodings_of,
    number_of,
    text_of,
    why_wrong,
)
from frazil.system.cached import Cached

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BITS_MAX = 128
_PREFIX = re.compile(r"(?=.{2,32}\Z)[A-Za-z][A-Za-z0-9]*_(?:[A-Za-z0-9]+_)*", re.ASCII)
_UUID_HYPHENS = (8, 13, 18, 23)
_FACT_MAX = 256  # characters of a refused text that an error keeps


@dataclass(frozen=True)
class Codec:
    """The text form of numbers of ``bits`` bits. Raises ConfigError for invalid arguments.

    ``encoding`` is decimal, hex, base32, base58, base62 or, for 128 bits, uuid; or ``alphabet:``
    and at least two different ASCII letters and digits. ``check`` adds one check character in
    base32 and two in the others, but not to a UUID.
    """

    encoding: str
    bits: int
    prefix: str = field(default="", kw_only=True)
    check: bool = field(default=False, kw_only=True)

    # What stands between the prefix and the digits: a regular expression, and its width.
    _mark: ClassVar[str] = ""
    _mark_width: ClassVar[int] = 0

    def __post_init__(self) -> None:
        self._check_encoding()
        if type(self.bits) is not int or not 1 <= self.bits <= _BITS_MAX:
            raise ConfigError(
                f"an ID has 1 to {_BITS_MAX} bits, not {brief(self.bits)}; give an int in "
                "that range",
                bits=self.bits,
                limit=_BITS_MAX,
            )
        self._check_uuid()
        prefix: object = self.prefix
        if prefix != "" and not (isinstance(prefix, str) and _PREFIX.fullmatch(prefix)):
            raise ConfigError(
                f"prefix {brief(self.prefix)} is invalid; write at most 32 ASCII letters and "
                "digits, a letter first and '_' last, like 'order_'",
                prefix=self.prefix,
            )
        check: object = self.check
        if not isinstance(check, bool):
            raise ConfigError(f"check is True or False, not {brief(check)}", value=check)
        if self.check and (self.encoding == "uuid" or self._base == 2):
            raise ConfigError(
                f"{self.encoding} has no check character; use encoding 'base32' for one",
                encoding=self.encoding,
            )

    def _check_uuid(self) -> None:
        if self.encoding == "uuid" and "uuid" not in encodings_of(self.bits):
            raise ConfigError(
                f"a UUID has {UUID_BITS} bits and this ID {self.bits}; use scheme 'uuid7', another "
                "encoding, or a key",
                encoding=self.encoding,
                bits=self.bits,
                limit=UUID_BITS,
            )

    def _check_encoding(self) -> None:
        encoding: object = self.encoding
        if isinstance(encoding, str) and encoding.startswith(OWN):
            digits = encoding.removeprefix(OWN)
            usable = digits.isascii() and digits.isalnum()
            if not usable or not 2 <= len(digits) == len(set(digits)):
                raise ConfigError(
                    f"the alphabet of {brief(encoding)} is not usable; write 2 or more different "
                    "ASCII letters and digits, like 'alphabet:0123456789BCDFGHJKMNPQRSTVWXZ'",
                    encoding=encoding,
                )
        elif encoding not in ENCODINGS:
            raise ConfigError(
                f"encoding {brief(encoding)} is unknown; write one of {', '.join(ENCODINGS)}, or "
                f"'{OWN}' and the characters of your own",
                encoding=encoding,
            )

    @Cached
    def width(self) -> int | None:
        """The characters without prefix and check characters; None for decimal."""
        characters = self._mark_width + self._places + len(self._hyphens)
        return None if self.encoding == "decimal" else characters

    @Cached
    def pattern(self) -> str:
        """A regular expression of all texts, for JSON schemas (ECMA 262) and Python alike.

        ``decode`` is stricter: it also refuses numbers that are too large, and wrong check
        characters.
        """
        return self.pattern_of({}, "")

    def pattern_of(self, meant: Mapping[str, str], between: str) -> str:
        """The same if other characters are read as digits, and some may be between two digits."""
        if self.encoding == "uuid":
            return f"^{self.prefix}[0-9a-f]{{8}}(-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}$"
        mark = self._mark.replace("]", f"{LIKE_ONE}]") if between else self._mark
        start = f"^{self.prefix}{mark}{mark and between}"
        decimal = self.encoding == "decimal"
        digits = f"[{'0-9' if decimal else self._digits}{''.join(meant)}]"
        more = f"({between}{digits})" if between else digits
        check = ""
        if self.check:
            # Of these, only the asterisk of base32 could be taken for an operator.
            symbols = "0-9" if decimal else "".join(dict.fromkeys("".join(self._check_values)))
            symbols = symbols.replace("*", "\\*") + "".join(meant)
            check = f"{between}[{symbols}]" * self._check_width
        if decimal:
            zeros = "".join(c for c in meant if meant[c] == "0")
            others = "".join(c for c in meant if c not in zeros)
            zero = f"[0{zeros}]" if zeros else "0"
            return f"{start}({zero}|[1-9{others}]{more}{{0,{self._places - 1}}}){check}$"
        if between:
            return f"{start}{digits}{more}{{{self._places - 1}}}{check}$"
        return f"{start}{digits}{{{self._places}}}{check}$"

    @Cached
    def limit(self) -> int:
        """The largest number."""
        return (1 << self.bits) - 1

    @Cached
    def _places(self) -> int:
        places = 1
        while self._base**places <= self.limit:
            places += 1
        return places

    @Cached
    def length(self) -> int:
        """The characters of the longest text."""
        shown = self._mark_width + self._places + len(self._hyphens)
        return len(self.prefix) + shown + self._check_width

    @property
    def marked(self) -> bool:
        """Whether the number of a key stands before the digits."""
        return bool(self._mark)

    @property
    def plain(self) -> bool:
        """Whether a text is the number in decimal and nothing else."""
        return self.encoding == "decimal" and not (self.prefix or self.check)

    @property
    def _base(self) -> int:
        return len(digits_of(self._alphabet))

    @Cached
    def _checks(self) -> tuple[str, ...]:
        """The check characters by the number modulo their count; without any, one empty text."""
        return checks_of(self.encoding) if self.check else ("",)

    @Cached
    def _check_values(self) -> dict[str, int]:
        """The number modulo the count of check characters; in base32, of either case."""
        values = {check: value for value, check in enumerate(self._checks)}
        if self.encoding == "base32":
            values |= {check.lower(): value for check, value in values.items()}
        return values

    @Cached
    def _check_width(self) -> int:
        return len(self._checks[0])

    @Cached
    def _digits(self) -> str:
        return "".join(digit_values(self._alphabet))

    @Cached
    def _alphabet(self) -> str:
        return "hex" if self.encoding == "uuid" else self.encoding

    @Cached
    def _hyphens(self) -> tuple[int, ...]:
        """The places of the hyphens in the text without the prefix."""
        return _UUID_HYPHENS if self.encoding == "uuid" else ()

    def encode(self, n: int) -> str:
        """The text of ``n``. Raises CodecError (value, limit) if it is not an ID of this width."""
        n = self.checked(n)
        text = self._text(n)
        return text + self._checks[n % len(self._checks)] if self.check else text

    def _text(self, n: int) -> str:
        """The text of a number of as many digits as are shown, without a check."""
        body = text_of(n, self._alphabet, self._places)
        for place in self._hyphens:
            body = f"{body[:place]}-{body[place:]}"
        return self.prefix + body

    def decode(self, text: str) -> int:
        """The number of ``text``. Raises CodecError (text, position, character) for other texts.

        ``position`` counts from 0 and includes the prefix; ``character`` is empty if the text
        ends too early. The error keeps the first 256 characters of a long text.
        """
        check_text(text)
        if len(text) <= self.length and text.startswith(self.prefix):
            end = len(text) - self._check_width
            body = self._joined(text[len(self.prefix) : end])
            if self._is_written(body):
                n = number_of(body, self._alphabet)
                check = self._check_values.get(text[end:])
                if n <= self.limit and check == n % len(self._checks):
                    return n
        self._refuse(text)

    def to_bytes(self, n: int) -> bytes:
        """``n`` as raw bytes, big endian."""
        return self.checked(n).to_bytes((self.bits + 7) // 8, "big")

    def from_bytes(self, data: bytes | bytearray | memoryview) -> int:
        """The number of raw bytes. Raises CodecError for a wrong length or too large a number."""
        if not isinstance(data, bytes | bytearray | memoryview):
            raise CodecError(f"from_bytes needs bytes, not {type(data).__name__}", value=data)
        size, given = (self.bits + 7) // 8, memoryview(data).nbytes
        if given != size:
            raise CodecError(
                f"an ID of {self.bits} bits must have {size} bytes, not {given}",
                value=given,
                limit=size,
            )
        return self.checked(int.from_bytes(bytes(data), "big"))

    def encode_array(self, numbers: NDArray[Any]) -> NDArray[np.bytes_]:
        """The texts of a numpy array of one dimension, as an array of bytes (dtype ``S``).

        ``numbers`` has an integer dtype, or for more than 64 bits the fields ``hi`` and ``lo``
        (uint64 each). Raises CodecError (index, value, limit), Misuse for another kind of array,
        ConfigError without numpy.
        """
        from frazil.schemes import arrays

        values, fits = arrays.checked(numbers, self.limit)
        if not fits.all():
            each(self.encode, arrays.ints(numbers), int(fits.argmin()))
        if self.bits > 64:
            import numpy as np

            return np.array([self.encode(n) for n in arrays.ints(values)], f"S{self.length}")
        return self._written(values)

    def decode_array(self, texts: Iterable[str] | NDArray[Any]) -> NDArray[Any]:
        """The numbers of many texts, as uint64 (more than 64 bits: the fields ``hi`` and ``lo``).

        ``texts`` is an array of one dimension of texts or bytes, or any iterable of ``str``. Raises
        the CodecError of ``decode``, with the ``index`` of the first wrong text; Misuse and
        ConfigError as ``encode_array``.
        """
        from frazil.schemes import arrays

        column = arrays.text_column(texts)
        codes = arrays.codes(column, self.length) if self.bits <= 64 else None
        if codes is None:
            return arrays.from_ints(each(self.decode, arrays.listed(column)), self.bits)
        values, good = self._read(codes)
        if not good.all():
            each(self.decode, arrays.listed(column), int(good.argmin()))
            raise InternalError("reading many texts refused what reading one accepts")
        return values

    def _written(self, values: NDArray[np.uint64]) -> NDArray[np.bytes_]:
        """The texts of valid numbers of up to 64 bits."""
        from frazil.schemes import arrays

        return arrays.write(values, self.prefix, self.encoding, self._places, self._checks)

    def _read(self, codes: NDArray[np.uint8]) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """The numbers of rows of characters, and which rows are valid."""
        from frazil.schemes import arrays

        checks = self._check_values
        return arrays.read(codes, self.prefix, self.encoding, self._places, self.limit, checks)

    def checked(self, n: int) -> int:
        """``n`` as an int of the width. An integer of numpy is valid, a bool is not.

        Raises CodecError (value, limit) for anything else.
        """
        if type(n) is int and 0 <= n <= self.limit:
            return n
        try:
            number = whole(n)
        except TypeError:
            number = None
        if number is None or isinstance(n, bool):
            raise CodecError(f"an ID must be a whole number, not {type(n).__name__}", value=n)
        if not 0 <= number <= self.limit:
            size = number.bit_length()
            shown = number if size <= 2 * _BITS_MAX else f"a number of {size} bits"
            raise CodecError(
                f"{shown} does not fit {self.bits} bits, which hold 0 to {self.limit}",
                value=n,
                limit=self.limit,
            )
        return number

    def _joined(self, body: str) -> str:
        """The digits without the hyphens; no digits, and so refused, if one is not in its place."""
        if any(body[place : place + 1] != "-" for place in self._hyphens):
            return "-"
        for place in reversed(self._hyphens):
            body = body[:place] + body[place + 1 :]
        return body

    def _is_written(self, body: str) -> bool:
        """Whether these are digits in the one way that ``encode`` writes them."""
        if body.strip(self._digits):  # another character
            return False
        if self.encoding == "decimal":
            return body == "0" or (body != "" and body[0] != "0")
        return len(body) == self._places

    def _refuse(self, text: str) -> NoReturn:
        position, reason = self.fault(text)
        raise CodecError(
            f"not the {self.encoding} text of a {self.bits}-bit ID: {reason}\n"
            f"{_drawing(text, position)}",
            text=text[:_FACT_MAX],
            position=position,
            character=text[position : position + 1],
        )

    def fault(self, text: str) -> tuple[int, str]:
        """The position of the first fault of a refused text, and the reason."""
        for position, expected in enumerate(self.prefix):
            if text[position : position + 1] != expected:
                return position, f"it must begin with {self.prefix!r}"
        start, end = len(self.prefix) + self._mark_width, self.length - self._check_width
        if self.encoding == "decimal":
            end = min(end, max(start, len(text) - self._check_width))
        body = text[start:end]
        for position, character in enumerate(body):
            if position in self._hyphens:
                if character != "-":
                    return start + position, f"a UUID has '-' here, not {character!a}"
            elif character not in self._digits:
                return start + position, why_wrong(character, self._alphabet)
        if self.encoding == "decimal":
            if body == "":
                return start, "the number is missing"
            if body[0] == "0" and body != "0":
                return start, "a decimal ID has no leading zeros"
        elif len(text) < self.length:
            return len(text), f"it ends after {len(text)} of {self.length} characters"
        checks = "".join(self._check_values)
        for position, character in enumerate(text[end : end + self._check_width], end):
            if character not in checks:
                return position, why_wrong(character, self.encoding)
        if len(text) > self.length:
            return self.length, f"it must end after {self.length} characters"
        return self._fault_of_number(body, start)

    def _fault_of_number(self, body: str, start: int) -> tuple[int, str]:
        """The same of a text in the right form, whose digits begin at ``start``."""
        most = text_of(self.limit, self.encoding, self._places)
        if number_of(body, self.encoding) > self.limit:
            values = digit_values(self.encoding)
            places = enumerate(zip(body, most, strict=True), start)
            position = next(i for i, (one, other) in places if values[one] != values[other])
            return position, f"it is larger than {most}, the largest"
        name = "check character does" if self._check_width == 1 else "check characters do"
        return start + len(body), f"the {name} not fit; a character was misread"


def _drawing(text: str, position: int) -> str:
    """The text as printable ASCII, cut soon after the wrong character, with a caret below it."""
    shown = [c if " " <= c <= "~" else ascii(c)[1:-1] for c in text[: position + 24]]
    before = len("".join(shown[:position]))
    cut = "..." if len(text) > len(shown) else ""
    return f"    {''.join(shown)}{cut}\n    {' ' * before}^"


def check_text(text: object) -> None:
    """Raise CodecError unless it is a str."""
    if not isinstance(text, str):
        raise CodecError(f"the text of an ID must be a str, not {type(text).__name__}", text=text)


def each(call: Callable[[Any], Any], column: Sequence[Any], first: int = 0) -> list[Any]:
    """``call`` of every element from ``first`` on; an error names the element."""
    results = []
    for i in range(first, len(column)):
        try:
            results.append(call(column[i]))
        except CodecError as error:
            raise CodecError(f"element {i}: {error}", index=i, **error.facts) from None
    return results
