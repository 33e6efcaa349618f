"""The layout check before a service listens.

A namespace whose layout differs from its record is a configuration error. The command reports it at
the start, with both layouts. The check needs connections and threads, and workers that are forked
later must inherit neither, so it runs in a child process that has ended before the service starts.
"""

import asyncio
import multiprocessing
import signal
from dataclasses import replace
from multiprocessing.connection import Connection

from frazil.errors import FrazilError
from frazil.service.settings import Settings
from frazil.service.state import State

__all__ = ["check_layouts"]

_TIMEOUT_S = 5.0


def check_layouts(settings: Settings) -> None:
    """Raise ConfigError if the layout of a namespace differs from that of its record.

    A registry that does not answer is skipped; ``State.recheck`` checks it later.
    """
    context = multiprocessing.get_context("fork")
    reader, writer = context.Pipe(duplex=False)
    process = context.Process(target=_check, args=(settings, writer), daemon=True)
    process.start()
    writer.close()
    error: FrazilError | None = None
    try:
        if reader.poll(_TIMEOUT_S):
            error = reader.recv()
    except EOFError:  # the child died; the service itself repeats the check
        pass
    finally:
        process.kill()
        process.join()
        reader.close()
    if error is not None:
        raise error


def _check(settings: Settings, writer: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # on Ctrl-C the parent kills this process
    # A memory: registry is created by the process that serves it.
    kept = tuple(one for one in settings.namespaces if not one.url.startswith("memory:"))
    try:
        asyncio.run(State(replace(settings, namespaces=kept)).check_layouts())
    except FrazilError as error:
        writer.send(error)
    else:
        writer.send(None)
