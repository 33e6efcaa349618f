"""The first look at the registries, before a service listens.

A namespace whose record has another layout is a mistake in the configuration, so it is told like
one: when the command starts, with both layouts. That takes connections and threads, and the process
that does it forks workers afterwards, which must inherit neither. So the look is another process's,
which has ended when the service begins, also where a registry does not answer.
"""

import asyncio
import multiprocessing
import signal
from dataclasses import replace
from multiprocessing.connection import Connection

from frazil.errors import FrazilError
from frazil.service.settings import Settings
from frazil.service.state import State

__all__ = ["compare"]

_PATIENCE_S = 5.0


def compare(settings: Settings) -> None:
    """ConfigError if a namespace's layout is not the one of its record.

    A registry that does not answer is passed over; ``State.look_again`` asks it later.
    """
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_look, args=(settings, theirs), daemon=True)
    process.start()
    theirs.close()
    error: FrazilError | None = None
    try:
        if ours.poll(_PATIENCE_S):
            error = ours.recv()
    except EOFError:  # it died: what it could not see is seen by those who serve
        pass
    finally:
        process.kill()
        process.join()
        ours.close()
    if error is not None:
        raise error


def _look(settings: Settings, theirs: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the command, which ends this
    # What is in memory begins with the process that serves it.
    kept = tuple(one for one in settings.namespaces if not one.url.startswith("memory:"))
    try:
        asyncio.run(State(replace(settings, namespaces=kept)).begin())
    except FrazilError as error:
        theirs.send(error)
    else:
        theirs.send(None)
