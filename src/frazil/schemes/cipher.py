"""FF1 for IDs: a number of n bits to another of n bits, by a key and a tweak, and back.

A hash cannot be inverted, a block cipher makes 128 bits of 64, and a permutation of bits is linear.
FF1 (NIST SP 800-38G) is a Feistel network of ten rounds over AES, for any size. Here it works on
the n bits of a number as numerals of radix 2, the most significant first. The libraries ``ffx`` and
``cryptography`` compute it.

**By the million.** Each round of a single number takes a microsecond of Python. A round's input is
the CBC-MAC of P, the tweak, zeros, the round and half of the number. Up to 64 bits only the last of
its 16-byte blocks depends on the number; those before it depend on key, tweak and n. So one call of
AES computes a round for a whole array. The tests compare it with ``ffx``.

Limits: at least 2**20 numbers, because all values of a small domain can be tried (NIST requires a
million). Arrays of up to 64 bits.
"""

from typing import TYPE_CHECKING

from frazil.system.extras import needs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

with needs("keyed text needs libffx", "cipher"):
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    from ffx import FF1

_ROUNDS = 10
_CHUNK = 1 << 15  # rows whose blocks fit a cache


class NumberCipher:
    """FF1 over the numbers of ``bits`` bits, 20 to 128. It has no state, and threads may share it.

    key: 16, 24 or 32 bytes. tweak: any bytes; another tweak is another permutation.
    """

    def __init__(self, key: bytes, bits: int, tweak: bytes) -> None:
        self._aes = algorithms.AES(key)
        self._bits = bits
        self._tweak = tweak
        self._ff1 = FF1(key)

    def encrypt(self, n: int) -> int:
        """The image of a number of the width."""
        return int(self._ff1.encrypt_int(n, domain=1 << self._bits, tweak=self._tweak))

    def decrypt(self, n: int) -> int:
        """The number of an image."""
        return int(self._ff1.decrypt_int(n, domain=1 << self._bits, tweak=self._tweak))

    def each(self, numbers: "NDArray[np.uint64]", *, decrypt: bool) -> "NDArray[np.uint64]":
        """The images of an array of numbers of at most 64 bits, or the numbers of images."""
        import numpy as np

        assert self._bits <= 64
        found = np.empty(len(numbers), np.uint64)
        first = self._first_block()
        for start in range(0, len(numbers), _CHUNK):
            part = slice(start, start + _CHUNK)
            found[part] = self._chunk(numbers[part], first, decrypt=decrypt)
        return found

    def _chunk(
        self, numbers: "NDArray[np.uint64]", first: bytes, *, decrypt: bool
    ) -> "NDArray[np.uint64]":
        """A Feistel network over columns: ``a`` is the left half, ``b`` the right one."""
        import numpy as np

        right_bits = self._bits - self._bits // 2
        masks = [np.uint64((1 << self._bits // 2) - 1), np.uint64((1 << right_bits) - 1)]
        shift = np.uint64(right_bits)
        a, b = numbers >> shift, numbers & masks[1]
        high, low = (int.from_bytes(first[at : at + 8], "big") for at in (0, 8))
        round_shift = 8 * ((right_bits + 7) // 8)
        blocks = np.empty((len(numbers), 2), ">u8")
        blocks[:, 0] = high
        # Each block is the last one of another MAC, so nothing repeats that a mode would hide.
        encrypt = Cipher(self._aes, modes.ECB()).encryptor().update  # noqa: S305
        for i in reversed(range(_ROUNDS)) if decrypt else range(_ROUNDS):
            half = a if decrypt else b
            blocks[:, 1] = half ^ np.uint64(low ^ i << round_shift)
            words = np.frombuffer(encrypt(blocks.tobytes()), ">u8")[::2].astype(np.uint64)
            if decrypt:
                a, b = (b - words) & masks[i & 1], a
            else:
                a, b = b, (a + words) & masks[i & 1]
        return a << shift | b

    def _first_block(self) -> bytes:
        """The last block of the MAC's input without round and half, after the blocks before it."""
        n, t = self._bits, len(self._tweak)
        half = n // 2
        size = (n - half + 7) // 8
        p = b"\1\2\1\0\0\2\12" + bytes([half]) + n.to_bytes(4, "big") + t.to_bytes(4, "big")
        given = p + self._tweak + bytes(-(t + 1 + size) % 16 + 1 + size)
        chained = Cipher(self._aes, modes.CBC(bytes(16))).encryptor().update(given[:-16])[-16:]
        return bytes(one ^ other for one, other in zip(chained, given[-16:], strict=True))
