"""The parser of the RESP server: it finds commands however they are cut, and no bytes harm it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.service.redis.parser import ARGUMENTS_MOST, BULK_MOST, LINE_MOST, Parser, ProtocolError

COMMANDS = st.lists(st.binary(max_size=BULK_MOST), min_size=1, max_size=ARGUMENTS_MOST)
# Whatever comes: bytes at random, and bytes that look like the protocol.
PIECES = st.one_of(
    st.binary(max_size=64),
    st.sampled_from([b"*", b"$", b"\r\n", b"\n", b"*1\r\n", b"$4\r\nPING\r\n", b"*-1\r\n"]),
    st.sampled_from([b"$-1\r\n", b"*0\r\n", b"*2\r\n", b"$0\r\n\r\n", b"PING\r\n", b"+OK\r\n"]),
    st.sampled_from([b"9" * 30, b"x" * 5000, b"*1\r\n*1\r\n"]),
)
KEPT_MOST = ARGUMENTS_MOST * (BULK_MOST + 16) + LINE_MOST


def wire(command):
    parts = b"".join(b"$%d\r\n%b\r\n" % (len(part), part) for part in command)
    return b"*%d\r\n%b" % (len(command), parts)


def drain(parser):
    found = []
    while (command := parser.command()) is not None:
        found += [command] if command else []
    return found


@given(st.lists(COMMANDS, max_size=5), st.data())
def test_commands_come_out_however_they_are_cut(commands, data):
    left = b"".join(map(wire, commands))
    parser, found = Parser(), []
    while left:
        size = data.draw(st.integers(1, len(left)))
        parser.feed(left[:size])
        left = left[size:]
        found += drain(parser)
    assert found == commands
    assert len(parser) == 0


@given(st.lists(st.sampled_from([[b"a"], [b"a", b""], [b"ab"], [b"b", b"a"]]), max_size=20))
def test_the_same_again_is_the_same_command(commands):
    """What is remembered of the last command neither leaks into the next nor can be changed."""
    parser, found = Parser(), []
    parser.feed(b"".join(b"\r\n" * (i % 3 == 2) + wire(one) for i, one in enumerate(commands)))
    while (command := parser.command()) is not None:
        found += [list(command)] if command else []
        command.append(b"changed")
    assert found == commands


def test_the_same_is_counted_and_passed_over_together():
    one, other = b"*2\r\n$4\r\nINCR\r\n$1\r\na\r\n", b"*1\r\n$4\r\nPING\r\n"
    parser = Parser()
    assert parser.same(10) == 0
    parser.feed(one * 9 + other + one)
    assert parser.command() == [b"INCR", b"a"]
    passed = 0
    while count := parser.same(5):
        assert count <= 5
        parser.skip(count)
        passed += count
    assert passed == 8
    assert parser.command() == [b"PING"]
    assert parser.same(10) == 0
    assert parser.command() == [b"INCR", b"a"]
    assert parser.command() is None


@given(st.lists(PIECES, max_size=40))
def test_any_bytes_are_parsed_or_refused(pieces):
    """Commands within the limits, or a ProtocolError; and what is kept is at most one command."""
    parser = Parser()
    for piece in pieces:
        parser.feed(piece)
        try:
            commands = drain(parser)
        except ProtocolError:
            return
        for command in commands:
            assert 1 <= len(command) <= ARGUMENTS_MOST
            assert all(len(part) <= max(BULK_MOST, LINE_MOST) for part in command)
        assert len(parser) <= KEPT_MOST


def test_limits_are_where_they_say():
    parser = Parser()
    parser.feed(wire([b"x" * BULK_MOST] * ARGUMENTS_MOST))
    assert len(drain(parser)[0]) == ARGUMENTS_MOST
    for command in ([b"x"] * (ARGUMENTS_MOST + 1), [b"x" * (BULK_MOST + 1)]):
        parser = Parser()
        parser.feed(wire(command))
        with pytest.raises(ProtocolError, match="at most"):
            parser.command()
    parser = Parser()
    parser.feed(b"x" * LINE_MOST + b"\r\n")
    assert drain(parser) == [[b"x" * LINE_MOST]]
    parser.feed(b"x" * (LINE_MOST + 2))
    with pytest.raises(ProtocolError, match="line"):
        parser.command()
