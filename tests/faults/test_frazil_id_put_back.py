"""``frazil_id`` when what it keeps is put back, set or renamed while its server runs.

A dump of the data alone sets each sequence to an earlier value, and nothing else. Nobody tells the
function, its sessions go on, and the clock can be behind what the lost values were.
"""

import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest

import frazil
from frazil.claims.claim import LastSeen
from frazil.generator.verb_requests import ask_of
from frazil.registries import connect
from frazil.system.clock import wall_us
from tests.canary import canary
from tests.faults.inside import change, set_up
from tests.faults.test_frazil_id import BOTH, asked, rows, server_with_clock
from tests.servers.postgres import postgres, programs
from tests.tools.waiting import until

pytestmark = pytest.mark.long

HORIZON_S = 1
MANY = (
    "SELECT frazil_id('orders') FROM generate_series(1, 10000) AS n "
    "WHERE n % 100 > 0 OR pg_sleep(0.001) IS NOT NULL"
)
"""IDs of a quarter of a second or more, a hundred at a time."""
FEW = "SELECT frazil_id('orders') FROM generate_series(1, 10)"
SEQUENCES = ("cell", "mark", "kept", "ahead", "life", "lost")


@dataclass
class Shop:
    """A database with frazil_id, a session that took IDs, and all IDs."""

    server: Any
    clock: Any
    url: str
    old: psycopg.Connection[Any]
    seen: list[int] = field(default_factory=list)

    def take(self, link: psycopg.Connection[Any], query: str = MANY) -> None:
        """Take IDs."""
        self.seen += [n for (n,) in link.execute(query)]

    def new(self) -> None:
        """Take IDs in a new session."""
        self.seen += asked(self.url, MANY)

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        """Run a statement in a session of its own."""
        with psycopg.connect(self.url, autocommit=True) as link:
            return rows(link, text)

    def values(self) -> dict[str, int]:
        """The values of the sequences."""
        asks = ", ".join(f"(SELECT last_value FROM frazil.frazil_ids_1_{s})" for s in SEQUENCES)
        ((*found,),) = self.sql(f"SELECT {asks}")
        return dict(zip(SEQUENCES, found, strict=True))

    def set(self, values: dict[str, int], link: psycopg.Connection[Any] | None = None) -> None:
        """Set some sequences."""
        for name, value in values.items():
            text = f"SELECT setval('frazil.frazil_ids_1_{name}', {value})"
            link.execute(text) if link else self.sql(text)

    def dump(self, *options: str) -> bytes:
        """What ``pg_dump --data-only`` writes."""
        command = [str(self.server.bin / "pg_dump"), "--data-only", *options, self.url]
        return subprocess.run(command, capture_output=True, check=True).stdout

    def load(self, dump: bytes) -> None:
        """Put a dump into the running server; rows that are there remain."""
        command = [str(self.server.bin / "psql"), "-q", self.url]
        subprocess.run(command, input=dump, capture_output=True, check=True)

    def repeats(self) -> int:
        """How many IDs repeat."""
        return len(self.seen) - len(set(self.seen))


@pytest.fixture(scope="module", name="host")
def started() -> Iterator[tuple[Any, Any]]:
    """A server and its clock; each test has a database there."""
    with server_with_clock() as found:
        yield found


@pytest.fixture(name="one")
def shop(host: tuple[Any, Any]) -> Iterator[Shop]:
    """A shop where a new and an old session took IDs."""
    server, clock = host
    with opened(server, clock) as one:
        try:
            yield one
        finally:
            clock.step(0)


@contextmanager
def opened(server: Any, clock: Any = None) -> Iterator[Shop]:
    """A shop in a database of its own."""
    server.sql("CREATE DATABASE shop")
    set_up(server, f"{HORIZON_S}s", database="shop").close()
    url = server.url(database="shop")
    try:
        with psycopg.connect(url, autocommit=True) as old:
            one = Shop(server, clock, url, old)
            one.new()
            one.take(old, FEW)
            yield one
    finally:
        server.sql("DROP DATABASE IF EXISTS shop WITH (FORCE)")


def go_on(one: Shop, step_s: float) -> None:
    """More IDs in several sessions, until the clock steps back."""
    for _ in range(3):
        one.new()
    one.take(one.old, FEW)
    one.clock.step(step_s)


def after(one: Shop) -> int:
    """The repeats after new and old sessions took IDs."""
    one.take(one.old, FEW)
    one.new()
    one.take(one.old)
    one.new()
    return one.repeats()


def data_only_dump(one: Shop, step_s: float, *options: str) -> int:
    dump = one.dump(*options)
    go_on(one, step_s)
    one.load(dump)
    return after(one)


@pytest.mark.parametrize("step_s", [0, -0.7])
@pytest.mark.parametrize(
    "options", [(), ("--table=frazil.frazil_ids_1_*",), ("--table=frazil.*_cell",)]
)
def test_a_dump_of_the_data_is_put_back(one, step_s, options):
    assert data_only_dump(one, step_s, *options) == 0


def test_the_same_where_no_statement_has_the_name(one):
    """There are statements with a name for some sequences only."""
    one.sql("UPDATE frazil.frazil_ids SET number = 1000")
    assert data_only_dump(one, -0.7) == 0


def all_set(one: Shop, link: psycopg.Connection[Any] | None = None) -> int:
    values = one.values()
    go_on(one, -0.7)
    one.set(values, link)
    return after(one)


@BOTH
def test_all_its_sequences_are_set(one, broken):
    if broken:
        change(one.sql, ("seal = 0 OR", ""))
    assert (all_set(one) > 0) is broken


def test_all_are_set_by_a_session_that_takes_ids(one):
    assert all_set(one, one.old) == 0


@pytest.mark.parametrize("name", SEQUENCES)
def test_one_of_its_sequences_is_set(one, name):
    values = one.values()
    go_on(one, -0.7)
    one.set({name: values[name]})
    assert after(one) == 0


def test_the_cell_is_set_within_a_block(one):
    """The session that sets it has taken a part of that block."""
    for behind in (0, 1, 5, 33):
        one.take(one.old, FEW)
        one.set({"cell": one.values()["cell"] - behind}, one.old)
        one.take(one.old, FEW)
    assert after(one) == 0


@pytest.mark.parametrize(
    ("name", "how"),
    [(name, "RESTART") for name in SEQUENCES]
    + [("cell", "RESTART WITH 7"), ("cell", "CACHE 64"), ("cell", "OWNED BY NONE")],
)
def test_a_sequence_is_altered(one, name, how):
    go_on(one, -0.7)
    one.sql(f"ALTER SEQUENCE frazil.frazil_ids_1_{name} {how}")
    assert after(one) == 0


@pytest.mark.parametrize("name", ["lost", "kept"])
def test_an_alteration_beside_busy_sessions(one, name):
    """It waits for a long statement, which waits for other sessions, which wait for neither."""
    over = threading.Event()

    def ask(count: int) -> None:
        query = f"SELECT frazil_id('orders') FROM generate_series(1, {count})"
        with psycopg.connect(one.url, autocommit=True) as link:
            while not over.is_set():
                one.take(link, query)

    with ThreadPoolExecutor(4) as pool:
        busy = [pool.submit(ask, count) for count in (1, 1, 1, 1000)]
        try:
            until(lambda: len(one.seen) > 5_000, "all sessions")
            with psycopg.connect(one.url, autocommit=True) as link:
                link.execute("SET statement_timeout = '10s'")
                link.execute(f"ALTER SEQUENCE frazil.frazil_ids_1_{name} CACHE 64")
        finally:
            over.set()
        for each in busy:
            each.result(60)
    assert len(set(one.seen)) == len(one.seen)


def test_an_alteration_is_rolled_back(one):
    with psycopg.connect(one.url) as link:
        for _ in range(3):
            link.execute("ALTER SEQUENCE frazil.frazil_ids_1_cell RESTART")
            with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="altered"):
                one.take(link)
            link.rollback()
            one.take(link)
            link.rollback()
    assert after(one) == 0


@pytest.mark.parametrize("how", ["INCREMENT 5", "CACHE 1"])
def test_an_alteration_that_it_cannot_work_with(one, how):
    one.sql(f"ALTER SEQUENCE frazil.frazil_ids_1_cell {how}")
    one.old.execute("SELECT pg_sleep(0.01)")  # the tick of its block is over
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState) as told:
        one.take(one.old)
    one.sql(told.value.diag.message_hint.partition(": ")[2])
    assert after(one) == 0


def test_another_sequence_has_its_name(one):
    one.sql("ALTER SEQUENCE frazil.frazil_ids_1_cell RENAME TO away")
    one.sql("CREATE SEQUENCE frazil.frazil_ids_1_cell")
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="another sequence"):
        one.take(one.old)
    one.sql("DROP SEQUENCE frazil.frazil_ids_1_cell")
    one.sql("ALTER SEQUENCE frazil.away RENAME TO frazil_ids_1_cell")
    assert after(one) == 0


def test_the_table_is_truncated_and_set_up_again(one):
    node = frazil.scheme().unpack(one.seen[-1]).node
    dump = one.dump()
    go_on(one, -0.7)
    one.sql("TRUNCATE frazil.frazil_ids RESTART IDENTITY")
    with pytest.raises(psycopg.errors.UndefinedObject):
        one.take(one.old)
    again = connect(f"{one.url}?horizon={HORIZON_S}s", "orders", frazil.scheme())
    assert again.add_ids(ask_of(LastSeen()), frazil.scheme()) != node
    again.close()
    one.take(one.old)
    one.load(dump)
    assert after(one) == 0


@pytest.mark.parametrize("step_s", [0, -0.7])
def test_the_tables_are_emptied_and_put_back(one, step_s):
    dump = one.dump()
    go_on(one, step_s)
    one.sql("TRUNCATE frazil.frazil_ids, frazil.frazil_namespace")
    one.load(dump)
    assert after(one) == 0


def test_what_to_do_after_a_longer_step(one):
    """As docs/how-to/sql.md says: a new node number."""
    node = frazil.scheme().unpack(one.seen[-1]).node
    dump = one.dump()
    go_on(one, -30 * HORIZON_S)
    one.load(dump)
    one.sql("DELETE FROM frazil.frazil_ids WHERE name = 'orders'")
    again = connect(f"{one.url}?horizon={HORIZON_S}s", "orders", frazil.scheme())
    assert again.add_ids(ask_of(LastSeen()), frazil.scheme()) != node
    again.close()
    assert after(one) == 0


@canary
def test_this_test_sees_an_alteration(one):
    change(one.sql, ("AND l.mode IN", "AND false AND l.mode IN"))
    with psycopg.connect(one.url) as link:
        link.execute("ALTER SEQUENCE frazil.frazil_ids_1_cell RESTART")
        had = len(one.seen)
        one.take(link)
        link.rollback()
        scheme = frazil.scheme()
        began = scheme.unpack(one.seen[had])["time"]
        one.clock.step((began - scheme.layout.tick_at(wall_us())) / 1000)  # to where they began
        one.take(link)
    assert one.repeats() > 0


def test_a_table_of_an_older_version(one):
    """It has a sequence more, and no number. Calls of the older function end before it changes."""
    one.sql("CREATE SEQUENCE frazil.frazil_ids_1_guard OWNED BY frazil.frazil_ids.name")
    one.sql("ALTER TABLE frazil.frazil_ids DROP COLUMN number, ADD COLUMN guard regclass")
    one.sql("UPDATE frazil.frazil_ids SET guard = 'frazil.frazil_ids_1_guard'")
    with pytest.raises(psycopg.errors.UndefinedColumn):
        one.take(one.old)
    again = connect(f"{one.url}?horizon={HORIZON_S}s", "orders", frazil.scheme())
    node = frazil.scheme().unpack(one.seen[-1]).node
    assert again.add_ids(ask_of(LastSeen()), frazil.scheme()) == node
    again.close()
    assert one.sql(
        "SELECT number, to_regclass('frazil.frazil_ids_1_guard') FROM frazil.frazil_ids"
    ) == [(1, None)]
    assert after(one) == 0


def renamed(host: tuple[Any, Any], broken: bool) -> int:
    """Repeats after another database was used under the name, and the first one came back."""
    server, clock = host
    server.sql("CREATE DATABASE shop")
    url = server.url(database="shop")
    try:
        set_up(server, f"{HORIZON_S}s", database="shop").close()
        if broken:
            with psycopg.connect(url) as link:
                change(Shop(server, clock, url, link).sql, ("d.xmin, ", ""))
        asked(url, MANY)
        seen = list(asked(url, MANY))
        server.sql("CREATE DATABASE copy TEMPLATE shop")
        server.sql("ALTER DATABASE shop RENAME TO kept")
        server.sql("ALTER DATABASE copy RENAME TO shop")
        for _ in range(5):
            seen += asked(url, MANY)  # after a horizon
        clock.step(-0.7)
        server.sql("ALTER DATABASE shop RENAME TO copy")
        server.sql("ALTER DATABASE kept RENAME TO shop")
        for _ in range(5):
            seen += asked(url, MANY)
        return len(seen) - len(set(seen))
    finally:
        clock.step(0)
        for name in ("shop", "copy", "kept"):
            server.sql(f"DROP DATABASE IF EXISTS {name}")


@BOTH
def test_a_database_is_renamed_away_and_back(host, broken):
    assert (renamed(host, broken) > 0) is broken


def test_a_schema_is_renamed_away_and_back_under_a_session(one):
    """It notices that when it looks at its record."""
    before = one.values()["life"]
    one.sql("ALTER SCHEMA frazil RENAME TO away")
    one.sql("CREATE SCHEMA frazil")
    one.sql("DROP SCHEMA frazil")
    one.sql("ALTER SCHEMA away RENAME TO frazil")
    one.old.execute("SELECT pg_sleep(0.3)")  # more than a quarter of a horizon
    one.take(one.old)
    assert one.values()["life"] != before
    assert after(one) == 0


def test_a_reset_of_some_statistics_is_no_loss(one):
    before = one.values()["life"]
    one.sql("SELECT pg_stat_reset()")
    one.sql("SELECT pg_stat_reset_shared('bgwriter')")
    one.new()
    assert one.values()["life"] == before


def test_a_cancelled_statement_is_no_loss():
    """The next one does not wait for a horizon.

    The server runs without libfaketime, which is not safe in a handler of signals: it opens a file.
    """
    with (
        postgres(programs()[-1]) as server,
        opened(server) as one,
        psycopg.connect(one.url, autocommit=True) as link,
    ):
        for thousandth in range(200):
            with suppress(psycopg.errors.QueryCanceled):
                link.execute(f"SET statement_timeout = {thousandth % 8 + 1}")
                one.take(link, FEW)
        ((cell,),) = one.sql("SELECT last_value FROM frazil.frazil_ids_1_cell")
        assert cell >> 12 <= frazil.scheme().layout.tick_at(wall_us())
        assert after(one) == 0
