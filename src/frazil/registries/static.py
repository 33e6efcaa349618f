"""``static:7``: a fixed node number, from the configuration.

``static:7`` contains the number, ``static:env:POD_INDEX`` reads it from the environment, and
``static:hostname`` uses the number at the end of the host's name (``web-7``: a StatefulSet's
ordinal).

The usual generator with a fixed number starts at "now" with sequence 0, so it repeats IDs if it
restarts after the clock stepped back. Here the number is a pool of one slot in a state file, and
the usual verbs reserve every tick on disk before it is used. Several processes of one host with one
number and one state file share it. On the same host a second owner of the number, with another
state file or without one, is refused (see ``static_lock``). Owners on two hosts are not detected.

The file is in the user's state directory, or at ``?state=PATH``. With ``?state=none`` there is no
file: then only one process at a time may have the number, every start waits one horizon, and a
clock that steps back between two starts causes repeats.
"""

import os
import re
import socket
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from frazil.claims.record import Record
from frazil.errors import ConfigError
from frazil.inputs.masking import masked
from frazil.inputs.url import Options, Url
from frazil.registries.base import Answer, RecordRegistry
from frazil.registries.memory import MemoryRegistry
from frazil.registries.sqlite.default_file import prepare_folder, state_folder
from frazil.registries.sqlite.registry import SqliteRegistry
from frazil.registries.static_lock import Hold, take, this_process
from frazil.schemes.scheme import Scheme
from frazil.system.uninterrupted import apart


class OwnedRegistry(RecordRegistry):
    """A registry of one number, locked on this host from the first verb until ``close``."""

    _hold: Hold | None = None

    @abstractmethod
    def owner(self) -> tuple[str, str]:
        """The owner of the number: an identity, and a description for messages."""

    def perform(self, verb: Callable[[Record, int, str], Answer]) -> Answer:
        return apart(lambda: self._perform(verb))

    def _perform(self, verb: Callable[[Record, int, str], Answer]) -> Answer:
        if self._hold is None or not self._hold.stands():
            self._hold = None  # released first, so that it does not block itself
            name, how = self.owner()
            slot = self.terms.slots.start
            self._hold = take(
                f"{self.terms.identity} {slot % self.terms.nodes} {self.namespace}",
                name,
                what=f"node number {slot % self.terms.nodes} of namespace {self.namespace!r}",
                how=how,
            )
        return super().perform(verb)

    def close(self) -> None:
        self._hold = None


class StaticRegistry(OwnedRegistry, SqliteRegistry):
    """One node number, its state in a file.

    Options: ``?state=``, ``?horizon=``, ``?busy=``, ``?local=yes``.
    """

    advice = (
        "or name another file: ?state=/path/to/file; with ?state=none there is no file, but only "
        "one process at a time may have the number, every start waits one horizon, and IDs repeat "
        "if the clock goes back between two starts"
    )

    def _place(self, url: Url, options: Options) -> tuple[int | None, Path]:
        node = node_number(url.body)
        state = options.text("state")
        return node, Path(state) if state else state_folder() / f"static-{node}.db"

    def owner(self) -> tuple[str, str]:
        """See OwnedRegistry. The directory and the name: the file may be replaced."""
        where = str(self.path.parent)
        with suppress(OSError):  # the step raises the error
            prepare_folder(self.path.parent)
            found = self.path.parent.stat()
            where = f"{found.st_dev:x}:{found.st_ino:x}"
        return f"file {where} {self.path.name!r}", f"with the state file {self.path}"

    @contextmanager
    def step(self) -> Iterator[tuple[Record, str]]:
        with super().step() as (record, incarnation):
            since = self._hold.since.split("\n")[1:2] if self._hold else []
            yield record, f"{incarnation}:{''.join(since)}"


class StatelessRegistry(OwnedRegistry, MemoryRegistry):
    """One node number without a file. Options: ``?state=none``, ``?horizon=``."""

    lives_longer = True  # the last owner's claims may reach into this process's time

    def _place(self, url: Url, options: Options) -> tuple[int | None, str]:
        options.text("state")
        node = node_number(url.body)
        return node, f"static:{node}"  # independent of how the URL spells the number

    def owner(self) -> tuple[str, str]:
        return this_process(), "without a state file"

    @contextmanager
    def step(self) -> Iterator[tuple[Record, str]]:
        with super().step() as (record, _):
            yield record, f"memory/{self._hold.since if self._hold else ''}"


def connect_static(url: Url, namespace: str, scheme: Scheme) -> RecordRegistry:
    """The registry of a static number: a file, or this process's memory for ``?state=none``."""
    if dict(url.query).get("state") == "none":
        return StatelessRegistry(url, namespace, scheme)
    return StaticRegistry(url, namespace, scheme)


def node_number(text: str) -> int:
    """Resolve ``7``, ``env:NAME`` or ``hostname`` to a number. Raises ConfigError."""
    kind, _, name = text.partition(":")
    if kind == "env":
        found = os.environ.get(name, "")
        was = f"is {found!r}" if name in os.environ else "is not set"
        source = f"environment variable {name} {was}; set it, like: export {name}=7"
    elif kind == "hostname":
        host = socket.gethostname().partition(".")[0]
        match = re.search(r"([0-9]+)$", host)
        found = match[1] if match else ""
        source = (
            f"host name {host!r} does not end in a number; use static:7 or static:env:NAME, or a "
            f"host name like {host}-7"
        )
    else:
        found = masked(text)
        source = f"static:{found}; use static:7, static:env:NAME or static:hostname"
    if not re.fullmatch(r"[0-9]{1,20}", found):
        raise ConfigError(f"no node number: {source}", value=found)
    return int(found)
