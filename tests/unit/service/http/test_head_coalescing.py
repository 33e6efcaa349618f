"""A head is held for its body, and for nothing else."""

import asyncio

import pytest

from frazil.service.http.head_coalescing import CoalescingTransport

__all__: list[str] = []

HEAD = b"HTTP/1.1 200 OK\r\n\r\n"


class Wire(asyncio.Transport):
    """A transport that keeps each write."""

    def __init__(self):
        super().__init__({"peername": "somebody"})
        self.pieces = []
        self.end = ""

    def write(self, data):
        """See asyncio.Transport."""
        assert not self.end
        self.pieces.append(data)

    def close(self):
        """See asyncio.Transport."""
        self.end = "closed"

    def abort(self):
        """See asyncio.Transport."""
        self.end = "aborted"

    def is_closing(self):
        """See asyncio.Transport."""
        return bool(self.end)


def written(*pieces, then=lambda _: None):
    """Return what is written in one iteration of the loop, and the transport."""
    wire = Wire()

    async def turn():
        writer = CoalescingTransport(wire, asyncio.get_running_loop())
        for piece in pieces:
            writer.write(piece)
        then(writer)
        at_once = list(wire.pieces)
        await asyncio.sleep(0)
        return at_once

    return asyncio.run(turn()), wire


@pytest.mark.parametrize(
    ("pieces", "at_once", "later"),
    [
        ([HEAD, b"body"], [HEAD + b"body"], []),
        ([HEAD, b"a", b"b"], [HEAD + b"a", b"b"], []),
        ([HEAD, b"a", HEAD, b"b"], [HEAD + b"a", HEAD + b"b"], []),
        ([HEAD, HEAD], [HEAD + HEAD], []),
        ([HEAD], [], [HEAD]),
        ([HEAD, b""], [HEAD], []),
        ([b"100", HEAD], [b"100"], [HEAD]),
        ([HEAD, b"a", b"HTTP/1.1 in a body"], [HEAD + b"a"], [b"HTTP/1.1 in a body"]),
        ([HEAD, b"a", b"HTTP/1.1 in a body", b"b"], [HEAD + b"a", b"HTTP/1.1 in a bodyb"], []),
    ],
)
def test_a_head_is_sent_with_the_next_write(pieces, at_once, later):
    sent, wire = written(*pieces)
    assert sent == at_once
    assert wire.pieces == at_once + later


def test_closing_sends_what_is_held():
    sent, wire = written(HEAD, then=CoalescingTransport.close)
    assert (sent, wire.end) == ([HEAD], "closed")


def test_aborting_sends_nothing_more():
    _, wire = written(HEAD, then=CoalescingTransport.abort)
    assert (wire.pieces, wire.end) == ([], "aborted")


def test_other_attributes_are_those_of_the_transport():
    def asked(writer):
        assert writer.get_extra_info("peername") == "somebody"
        assert not writer.is_closing()
        writer.close()
        assert writer.is_closing()

    written(then=asked)
