"""Stops new connections at a listening socket before it is closed.

The kernel completes a TCP handshake before the service accepts the connection. When a listening
socket closes, connections that wait there are reset, and their requests are lost. It does not help
to accept all of them first: another one can arrive before the close.

So a filter on the socket drops segments with SYN and without ACK (RFC 9293, 3.5). Handshakes that
have started can finish, and are accepted. New clients retry after a second, as TCP does (RFC 6298,
2.1). By then they are refused, or reach the next service on that port.

The filter applies to all processes that share the socket, so it is for the shutdown of all workers.
It exists on Linux only; on other systems nothing is done, and a short gap remains.
"""

import ctypes
import socket
import struct
import sys

__all__ = ["refuse_syn"]

_SO_ATTACH_FILTER = 26  # asm-generic/socket.h; Python does not name it
_LOAD_BYTE, _MASK, _IF_EQUAL, _ANSWER = 0x30, 0x54, 0x15, 0x06  # linux/bpf_common.h
_FLAGS_AT = 13  # offset in the TCP header, where the data of such a filter begin
_SYN, _ACK = 0x02, 0x10
_ALL = 0x40000  # accept the whole segment

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


def refuse_syn(listener: socket.socket) -> None:
    """Drop new connection attempts at a listening socket."""
    if sys.platform != "linux":
        return
    steps = ctypes.create_string_buffer(_FILTER, len(_FILTER))
    # struct sock_fprog: the number of eight-byte instructions, and their address.
    where = struct.pack("@HP", len(_FILTER) // 8, ctypes.addressof(steps))
    listener.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, where)
