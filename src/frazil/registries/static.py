"""``static:7``: the node number is known at start-up, and nobody needs to be asked for it.

``static:7`` says it, ``static:env:POD_INDEX`` reads it from the environment, ``static:hostname``
takes the number at the end of the host's name (``web-7``: a StatefulSet's ordinal).

The usual generator with a fixed number starts at "now" with sequence 0, so a restart after a step
back of the clock repeats what it gave. Here the number is a pool of one slot in a state file, and
the very same verbs reserve every tick on disk before it is used. Several processes of one host
with one number share it in time; on two hosts nothing notices them, which is outside the promise.

The file lies in the user's state directory, or where ``?state=PATH`` says. ``?state=none`` keeps
nothing: then every start waits one horizon, and a clock stepped back between two starts is trusted.
"""

import os
import re
import socket
from pathlib import Path

from frazil.errors import ConfigError
from frazil.registries.base import RecordRegistry, terms_of
from frazil.registries.memory import MemoryRegistry
from frazil.registries.options import Options
from frazil.registries.place import state_home
from frazil.registries.sqlite.registry import BUSY_US, HORIZON_US, SqliteRegistry
from frazil.schemes import Scheme

__all__ = ["StatelessRegistry", "StaticRegistry", "connect_static", "node_number"]


class StaticRegistry(SqliteRegistry):
    """One node number, its state in a file. Options: ``?state=``, ``?horizon=``, ``?busy=``."""

    advice = (
        "or name another file: ?state=/path/to/file; ?state=none keeps no state, and then every "
        "start waits one horizon and trusts the clock not to have gone back"
    )

    def __init__(self, url: str, namespace: str, scheme: Scheme) -> None:
        options = Options(url)
        node = node_number(url.partition(":")[2].partition("?")[0])
        terms = terms_of(scheme, options.duration_us("horizon", HORIZON_US), node)
        busy_us = options.duration_us("busy", BUSY_US)
        state = options.text("state")
        options.finish()
        path = Path(state) if state else state_home() / "frazil" / f"static-{node}.db"
        self._prepare(url, namespace, terms, path, busy_us)


class StatelessRegistry(MemoryRegistry):
    """One node number without a file. Options: ``?state=none``, ``?horizon=``."""

    def __init__(self, url: str, namespace: str, scheme: Scheme) -> None:
        options = Options(url)
        node = node_number(url.partition(":")[2].partition("?")[0])
        terms = terms_of(scheme, options.duration_us("horizon", HORIZON_US), node)
        options.text("state")
        options.finish()
        self._prepare(url, namespace, terms)


def connect_static(url: str, namespace: str, scheme: Scheme) -> RecordRegistry:
    """The registry of a static number: a file, or this process's memory for ``?state=none``."""
    if Options(url).text("state") == "none":
        return StatelessRegistry(url, namespace, scheme)
    return StaticRegistry(url, namespace, scheme)


def node_number(text: str) -> int:
    """The number that ``7``, ``env:NAME`` or ``hostname`` stands for. Raises ConfigError."""
    kind, _, name = text.partition(":")
    if kind == "env":
        found = os.environ.get(name, "")
        source = f"environment variable {name} is {found!r}"
    elif kind == "hostname":
        host = socket.gethostname().partition(".")[0]
        match = re.search(r"([0-9]+)$", host)
        found = match[1] if match else ""
        source = f"host name {host!r} ends in no number"
    else:
        found, source = text, f"static:{text}"
    if not re.fullmatch(r"[0-9]{1,20}", found):
        raise ConfigError(
            f"no node number: {source}; write static:7, static:env:NAME or static:hostname",
            value=found,
        )
    return int(found)
