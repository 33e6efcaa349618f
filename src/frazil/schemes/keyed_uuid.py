"""Keyed UUIDs: IDs of up to 90 bits, encrypted into what every column and client accepts.

A column, a client or an API that demands a UUID takes no other text, and UUIDv7 shows the time. So
the number is encrypted into the 122 bits that version 8 of RFC 9562 leaves free::

    1f0d8c3a-5b7e-8c42-9d10-6a3e5f7b2c94
    custom_a      | custom_b
                  version   variant

The construction, version 1:

- The number is written in 122 bits, with zeros above its own.
- FF1 encrypts them with radix 2, the most significant bit first. The tweak is ``uuid 1 `` and the
  prefix, in ASCII.
- The first 48 bits of the result are custom_a, the next 12 custom_b, the last 62 custom_c. The
  version is 8 and the variant binary 10.

**The zeros are a check.** A UUID that this key did not make decrypts to random bits, so of the 58
zeros of a 64-bit ID at least one is probably 1: a wrong key or an altered UUID is refused but for
one in 2**58. There is no number of a key: the known keys are tried, the writer first.

Limits: at most 90 bits, so that 32 are spare, and at least 20. Anyone who has a UUID can send it
again; permissions are the application's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from frazil.errors import CodecError, ConfigError
from frazil.schemes.alphabet import number_of
from frazil.schemes.codec import Codec, check_text
from frazil.schemes.keyed import KeyedCodec
from frazil.system.cached import Cached

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_FREE_BITS = 122
_SPARE_BITS = 32
_VERSION, _VARIANT = 8, 2
_LOW, _MIDDLE = (1 << 62) - 1, (1 << 12) - 1


@dataclass(frozen=True)
class KeyedUuidCodec(KeyedCodec):
    """UUIDs of version 8 that are encrypted numbers of 20 to 90 bits; see ``KeyedCodec``."""

    _mark: ClassVar[str] = ""
    _mark_width: ClassVar[int] = 0

    def _check_uuid(self) -> None:
        if self.bits > _FREE_BITS - _SPARE_BITS:
            raise ConfigError(
                f"an encrypted UUID holds at most {_FREE_BITS - _SPARE_BITS} bits, since "
                f"{_SPARE_BITS} are for noticing a wrong key, and this ID has {self.bits}; use "
                "encoding 'base62' or 'hex', or a scheme of 64 bits",
                encoding=self.encoding,
                bits=self.bits,
                limit=_FREE_BITS - _SPARE_BITS,
            )

    @property
    def _domain(self) -> tuple[int, bytes]:
        return _FREE_BITS, b"uuid 1 " + self.prefix.encode("ascii")

    @Cached
    def _places(self) -> int:
        return 32

    @Cached
    def pattern(self) -> str:
        """A regular expression of UUIDs of version 8, for JSON schemas."""
        return (
            f"^{self.prefix}[0-9a-f]{{8}}-[0-9a-f]{{4}}-8[0-9a-f]{{3}}-[89ab][0-9a-f]{{3}}-"
            "[0-9a-f]{12}$"
        )

    def encode(self, n: int) -> str:
        image = self._ciphers[self.keys.writer.number].encrypt(self.checked(n))
        high, middle = image >> 74, image >> 62 & _MIDDLE
        return self._text(
            high << 80 | _VERSION << 76 | middle << 64 | _VARIANT << 62 | image & _LOW
        )

    def decode(self, text: str) -> int:
        check_text(text)
        if len(text) == self.length and text.startswith(self.prefix):
            body = self._joined(text[len(self.prefix) :])
            if self._is_written(body):
                n = self._opened(number_of(body, "hex"))
                if n is not None:
                    return n
        self._refuse(text)

    def _opened(self, whole: int) -> int | None:
        """The number of a UUID; None if none of the keys made it."""
        if (whole >> 76 & 15, whole >> 62 & 3) != (_VERSION, _VARIANT):
            return None
        image = whole >> 80 << 74 | (whole >> 64 & _MIDDLE) << 62 | whole & _LOW
        for key in reversed(self.keys.keys):
            n = self._ciphers[key.number].decrypt(image)
            if n <= self.limit:
                return n
        return None

    def _written(self, values: NDArray[np.uint64]) -> NDArray[np.bytes_]:
        import numpy as np

        return np.array([self.encode(n) for n in values.tolist()], f"S{self.length}")

    def _read(self, codes: NDArray[np.uint8]) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        import numpy as np

        values, good = np.zeros(len(codes), np.uint64), np.zeros(len(codes), np.bool_)
        for i, row in enumerate(codes):
            try:
                values[i] = self.decode(bytes(row).decode("ascii"))
            except CodecError:
                break  # the caller finds the first fault again
            good[i] = True
        return values, good

    def fault(self, text: str) -> tuple[int, str]:
        """The position of the fault of a refused text, and the reason."""
        return Codec.fault(self, text)

    def _fault_of_number(self, body: str, start: int) -> tuple[int, str]:
        if body[14] != f"{_VERSION}":
            return start + 14, f"an encrypted UUID has version {_VERSION}, not {body[14]!a}"
        if body[19] not in "89ab":
            return start + 19, f"the variant of a UUID is 8, 9, a or b, not {body[19]!a}"
        return start, "no key that is known here made it, or it was altered"
