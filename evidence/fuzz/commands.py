"""Commands of Redis's protocol, compared with a stateless reading of the whole input.

The first byte is the size of the pieces into which the rest is cut. It must not change the result.
"""

from frazil.service.redis.parser import (
    ARGUMENTS_MOST,
    BULK_MOST,
    LINE_MOST,
    Parser,
    ProtocolError,
)

__all__ = ["check_commands"]

Parsed = tuple[list[list[bytes]], bool]
_DIGITS_MOST = 6


def check_commands(data: bytes) -> None:
    """However the input is cut, the parser returns the commands that it contains."""
    size, wire = (data[:1] or b"\1")[0] + 1, data[1:]
    whole = _parsed([wire])
    assert whole == _parsed([wire[at : at + size] for at in range(0, len(wire), size)])
    assert whole == _slowly(wire)


def _parsed(pieces: list[bytes]) -> Parsed:
    parser, found = Parser(), []
    for piece in pieces:
        parser.feed(piece)
        try:
            while (command := parser.command()) is not None:
                if command:
                    found.append(list(command))
                    command.append(b"changed by the caller")
                while parser.same(3):
                    parser.skip(1)
                    found.append(found[-1])
        except ProtocolError:
            return found, True
    return found, False


def _slowly(wire: bytes) -> Parsed:
    """The commands of an input, and whether something else follows."""
    found: list[list[bytes]] = []
    while wire:
        if wire[:1] != b"*":
            parts, wire, wrong = _words(wire)
        else:
            parts, wire, wrong = _array(wire)
        if wrong:
            return found, True
        if parts is None:
            break
        if parts:
            found.append(parts)
    return found, False


def _line(wire: bytes, most: int) -> tuple[bytes | None, bytes, bool]:
    head = wire[: most + 2]
    if b"\n" not in head:
        return None, wire, len(head) == most + 2
    text, _, rest = wire.partition(b"\n")
    return text.removesuffix(b"\r"), rest, False


def _words(wire: bytes) -> tuple[list[bytes] | None, bytes, bool]:
    line, rest, wrong = _line(wire, LINE_MOST)
    words = None if line is None else line.split()
    return words, rest, wrong or (words is not None and len(words) > ARGUMENTS_MOST)


def _array(wire: bytes) -> tuple[list[bytes] | None, bytes, bool]:
    line, rest, wrong = _line(wire[1:], _DIGITS_MOST)
    if line is None:
        return None, wire, wrong
    if not line.isdigit() or int(line) > ARGUMENTS_MOST:
        return None, wire, True
    parts = []
    for _ in range(int(line)):
        if rest and rest[:1] != b"$":
            return None, wire, True
        size, rest, wrong = _line(rest[1:], _DIGITS_MOST)
        if size is None:
            return None, wire, wrong
        if not size.isdigit() or int(size) > BULK_MOST:
            return None, wire, True
        part, end = rest[: int(size)], rest[int(size) : int(size) + 2]
        if len(end) < 2:
            return None, wire, False
        if end != b"\r\n":
            return None, wire, True
        parts.append(part)
        rest = rest[int(size) + 2 :]
    return parts, rest, False
