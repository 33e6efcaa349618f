"""Last call: who has begun to connect is let in, and nobody else begins.

A client is connected as soon as the kernel says so, before the service accepts it. Whoever waits
there when a listening socket closes is reset, and a request that is on its way with him is lost.
Accepting all and closing then is not enough: one more comes in between.

So the kernel is told first, by a filter on the socket, to hear no more of those who begin to
connect: a segment with SYN and without ACK (RFC 9293, 3.5). Those who have begun still end their
handshake, and can be accepted to the last. The others ask again after a second, as TCP does
(RFC 6298, 2.1), and are refused by then, or find the next service that listens there.

The filter is the socket's, in all processes that share it: it is for the end of all. Linux has it;
elsewhere nothing is done, and the gap is as small as the service is fast.
"""

import ctypes
import socket
import struct
import sys

__all__ = ["last_call"]

_SO_ATTACH_FILTER = 26  # asm-generic/socket.h; Python does not name it
_LOAD_BYTE, _MASK, _IF_EQUAL, _ANSWER = 0x30, 0x54, 0x15, 0x06  # linux/bpf_common.h
_FLAGS_AT = 13  # in the header of TCP, which begins what a filter on such a socket sees
_SYN, _ACK = 0x02, 0x10
_ALL = 0x40000  # bytes of it are kept

_FILTER = b"".join(
    struct.pack("=HBBI", *step)
    for step in (
        (_LOAD_BYTE, 0, 0, _FLAGS_AT),
        (_MASK, 0, 0, _SYN | _ACK),
        (_IF_EQUAL, 0, 1, _SYN),
        (_ANSWER, 0, 0, 0),
        (_ANSWER, 0, 0, _ALL),
    )
)


def last_call(listener: socket.socket) -> None:
    """Let nobody begin to connect any more."""
    if sys.platform != "linux":
        return
    steps = ctypes.create_string_buffer(_FILTER, len(_FILTER))
    # struct sock_fprog: how many steps of eight bytes, and where they are.
    where = struct.pack("@HP", len(_FILTER) // 8, ctypes.addressof(steps))
    listener.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, where)
