"""Whether an idle connection still waits: nothing has arrived on its socket.

A server that ends an idle connection sends an end or a last message. The driver reads it only after
the next request, which then fails. Before a request, nothing should be there to read.
"""

import select

__all__ = ["is_quiet"]


def is_quiet(descriptor: int) -> bool:
    """Whether a socket is open, and reading from it would wait."""
    if descriptor < 0:
        return False
    if not hasattr(select, "poll"):  # Windows
        return not select.select([descriptor], [], [], 0)[0]
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return not poll.poll(0)
