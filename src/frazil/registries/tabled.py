"""Records in rows of an SQL server: what the registries of PostgreSQL and MySQL have in common.

A verb locks the row of a shelf (or of all) and reads it with the server's clock, and replaces what
it read. A transaction that collides with another is repeated. The table is made when a namespace is
initialised.
"""

import time
from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from frazil.claims.claim import LastSeen, Snapshot, Terms, VerbRequest
from frazil.claims.packed_slots import PackedSlots
from frazil.claims.record import Record
from frazil.errors import ConfigError, RegistryUnavailable
from frazil.inputs.url import Url
from frazil.registries.base import RECORD_COLUMNS, Answer
from frazil.registries.commands import init_command
from frazil.registries.shared_links import SharedLinks
from frazil.registries.shelves import ShelvedRegistry
from frazil.schemes.scheme import Scheme
from frazil.system.chance import jitter

_TRIES = 6


class NoTable(ConfigError):
    """The table of the claims does not exist."""


class Collided(RegistryUnavailable):
    """The server rolled a transaction back, because it collided with another."""


class TableRegistry(ShelvedRegistry):
    """A registry in a table of a server."""

    _links: SharedLinks[Any]
    _read_us = 0

    def __init__(self, url: Url, namespace: str, scheme: Scheme, terms: Terms) -> None:
        super().__init__(url, namespace, terms)
        self._scheme = scheme

    def close(self) -> None:
        self._links.close()

    @property
    def init_command(self) -> str:
        """The command that creates the table and sets up this namespace."""
        return init_command(self.url, self.namespace, self._scheme)

    @abstractmethod
    def by_hand(self) -> str:
        """The command with which an administrator creates the table."""

    @abstractmethod
    def create_table(self) -> None:
        """Create the table, unless another member has done so meanwhile."""

    def reading_us(self) -> int:
        """See RecordRegistry: the server's clock, read after the row was locked."""
        return self._read_us

    def perform(
        self, verb: Callable[[Record, int, str], Answer], shelf: int | None = None, at: int = 0
    ) -> Answer:
        try:
            return self._repeated(verb, shelf, at)
        except NoTable as error:
            raise ConfigError(
                f"{self.url}: table frazil_namespace does not exist; create it with "
                f"{self.init_command}, or as an administrator: {self.by_hand()}. After a lost "
                "table members wait one horizon",
                **error.facts,
            ) from error
        except Collided as error:
            raise RegistryUnavailable(str(error.args[0]), **error.facts) from error

    def _repeated(
        self, verb: Callable[[Record, int, str], Answer], shelf: int | None, at: int
    ) -> Answer:
        for tried in range(1, _TRIES):
            try:
                return super().perform(verb, shelf, at)
            except Collided:
                time.sleep(jitter(0.0, 0.01 * 2**tried))
        return super().perform(verb, shelf, at)

    def initialise(self, ask: VerbRequest, start: int | None) -> LastSeen:
        try:
            return super().initialise(ask, start)
        except ConfigError as error:
            if not isinstance(error.__cause__, NoTable):
                raise
        self.create_table()
        return super().initialise(ask, start)

    def prepare(self) -> None:
        try:
            super().look()
        except NoTable:
            self.create_table()

    def look(self) -> Snapshot | None:
        with suppress(NoTable):
            return super().look()
        return None

    def row_of(self, record: Record, found: int) -> dict[str, Any]:
        """The columns of a record, to replace the one of revision ``found``."""
        assert isinstance(record.slots, PackedSlots)
        values = {name: getattr(record, name) for name in RECORD_COLUMNS}
        return values | {"slots": record.slots.pack(), "found": found}

    def collided(self) -> Collided:
        """The error for a row that was deleted while it was made."""
        return Collided(
            f"{self.url}: a row was deleted at the same time; try again",
            url=self.url,
            outcome_known=True,
        )

    def changed(self) -> RegistryUnavailable:
        """The error for a row that changed after it was read, because a message came twice."""
        return RegistryUnavailable(
            f"{self.url}: the row changed although it was locked; try again",
            url=self.url,
            outcome_known=True,
        )
