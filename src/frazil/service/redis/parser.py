r"""Reading commands of Redis's protocol from bytes that come as they come.

A command is an array of bulk strings, ``*2\r\n$4\r\nINCR\r\n$1\r\na\r\n``, or a line of words, as
people type it. Nothing else begins a request, and nothing is nested, so the parser needs no stack
and cannot be sent deep. Every length is refused before it is believed: a line, a count and a bulk
have limits that are far above what the few commands of this door need, and a client that breaks one
is told so and cut off, since what follows has no known beginning.

The parser keeps what is not a whole command yet. That is at most one command within the limits; the
rest of what it was fed is bounded by whoever feeds it.

Source: Redis serialization protocol specification, "Sending commands to a Redis server".
"""

__all__ = ["ARGUMENTS_MOST", "BULK_MOST", "LINE_MOST", "Parser", "ProtocolError"]

ARGUMENTS_MOST = 16
BULK_MOST = 1_024
LINE_MOST = 1_024

_DIGITS_MOST = 6


class ProtocolError(Exception):
    """Bytes that are no command, or one that is over a limit; nothing after them can be read."""


class Parser:
    """``feed`` it bytes, then ask for ``command`` until there is none."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._at = 0
        # A pipeline is one command many times. A whole array is the beginning of no other, so bytes
        # that equal the last one are the same command and need not be read again.
        self._last = b""
        self._parts: list[bytes] = []

    def __len__(self) -> int:
        """Bytes that are kept."""
        return len(self._buffer) - self._at

    def feed(self, data: bytes) -> None:
        """Take in more bytes."""
        if self._at:
            del self._buffer[: self._at]
            self._at = 0
        self._buffer += data

    def command(self) -> list[bytes] | None:
        """The next whole command; None until there is one. Raises ProtocolError."""
        if self._last and self._buffer.startswith(self._last, self._at):
            self._at += len(self._last)
            return self._parts.copy()
        while self._at < len(self._buffer):
            is_array = self._buffer.startswith(b"*", self._at)
            found = self._array() if is_array else self._words()
            if found is None or found:
                return found  # an empty line or array asks for nothing, and is passed over
        return None

    def same(self, most: int) -> int:
        """How many of the commands that come next are the last one again, up to ``most``."""
        size = len(self._last)
        count = min((len(self._buffer) - self._at) // size, most) if size else 0
        while count and not self._buffer.startswith(self._last * count, self._at):
            count //= 2
        return count

    def skip(self, count: int) -> None:
        """Pass over so many of them."""
        self._at += count * len(self._last)

    def _words(self) -> list[bytes] | None:
        line = self._line(self._at, LINE_MOST)
        if line is None:
            return None
        text, self._at = line
        self._last = b""  # what is the same as this is not counted
        words = text.split()
        if len(words) > ARGUMENTS_MOST:
            raise ProtocolError(f"a command has at most {ARGUMENTS_MOST} parts here")
        return words

    def _array(self) -> list[bytes] | None:
        """An array, or None while its end is missing; then it is read again from its start."""
        head = self._number(self._at + 1, ARGUMENTS_MOST, "parts of a command")
        if head is None:
            return None
        count, at = head
        parts: list[bytes] = []
        for _ in range(count):
            if at >= len(self._buffer):
                return None
            if self._buffer[at] != 0x24:  # "$"
                raise ProtocolError("the parts of a command are bulk strings, '$'")
            size = self._number(at + 1, BULK_MOST, "bytes of a part")
            if size is None:
                return None
            length, at = size
            end = at + length
            if len(self._buffer) < end + 2:
                return None
            if self._buffer[end : end + 2] != b"\r\n":
                raise ProtocolError("a bulk string is longer than it said")
            parts.append(bytes(self._buffer[at:end]))
            at = end + 2
        if parts:
            self._last, self._parts = bytes(self._buffer[self._at : at]), parts.copy()
        self._at = at
        return parts

    def _number(self, at: int, most: int, what: str) -> tuple[int, int] | None:
        """A length and where it ends."""
        line = self._line(at, _DIGITS_MOST)
        if line is None:
            return None
        text, end = line
        if not text.isdigit():
            raise ProtocolError(f"{what}: not a number")
        if int(text) > most:
            raise ProtocolError(f"{what}: at most {most} here")
        return int(text), end

    def _line(self, at: int, most: int) -> tuple[bytes, int] | None:
        """The text up to the end of the line, and where the next begins."""
        end = self._buffer.find(b"\n", at, at + most + 2)
        if end < 0 and len(self._buffer) - at < most + 2:
            return None
        text = bytes(self._buffer[at:end]).removesuffix(b"\r")
        if end < 0 or len(text) > most:
            raise ProtocolError(f"a line has at most {most} bytes here")
        return text, end + 1
