"""Holds SIGTERM and Ctrl-C back while the service starts.

A listening socket takes connections before any code accepts them, and those connections are reset
if a signal ends the process. So the signals are blocked before the sockets are opened, and arrive
as soon as a graceful shutdown handles them.
"""

import signal

__all__ = ["SIGNALS", "hold_signals", "release_signals"]

SIGNALS = (signal.SIGTERM, signal.SIGINT)
"""The signals that end the service."""

_HELD = (*SIGNALS, signal.SIGHUP)  # which would end it before it is handled


def hold_signals() -> None:
    """Block the signals in this thread, and in the threads and processes that it starts."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)


def release_signals() -> None:
    """Unblock the signals; those sent meanwhile arrive now."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HELD)
