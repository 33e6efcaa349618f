r"""A parser for commands of the Redis protocol (RESP).

A command is an array of bulk strings, ``*2\r\n$4\r\nINCR\r\n$1\r\na\r\n``, or a line of words, for
interactive use. Nothing is nested, so the parser has no stack and cannot overflow one. The limits
of lines, counts and bulk strings are far above what the commands need, and each length is checked
before it is used. A client that exceeds a limit gets an error and is disconnected, because the
start of its next command is unknown.

The parser keeps an incomplete command, which is at most one command within the limits. The caller
limits the rest of the data.

Source: Redis serialization protocol specification, "Sending commands to a Redis server".
"""

ARGUMENTS_MOST = 16
BULK_MOST = 1_024
LINE_MOST = 1_024

_DIGITS_MOST = 6


class ProtocolError(Exception):
    """Invalid data, or a command over a limit; the data after it cannot be parsed."""


class Parser:
    """Call ``feed`` with data, then ``command`` until it returns None.

    last: the bytes of the last command, if it was an array.
    """

    def __init__(self) -> None:
        self._data = b""
        self._at = 0
        # Pipelines mostly repeat one command. No complete array is a prefix of another, so bytes
        # that equal the last command are the same command and are not parsed again.
        self.last = b""
        self._parts: list[bytes] = []

    def __len__(self) -> int:
        """Return the number of bytes kept."""
        return len(self._data) - self._at

    def feed(self, data: bytes) -> None:
        """Add data."""
        self._data = self._data[self._at :] + data
        self._at = 0

    def command(self) -> list[bytes] | None:
        """Return the next complete command, or None. Raises ProtocolError.

        An empty line or array is an empty command.
        """
        if self.last and self._data.startswith(self.last, self._at):
            self._at += len(self.last)
            return self._parts.copy()
        return self._array() if self._data.startswith(b"*", self._at) else self._words()

    def same(self, most: int) -> int:
        """Return how many of the next commands equal the last one, up to ``most``."""
        size = len(self.last)
        count = min((len(self._data) - self._at) // size, most) if size else 0
        while count and not self._data.startswith(self.last * count, self._at):
            count //= 2
        return count

    def skip(self, count: int) -> None:
        """Skip ``count`` such commands."""
        self._at += count * len(self.last)

    def _words(self) -> list[bytes] | None:
        line = self._line(self._at, LINE_MOST)
        if line is None:
            return None
        text, self._at = line
        self.last = b""  # ``same`` counts arrays only
        words = text.split()
        if len(words) > ARGUMENTS_MOST:
            raise ProtocolError(f"a command has at most {ARGUMENTS_MOST} parts")
        return words

    def _array(self) -> list[bytes] | None:
        """Return an array, or None if it is incomplete; then it is parsed again from its start."""
        head = self._number(self._at + 1, ARGUMENTS_MOST, "parts of a command")
        if head is None:
            return None
        count, at = head
        parts: list[bytes] = []
        for _ in range(count):
            if at >= len(self._data):
                return None
            if self._data[at] != 0x24:  # "$"
                raise ProtocolError("the parts of a command must be bulk strings, '$'")
            size = self._number(at + 1, BULK_MOST, "bytes of a part")
            if size is None:
                return None
            length, at = size
            end = at + length
            if len(self._data) < end + 2:
                return None
            if self._data[end : end + 2] != b"\r\n":
                raise ProtocolError("a bulk string is longer than its length")
            parts.append(self._data[at:end])
            at = end + 2
        if parts:
            self.last, self._parts = self._data[self._at : at], parts.copy()
        self._at = at
        return parts

    def _number(self, at: int, most: int, what: str) -> tuple[int, int] | None:
        """Return a length and where it ends."""
        line = self._line(at, _DIGITS_MOST)
        if line is None:
            return None
        text, end = line
        if not text.isdigit():
            raise ProtocolError(f"{what}: not a number")
        if int(text) > most:
            raise ProtocolError(f"{what}: at most {most}")
        return int(text), end

    def _line(self, at: int, most: int) -> tuple[bytes, int] | None:
        """Return the text of a line, and where the next line begins."""
        end = self._data.find(b"\n", at, at + most + 2)
        if end < 0 and len(self._data) - at < most + 2:
            return None
        text = self._data[at:end].removesuffix(b"\r")
        if end < 0 or len(text) > most:
            raise ProtocolError(f"a line has at most {most} bytes")
        return text, end + 1
