"""The PostgreSQL registry against a real server: rights, settings, errors, other members."""

import os
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import resources

import psycopg
import pytest

import frazil
from frazil.claims.claim import Claim, LastSeen, Wait
from frazil.errors import ConfigError, RegistryUnavailable
from frazil.generator.verb_requests import ask_of
from frazil.registries import connect
from frazil.registries.postgres import registry as postgres
from frazil.registries.postgres.registry import schema
from frazil.system.idle_sockets import is_quiet
from tests.servers import postgres as servers
from tests.tools.proxy import Proxy
from tests.tools.waiting import until

__all__: list[str] = []

ICICLE = frazil.scheme("icicle")
APP = "SELECT, INSERT, UPDATE"


@pytest.fixture(scope="module")
def server():
    with servers.postgres() as running:
        yield running


@pytest.fixture
def fresh(server):
    """The server without the table, and with a role that may do nothing yet."""
    server.sql("DROP TABLE IF EXISTS frazil_namespace")
    server.sql("DROP ROLE IF EXISTS app")
    server.sql("CREATE ROLE app LOGIN")
    yield server
    server.sql("DROP OWNED BY app")


@pytest.fixture
def ready(fresh):
    """The same with the table, made from the file that is shipped, and the rights it names."""
    with psycopg.connect(fresh.url()) as link:
        link.execute(schema().encode())
        link.execute(f"GRANT {APP} ON frazil_namespace TO app")
    return fresh


def open_(server, user="app", namespace="x"):
    return connect(server.url(user), namespace, ICICLE)


def mint(registry, ticks=1):
    return registry.mint(ask_of(LastSeen()), ticks)


def test_a_role_that_may_only_use_the_table(ready):
    registry = open_(ready)
    registry.initialise(ask_of(LastSeen()), 0)
    claim = registry.grant(ask_of(LastSeen()), 100)
    longer = registry.renew(ask_of(claim.seen, claim), claim.until + 10)
    assert isinstance(registry.release(ask_of(longer.seen, longer), longer.start + 1), LastSeen)
    assert [h.slot for h in registry.holdings()] == [claim.slot]


def test_the_incarnation_names_server_timeline_table_database_and_start(ready):
    with open_(ready).step() as (_, incarnation):
        told = incarnation.replace("/", ".").split(".")
    system, timeline, table, database, start = told
    assert [(int(system), int(timeline, 16), int(table), int(database))] == ready.sql(
        "SELECT system_identifier::bigint, timeline_id, 'frazil_namespace'::regclass::bigint, d.oid"
        " FROM pg_control_system(), pg_control_checkpoint(), pg_database AS d"
        " WHERE d.datname = 'postgres'"
    )
    assert abs(int(start) / 1e6 - time.time()) < 3600


def test_a_missing_table_names_both_ways_to_make_it(fresh):
    with pytest.raises(ConfigError, match=r"frazil init URL.*table\.sql"):
        mint(open_(fresh, "postgres"))
    assert (resources.files("frazil.registries.postgres") / "table.sql").is_file()


def test_initialising_makes_the_table(fresh):
    open_(fresh, "postgres").initialise(ask_of(LastSeen()), 0)
    assert isinstance(mint(open_(fresh, "postgres")), Claim)


def test_a_program_that_runs_at_every_start_makes_the_table_and_waits(fresh):
    url = fresh.url(options="?horizon=1s")
    began_s = time.monotonic()
    assert [frazil.init(url, if_missing=True) for _ in range(2)] == [True, False]
    assert time.monotonic() - began_s >= 1
    fresh.sql("DROP TABLE frazil_namespace")
    assert frazil.init(url, if_missing=True) is True


def test_without_the_right_to_create_a_table_one_that_is_there_is_used(ready):
    url = ready.url("app", options="?horizon=1s")
    assert [frazil.init(url, if_missing=True) for _ in range(2)] == [True, False]


def test_a_database_without_an_encoding(fresh):
    fresh.sql(
        "CREATE DATABASE ascii ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    )
    url = fresh.url(database="ascii", options="?horizon=1s")
    assert frazil.init(url, namespace="заказы", new=True)
    assert len(set(frazil.mint(10, url, namespace="заказы"))) == 10
    fresh.sql("DROP DATABASE ascii WITH (FORCE)")


def test_initialising_without_the_right_names_the_file(fresh):
    with pytest.raises(ConfigError, match=r"permission denied.*table\.sql"):
        open_(fresh).initialise(ask_of(LastSeen()), 0)


def test_many_initialise_at_once(fresh):
    registries = [open_(fresh, "postgres", f"n{i}") for i in range(6)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda r: r.initialise(ask_of(LastSeen()), 0), registries))


def test_a_right_that_is_missing(ready):
    ready.sql("REVOKE UPDATE ON frazil_namespace FROM app")
    with pytest.raises(ConfigError, match="SELECT, INSERT and UPDATE"):
        mint(open_(ready))


def test_a_first_use_by_many_makes_one_record(ready):
    registries = [open_(ready) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda r: r.grant(ask_of(LastSeen()), 5), registries))
    assert len({reply.seen.sid for reply in replies}) == 1
    assert sorted(reply.seen.revision for reply in replies) == list(range(1, 9))


@pytest.mark.parametrize("level", ["read committed", "serializable"])
def test_concurrent_members_get_disjoint_ticks(ready, level):
    ready.sql(f"ALTER ROLE app SET default_transaction_isolation TO '{level}'")
    registries = [open_(ready) for _ in range(8)]
    registries[0].initialise(ask_of(LastSeen()), 0)

    def work(registry):
        return [mint(registry, 3) for _ in range(20)]

    with ThreadPoolExecutor(8) as pool:
        claims = [claim for some in pool.map(work, registries) for claim in some]
    cells = {(c.slot, tick) for c in claims for tick in range(c.start, c.until)}
    assert len(cells) == sum(c.until - c.start for c in claims)
    assert max(c.seen.revision for c in claims) == len(claims)


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
    def test_a_frozen_member_is_rolled_back_and_delays_no_other(self, ready):
        sleeper, other = open_(ready), open_(ready)
        sleeper.initialise(ask_of(LastSeen()), 0)
        locked = threading.Event()

        def sleep():
            with sleeper.step() as (record, _):
                record.revision += 1000
                locked.set()
                time.sleep(postgres._IDLE_S + 1.5)

        with ThreadPoolExecutor(1) as pool:
            asleep = pool.submit(sleep)
            locked.wait(10)
            assert mint(other).seen.revision == 1
            with pytest.raises(RegistryUnavailable) as caught:
                asleep.result()
        assert caught.value.outcome_known is not None
        assert mint(sleeper).seen.revision == 2

    def test_a_lost_reply_to_commit_is_reported(self, ready, monkeypatch):
        registry = open_(ready)
        registry.initialise(ask_of(LastSeen()), 0)
        keep = postgres.PostgresRegistry._keep

        def cut(self, *arguments):
            keep(self, *arguments)
            raise psycopg.OperationalError("server closed the connection unexpectedly")

        with monkeypatch.context() as patch:
            patch.setattr(postgres.PostgresRegistry, "_keep", cut)
            with pytest.raises(RegistryUnavailable) as caught:
                mint(registry)
        assert caught.value.outcome_known is False
        assert mint(registry).seen.revision == 2

    def test_a_session_that_was_ended_is_replaced(self, ready):
        registry = open_(ready)
        registry.initialise(ask_of(LastSeen()), 0)
        session = session_of(registry)
        with registry._links.taken() as link:
            wire = link.connection.fileno()
        end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'"
        ready.sql(end)
        until(lambda: not is_quiet(wire), "the server's last message")
        assert isinstance(mint(registry), Claim)  # without an error
        assert session_of(registry) != session

    def test_a_session_that_is_ended_during_a_verb_is_replaced(self, ready):
        registry = open_(ready)
        registry.initialise(ask_of(LastSeen()), 0)
        end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'"
        with pytest.raises(RegistryUnavailable), registry.step():
            ready.sql(end)
        assert mint(registry).seen.revision == 1

    def test_a_verb_that_raises_changes_nothing(self, ready):
        registry = open_(ready)
        registry.initialise(ask_of(LastSeen()), 0)
        with pytest.raises(ConfigError, match="already"):
            registry.initialise(ask_of(LastSeen()), 0)
        assert mint(registry).seen.revision == 1
        idle = "SELECT count(*) FROM pg_stat_activity WHERE usename='app' AND state <> 'idle'"
        assert ready.sql(idle) == [(0,)]

    def test_a_standby(self, ready):
        replica = ready.replica()
        try:
            with pytest.raises(RegistryUnavailable, match="standby"):
                mint(open_(replica))
        finally:
            replica.close()

    def test_no_server_listens(self):
        url = f"postgresql://127.0.0.1:{servers.free_port()}/x"
        with pytest.raises(RegistryUnavailable, match="can be reached") as caught:
            mint(connect(url, "x", ICICLE))
        assert caught.value.outcome_known

    def test_too_many_connections(self, ready):
        ready.sql("ALTER ROLE app CONNECTION LIMIT 1")
        first = open_(ready)
        mint(first)
        with pytest.raises(RegistryUnavailable, match="pooler"):
            mint(connect(ready.url("app", "?application_name=other"), "x", ICICLE))

    def test_no_such_database_or_role(self, ready):
        with pytest.raises(ConfigError, match="create the database"):
            mint(connect(ready.url("app").replace("/postgres", "/nowhere"), "x", ICICLE))
        with pytest.raises(ConfigError, match="user that exists"):
            mint(open_(ready, "nobody"))

    def test_a_wrong_password_is_not_shown(self, ready):
        ready.sql("ALTER ROLE app PASSWORD 'right'")
        rules = ready.data / "pg_hba.conf"
        trust = rules.read_text()
        rules.write_text("host all app all scram-sha-256\n" + trust)
        ready.sql("SELECT pg_reload_conf()")
        try:
            url = ready.url("app:wr%20ong")
            with pytest.raises(ConfigError, match=r"right user and password") as caught:
                mint(connect(url, "x", ICICLE))
            assert "wr%20ong" not in str(caught.value)
            assert "app:***@" in str(caught.value)
            assert isinstance(mint(connect(ready.url("app:right"), "x", ICICLE)), Claim | Wait)
        finally:
            rules.write_text(trust)
            ready.sql("SELECT pg_reload_conf()")


def test_options():
    url = "postgresql://h/db?horizon=2s&sslmode=require&password=secret"
    registry = connect(url, "x", ICICLE)
    assert registry.terms.horizon_ticks * registry.terms.tick_us == 2_000_000
    assert "secret" not in registry.url
    with registry._links.taken() as link:
        assert "sslmode=require" in link.conninfo
        assert "horizon" not in link.conninfo
    with pytest.raises(ConfigError, match="horizn"):
        connect("postgresql://h/db?horizn=2s", "x", ICICLE)


def session_of(registry):
    with registry._links.taken() as link:
        return link.connection.info.backend_pid


def child(work):
    """The exit status of a child that does this."""
    pid = os.fork()
    if not pid:
        status = 1
        try:
            status = 0 if work() else 2
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_child_talks_for_itself_and_leaves_the_parents_session(ready):
    registry, other = open_(ready), open_(ready, namespace="y")
    for each in (registry, other):
        each.initialise(ask_of(LastSeen()), 0)
    session = session_of(registry)

    def good():
        same = [mint(each).seen.revision == 1 for each in (registry, other)]
        sessions = {session_of(registry), session_of(other)}
        registry.close()
        other.close()
        return all(same) and len(sessions) == 1 and session not in sessions

    assert child(good) == 0
    assert mint(registry).seen.revision == 2
    assert session_of(registry) == session_of(other) == session


def test_a_child_inside_its_parents_step_neither_commits_nor_ends_it(ready):
    registry = open_(ready)
    registry.initialise(ask_of(LastSeen()), 0)

    def commits():
        with pytest.raises(psycopg.Error):
            registry._locked.execute("COMMIT")
        return True

    with registry.step() as (record, _):
        assert child(commits) == 0
        record.revision += 1
    assert mint(registry).seen.revision == 2


def test_a_child_whose_parent_is_inside_a_verb_holds_no_copy_of_its_connection(ready):
    """Else the server would not notice the death of the parent."""
    registry = open_(ready)
    registry.initialise(ask_of(LastSeen()), 0)

    def cut():
        with socket.socket(fileno=os.dup(number)) as copy:
            return copy.family == socket.AF_UNIX and not copy.recv(1)

    with registry.step():
        number = registry._locked.connection.fileno()
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(child, cut).result() == 0


class TestOneConnection:
    """The registries of a process and a URL share a connection, and nothing else."""

    def open_some(self, server, count):
        made = [open_(server, namespace=f"n{i}") for i in range(count)]
        for each in made:
            each.initialise(ask_of(LastSeen()), 0)
        return made

    def sessions(self, server):
        text = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'app'"
        return server.sql(text)[0][0]

    def test_generators_of_many_namespaces_have_one(self, ready):
        url = ready.url("app")
        for i in range(50):
            frazil.init(url, namespace=f"n{i}", new=True)
        until(lambda: self.sessions(ready) == 0, "the end of what init opened")
        ids = [frazil.open(url, namespace=f"n{i}") for i in range(50)]
        assert len([each() for each in ids]) == 50
        assert self.sessions(ready) == 1
        for each in ids[:-1]:
            each.close()
        assert self.sessions(ready) == 1
        ids[-1].close()
        until(lambda: self.sessions(ready) == 0, "the end of the connection")

    def test_a_first_id_of_another_namespace_costs_only_its_claim(self, ready):
        with Proxy(ready.port) as wire:
            url = ready.url("app").replace(str(ready.port), str(wire.port))
            for name in ("a", "b"):
                frazil.init(url, namespace=name, new=True)
            with frazil.open(url, namespace="a") as one, frazil.open(url, namespace="b") as other:
                one()
                opened, turns = wire.opened, wire.turns
                other()
                assert wire.opened == opened
                assert wire.turns - turns <= 4  # the claim, and a renewal of the first one

    def test_a_connection_that_is_lost_is_replaced_once(self, ready):
        some = self.open_some(ready, 5)
        with pytest.raises(RegistryUnavailable), some[0].step():
            ready.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename='app'")
        for each in some:
            assert mint(each).seen.revision == 1
        assert self.sessions(ready) == 1

    def test_generators_go_on_after_a_loss(self, ready):
        with Proxy(ready.port) as wire:
            url = ready.url("app").replace(str(ready.port), str(wire.port))
            for i in range(5):
                frazil.init(url, namespace=f"n{i}", new=True)
            ids = [frazil.open(url, namespace=f"n{i}") for i in range(5)]
            made = [(i, each()) for i, each in enumerate(ids)]
            wire.cut()
            time.sleep(0.2)  # their claims of 100 ms end
            made += [(i, each()) for i, each in enumerate(ids)]
            assert len(set(made)) == 10
            until(lambda: wire.connections == 1, "one connection")
            for each in ids:
                each.close()
            until(lambda: wire.connections == 0, "the end of the connection")

    @pytest.mark.parametrize("place", ["_results", "lock"])
    def test_a_transaction_that_was_left_open_is_of_no_other_verb(self, ready, monkeypatch, place):
        broken, other = self.open_some(ready, 2)
        with monkeypatch.context() as patch:
            if place == "lock":
                patch.setattr(broken, "reading_us", strike)
            else:
                patch.setattr(postgres, "_results", strike)
            with pytest.raises(KeyboardInterrupt):
                mint(broken)
        with other.step() as (record, _):
            record.revision += 1
            row = "SELECT count(*) FROM frazil_namespace WHERE name = 'n0'"
            assert ready.sql(f"{row} FOR UPDATE NOWAIT".replace("count(*)", "1")) == [(1,)]
        assert mint(other).seen.revision == 2
        assert mint(broken).seen.revision == 1

    def test_verbs_of_two_threads_do_not_share_a_transaction(self, ready):
        one, other = self.open_some(ready, 2)
        with one.step() as (record, _):
            record.revision += 1
            assert mint(other).seen.revision == 1
        assert mint(one).seen.revision == 2
        assert self.sessions(ready) == 1

    def test_another_environment_is_another_connection(self, ready, monkeypatch):
        registry = open_(ready)
        mint(registry)
        monkeypatch.setenv("PGOPTIONS", "-c work_mem=1MB")
        other = open_(ready)
        mint(other)
        assert self.sessions(ready) == 2


def strike(*_: object) -> None:
    raise KeyboardInterrupt
