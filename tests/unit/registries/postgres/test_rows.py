"""What the PostgreSQL registry makes of rows, and of a data directory, that were put back."""

import psycopg
import pytest

from frazil.claims.claim import LastSeen
from frazil.errors import ConfigError
from frazil.generator.verb_requests import ask_of
from frazil.registries import connect
from frazil.registries.postgres.registry import schema
from tests.servers import postgres as servers
from tests.tools.verbs import ONE_RECORD, TICKETS, begin, mint, new
from tests.tools.waiting import granted


@pytest.fixture(scope="module")
def server():
    with servers.postgres() as running, psycopg.connect(running.url()) as link:
        link.execute(schema().encode())
        link.commit()
        yield running


@pytest.fixture
def name(request):
    return request.node.name


def refused(registry):
    with pytest.raises(ConfigError, match=r"was replaced.*--forward"):
        mint(registry, 5)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE frazil.frazil_namespace SET layout = layout",
        "ALTER TABLE frazil.frazil_namespace ALTER COLUMN since TYPE numeric",
    ],
)
def test_a_row_that_another_program_wrote_is_a_loss(server, name, change):
    registry = new(server.url(), name, TICKETS, 1)
    server.sql("ALTER TABLE frazil.frazil_namespace ADD COLUMN IF NOT EXISTS since int DEFAULT 1")
    try:
        mint(registry, 5)
        server.sql(change)
        refused(registry)
    finally:
        server.sql("ALTER TABLE frazil.frazil_namespace DROP COLUMN since")


@pytest.mark.parametrize(
    "care",
    [
        "VACUUM FREEZE frazil.frazil_namespace",
        "VACUUM FULL frazil.frazil_namespace",
        "CLUSTER frazil.frazil_namespace USING frazil_namespace_pkey",
        "REINDEX TABLE frazil.frazil_namespace",
        "ALTER TABLE frazil.frazil_namespace ADD COLUMN IF NOT EXISTS note text",
        "SELECT 1 FROM frazil.frazil_namespace FOR UPDATE",
    ],
)
def test_a_command_that_leaves_the_rows_alone_is_not_a_loss(server, name, care):
    registry = new(server.url(), name, TICKETS, 1)
    for first in (1, 6):
        assert mint(registry, 5).start == first
        server.sql(care)


def test_ids_in_sql_and_rights_to_the_table_are_not_a_loss(server, name):
    registry = new(server.url(), name)
    with registry.step() as (_, before):
        pass
    registry.add_ids(ask_of(LastSeen()), ONE_RECORD)
    server.sql("GRANT SELECT ON frazil.frazil_namespace TO PUBLIC")
    with registry.step() as (_, after):
        assert after == before


def test_transaction_numbers_that_wrap_around_are_not_a_loss():
    """2^32 transactions later, of which the server notes the lower half of the number."""
    with servers.postgres() as server:
        new(server.url(), "x", TICKETS, 1)
        for epoch, first in enumerate((1, 6, 11)):
            assert mint(connect(server.url(), "x", TICKETS), 5).start == first
            server.stop()
            server.run("pg_resetwal", "-f", "-e", str(epoch + 1), "-D", str(server.data))
            server.start()
        assert server.sql("SELECT txid_current() >> 32") == [(3,)]


@pytest.mark.parametrize(
    ("away", "back"),
    [
        (
            "ALTER TABLE frazil.frazil_namespace RENAME TO a",
            "ALTER TABLE frazil.a RENAME TO frazil_namespace",
        ),
        ("ALTER SCHEMA frazil RENAME TO a", "ALTER SCHEMA a RENAME TO frazil"),
        ("ALTER DATABASE app RENAME TO a", "ALTER DATABASE a RENAME TO app"),
    ],
    ids=["table", "schema", "database"],
)
def test_a_record_that_another_one_stood_in_for_is_waited_out(server, name, away, back):
    """The other one made claims up to a horizon ahead, which this one does not have."""
    server.sql("CREATE DATABASE app")
    try:
        url = server.url(database="app")
        with psycopg.connect(url) as link:
            link.execute(schema().encode())
        first = new(url, name)
        seen = mint(first)
        first.close()
        outside = server.url() if "DATABASE" in away else url
        with psycopg.connect(outside, autocommit=True) as link:
            link.execute(away)
            link.execute(back)
        newcomer = connect(url, name, ONE_RECORD)
        ahead = newcomer.terms.tick_at(seen.now_us) + newcomer.terms.horizon_ticks
        assert granted(newcomer).start >= ahead
        newcomer.close()
    finally:
        server.sql("DROP DATABASE app")


class TestDataDirectory:
    """Stopped, put back as it was, and started."""

    def test_a_counter_moved_on_before_its_first_use_repeats_nothing(self, server, name):
        """The step that the docs and the doctor name if no member that remembers is running."""
        mint(new(server.url(), name, TICKETS, 1), 5)
        server.save()
        last = mint(connect(server.url(), name, TICKETS), 500)
        server.put_back()
        registry = connect(server.url(), name, TICKETS)
        (event,) = (e for e in registry.examine().events if "data directory" in e.about)
        assert event.found == "not noticed"
        assert "values given since then repeat if no member is running" in event.meaning
        assert "frazil init --start N --forward" in event.meaning
        begin(registry, last.until)
        assert mint(connect(server.url(), name, TICKETS), 5).start == last.until
