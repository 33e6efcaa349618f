"""The PostgreSQL registry against a real server: rights, settings, errors, one connection."""

import gc
import time

import psycopg
import pytest

import frazil
from frazil.claims.claim import Claim, Wait
from frazil.errors import ConfigError, RegistryUnavailable
from frazil.registries import connect
from frazil.registries.postgres import registry as postgres
from frazil.registries.postgres.registry import schema
from tests.tools.trickle import Trickle
from tests.tools.verbs import ONE_RECORD, begin, mint
from tests.tools.waiting import until
from tests.unit.registries.one_connection import OneSession

APP = "SELECT, INSERT, UPDATE"


@pytest.fixture
def fresh(server):
    """The server without the table, and with a role that may do nothing yet."""
    server.sql("DROP TABLE IF EXISTS frazil.frazil_namespace")
    server.sql("DROP ROLE IF EXISTS app")
    server.sql("CREATE ROLE app LOGIN")
    yield server
    server.sql("DROP OWNED BY app")


@pytest.fixture
def ready(fresh):
    """The same with the table, made from the file that is shipped, and the rights it names."""
    with psycopg.connect(fresh.url()) as link:
        link.execute(schema().encode())
        link.execute(f"GRANT {APP} ON frazil.frazil_namespace TO app")
    return fresh


def open_(server, user="app", namespace="x"):
    return connect(server.url(user), namespace, ONE_RECORD)


class TestShelves:
    def test_a_missing_one_is_not_made_for_another_scheme(self, ready):
        """Else IDs of two schemes, which may be equal, were made beside each other."""
        begin(connect(ready.url("app"), "x", frazil.scheme("icicle")))
        ready.sql("DELETE FROM frazil.frazil_namespace WHERE name <> 'x'")
        for _ in range(16):  # each asks a random shelf first
            with pytest.raises(ConfigError, match="has the layout") as told:
                mint(connect(ready.url("app"), "x", frazil.scheme("snowflake")))
            assert "shelf" not in str(told.value)
        assert ready.sql("SELECT name FROM frazil.frazil_namespace") == [("x",)]


def test_the_incarnation_names_server_timeline_table_database_and_start(ready):
    with open_(ready).step() as (_, incarnation):
        told = incarnation.replace("/", ".").split(".")
    system, timeline, table, database, start, *written = told
    assert [(int(system), int(timeline, 16), int(table), int(database))] == ready.sql(
        "SELECT system_identifier::bigint, timeline_id,"
        " 'frazil.frazil_namespace'::regclass::bigint, d.oid"
        " FROM pg_control_system(), pg_control_checkpoint(), pg_database AS d"
        " WHERE d.datname = 'postgres'"
    )
    assert abs(int(start) / 1e6 - time.time()) < 3600
    assert [tuple(written)] == ready.sql(
        "SELECT d.xmin::text, n.xmin::text, t.xmin::text"
        " FROM pg_database d, pg_namespace n, pg_type t WHERE d.datname = 'postgres'"
        " AND n.nspname = 'frazil' AND t.typname = 'frazil_namespace'"
    )


def test_a_database_without_an_encoding(fresh):
    fresh.sql(
        "CREATE DATABASE ascii ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    )
    url = fresh.url(database="ascii", options="?horizon=1s")
    assert frazil.init(url, namespace="заказы", new=True)
    assert len(set(frazil.mint(10, url, namespace="заказы"))) == 10
    fresh.sql("DROP DATABASE ascii WITH (FORCE)")


class TestSynchronousCommit:
    @pytest.mark.parametrize(
        ("default", "used"), [("off", "on"), ("local", "on"), ("remote_apply", "remote_apply")]
    )
    def test_a_weak_default_is_overridden(self, ready, default, used):
        ready.sql(f"ALTER ROLE app SET synchronous_commit TO {default}")
        registry = open_(ready)
        with registry.step(), registry._locked.connection.cursor() as cursor:
            assert cursor.execute("SHOW synchronous_commit").fetchone() == (used,)

    def test_a_setting_that_stays_off_is_refused(self, ready, monkeypatch):
        ready.sql("ALTER ROLE app SET synchronous_commit TO off")
        unset = postgres._BEGIN.replace("ELSE 'on'", "ELSE 'off'")
        monkeypatch.setattr(postgres, "_BEGIN", unset)
        with pytest.raises(ConfigError, match="'off' and cannot be changed"):
            mint(open_(ready))


class TestTrouble:
    def test_a_standby(self, ready):
        replica = ready.replica()
        try:
            with pytest.raises(RegistryUnavailable, match="standby"):
                mint(open_(replica))
        finally:
            replica.close()

    def test_a_wrong_password_is_not_shown(self, ready):
        ready.sql("ALTER ROLE app PASSWORD 'right'")
        rules = ready.data / "pg_hba.conf"
        trust = rules.read_text()
        rules.write_text("host all app all scram-sha-256\n" + trust)
        ready.sql("SELECT pg_reload_conf()")
        try:
            url = ready.url("app:wr%20ong")
            with pytest.raises(ConfigError, match=r"right user and password") as caught:
                mint(connect(url, "x", ONE_RECORD))
            assert "wr%20ong" not in str(caught.value)
            assert "app:***@" in str(caught.value)
            assert isinstance(mint(connect(ready.url("app:right"), "x", ONE_RECORD)), Claim | Wait)
        finally:
            rules.write_text(trust)
            ready.sql("SELECT pg_reload_conf()")


def test_options():
    url = "postgresql://h/db?horizon=2s&sslmode=require&password=secret"
    registry = connect(url, "x", ONE_RECORD)
    assert registry.terms.horizon_ticks * registry.terms.tick_us == 2_000_000
    assert "secret" not in registry.url
    with registry._links.taken() as link:
        assert "sslmode=require" in link.conninfo
        assert "horizon" not in link.conninfo


def sessions(server):
    text = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'app'"
    return server.sql(text)[0][0]


@pytest.fixture
def calm(ready):
    """The same, when the connections of earlier tests have ended."""
    gc.collect()  # links, in cycles with their errors
    until(lambda: sessions(ready) == 0, "the end of earlier sessions")
    return ready


@pytest.fixture
def wire(calm):
    with Trickle(calm.port) as wire:
        yield wire


@pytest.fixture
def url(wire):
    return f"postgresql://app@127.0.0.1:{wire.port}/postgres"


class TestOneConnection(OneSession):
    patience = "frazil.registries.postgres.link._PATIENCE_S"
    table = "frazil.frazil_namespace"
    idle_s = postgres._IDLE_S
    places = ("frazil.registries.postgres.registry._results", "reading_us")
