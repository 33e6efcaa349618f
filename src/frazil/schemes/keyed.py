"""Keyed text: IDs whose text shows neither time nor rate nor order, and is still decoded.

The text of an ID in a URL shows every reader when a record was made and, from two of them, how many
are made a day. A second, random column must be stored, indexed and looked up. So here the number is
encrypted on its way into text, and decrypted on its way back; the database keeps ordered numbers.

The text is the prefix, the number of the key as a digit from 1 to 9, and the digits of the
encrypted number in fixed width::

    order_ 1 5mS2yYk0HQd
    prefix key digits

The cipher is FF1 over all numbers of the width, with the prefix in ASCII as its tweak. So one ID
has one text for each key, each text in range is that of one number, and ``order_`` and ``user_`` of
one number differ. Check characters are those of the whole number in digits of the encoding, the
digit of the key included.

A UUID has no place for the number of a key, and is made in another way (``keyed_uuid``).

Limits: at least 20 bits. Not in decimal: the digits would look like the number in the database.
Equal IDs have equal texts. There is no signature: many altered texts are those of other numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from frazil.errors import ConfigError
from frazil.inputs.keys import Keys
from frazil.schemes.alphabet import number_of, text_of
from frazil.schemes.codec import Codec, check_text
from frazil.system.cached import Cached

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from frazil.schemes.cipher import NumberCipher

_BITS_MIN = 20
_NUMBERS = "123456789"


@dataclass(frozen=True)
class KeyedCodec(Codec):
    """The encrypted text of numbers of ``bits`` bits, at least 20; see ``Codec``.

    Raises ConfigError also for decimal, for fewer bits, and without the extra ``cipher``.
    """

    keys: Keys = field(kw_only=True)

    _mark: ClassVar[str] = "[1-9]"
    _mark_width: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.encoding == "decimal":
            raise ConfigError(
                "keyed text is not written in decimal, where it would look like the number in the "
                "database; use encoding 'base62', 'base58', 'base32', 'hex' or 'uuid'",
                encoding=self.encoding,
            )
        if self.bits < _BITS_MIN:
            raise ConfigError(
                f"{self.bits} bits are too few for keyed text, since all texts could be tried; use "
                f"a layout of {_BITS_MIN} bits or more",
                bits=self.bits,
                limit=_BITS_MIN,
            )
        _ = self._ciphers  # an extra that is missing is an error at once

    def __getstate__(self) -> dict[str, Any]:
        # The ciphers hold the keys themselves; ``keys`` pickles their names.
        return {name: value for name, value in self.__dict__.items() if name != "_ciphers"}

    @Cached
    def _ciphers(self) -> dict[int, NumberCipher]:
        from frazil.schemes.cipher import NumberCipher

        bits, tweak = self._domain
        return {
            key.number: NumberCipher(key.secret.reveal(), bits, tweak) for key in self.keys.keys
        }

    @property
    def _domain(self) -> tuple[int, bytes]:
        """The bits of an encrypted number, and the tweak."""
        return self.bits, self.prefix.encode("ascii")

    def encode(self, n: int) -> str:
        number = self.keys.writer.number
        image = self._ciphers[number].encrypt(self.checked(n))
        text = f"{self.prefix}{number}{text_of(image, self.encoding, self._places)}"
        return text + self._checks[(image + self._offset(number)) % len(self._checks)]

    def decode(self, text: str) -> int:
        check_text(text)
        at = len(self.prefix)
        if len(text) == self.length and text.startswith(self.prefix) and text[at] in _NUMBERS:
            number = int(text[at])
            end = len(text) - self._check_width
            body = text[at + 1 : end]
            if number in self._ciphers and self._is_written(body):
                image = number_of(body, self.encoding)
                check = (image + self._offset(number)) % len(self._checks)
                if image <= self.limit and self._check_values.get(text[end:]) == check:
                    return self._ciphers[number].decrypt(image)
        self._refuse(text)

    def _written(self, values: NDArray[np.uint64]) -> NDArray[np.bytes_]:
        from frazil.schemes import arrays

        number = self.keys.writer.number
        images = self._ciphers[number].each(values, decrypt=False)
        turn = self._offset(number) % len(self._checks)
        checks = self._checks[turn:] + self._checks[:turn]
        start = f"{self.prefix}{number}"
        return arrays.write(images, start, self.encoding, self._places, checks)

    def _read(self, codes: NDArray[np.uint8]) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        from frazil.schemes import arrays

        values = arrays.empty(len(codes), 64, "uint64")[1]
        good = codes[:, 0] > 127  # none yet
        for number, cipher in self._ciphers.items():
            rows = codes[:, len(self.prefix)] == ord(str(number))
            offset, start = self._offset(number), f"{self.prefix}{number}"
            count = len(self._checks)
            turned = {c: (value - offset) % count for c, value in self._check_values.items()}
            images, good[rows] = arrays.read(
                codes[rows], start, self.encoding, self._places, self.limit, turned
            )
            values[rows] = cipher.each(images, decrypt=True)
        return values, good

    def _offset(self, number: int) -> int:
        """The number that the digit of the key adds to the one that a check character covers."""
        return number * int(self._base**self._places)

    def fault(self, text: str) -> tuple[int, str]:
        at = len(self.prefix)
        if text.startswith(self.prefix):
            given = text[at : at + 1]
            if not given or given not in _NUMBERS:
                return at, "the number of a key, 1 to 9, must come first"
            if int(given) not in self._ciphers:
                return at, f"key {given} is not known here; known: {self.keys.numbers}"
        return super().fault(text)
