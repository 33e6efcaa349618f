"""The MySQL registry against a real MariaDB: rights, errors, slow wires, one connection, forks."""

import gc
import signal
import tempfile
import threading
import time
from pathlib import Path

import pytest

import frazil
from frazil.claims.claim import Claim, Wait
from frazil.errors import ConfigError, RegistryUnavailable
from frazil.registries import connect
from frazil.registries.mysql import registry as mysql
from frazil.registries.mysql.registry import statements
from frazil.system.sockets import is_quiet
from tests.needs import needs
from tests.servers.certificates import make_certificates
from tests.servers.mariadb import mariadb
from tests.tools.forks import found_in_child
from tests.tools.trickle import Trickle
from tests.tools.verbs import ONE_RECORD, begin, mint
from tests.tools.waiting import until
from tests.unit.registries.one_connection import OneSession, open_some

pytestmark = pytest.mark.long  # MariaDB comes in no wheel

APP = "SELECT, INSERT, UPDATE"


@pytest.fixture(scope="module")
def server():
    needs("openssl", "a server with TLS")
    with tempfile.TemporaryDirectory(prefix="frazil-") as name:
        place = Path(name)
        make_certificates(place)
        for path in (place, *place.iterdir()):
            path.chmod(0o755)  # the server's user reads them
        tls = [f"ssl-{k}={place}/{v}.pem" for k, v in (("ca", "ca"), ("cert", "server"))]
        with mariadb(*tls, f"ssl-key={place}/server.key", "log-bin") as running:
            running.certificates = place
            yield running


@pytest.fixture
def fresh(server):
    """The server without the table, and with a user who may do nothing yet."""
    server.sql("DROP TABLE IF EXISTS frazil_namespace")
    server.sql("DROP USER IF EXISTS app@'%'")
    server.sql("CREATE USER app@'%'")
    return server


@pytest.fixture
def ready(fresh):
    """The same with the table, made from the file that is shipped, and the rights it names."""
    for statement in statements():
        fresh.sql(statement)
    fresh.sql(f"GRANT {APP} ON frazil_namespace TO app@'%'")
    return fresh


def open_(server, user="app", namespace="x", scheme=ONE_RECORD):
    return connect(server.url(user=user), namespace, scheme)


def new(server, scheme=ONE_RECORD, start=0):
    registry = open_(server, scheme=scheme)
    begin(registry, start)
    return registry


class TestRights:
    def test_a_missing_table_names_both_ways_to_make_it(self, fresh):
        fresh.sql("GRANT ALL ON app.* TO app@'%'")
        with pytest.raises(ConfigError, match=r"frazil init (postgresql|mysql):.*table\.sql"):
            mint(open_(fresh))
        assert open_(fresh).look() is None

    @pytest.mark.parametrize("engine", ["MyISAM", "Aria"])
    def test_a_table_without_transactions_is_refused(self, ready, engine):
        new(ready)
        ready.sql(f"ALTER TABLE frazil_namespace ENGINE={engine}")
        refused = open_(ready)
        for _ in range(2):
            with pytest.raises(ConfigError, match=f"engine {engine}.*ENGINE=InnoDB"):
                mint(refused)
        assert {fact.verdict for fact in refused.examine().facts} >= {"bad"}
        assert refused.look() is not None
        ready.sql("ALTER TABLE frazil_namespace ENGINE=InnoDB")
        assert mint(refused)

    def test_a_user_who_may_create_no_trigger_gets_the_table(self, fresh):
        fresh.sql("GRANT CREATE, SELECT, INSERT, UPDATE ON app.* TO app@'%'")
        registry = new(fresh)
        assert isinstance(mint(registry), Claim)
        assert fresh.sql("SHOW TRIGGERS") == ()
        assert any("no triggers" in fact.found for fact in registry.examine().facts)

    def test_initialising_without_the_right_names_the_file(self, fresh):
        fresh.sql("GRANT SELECT ON app.* TO app@'%'")
        with pytest.raises(ConfigError, match=r"CREATE.*table\.sql"):
            new(fresh)

    def test_no_such_database_and_a_wrong_password(self, ready):
        with pytest.raises(ConfigError, match="database"):
            mint(connect(ready.url(user="root").replace("/app", "/nowhere"), "x", ONE_RECORD))
        with pytest.raises(ConfigError, match="right user and password") as caught:
            mint(open_(ready, "app:wr%20ong"))
        assert "wr%20ong" not in str(caught.value)
        assert "app:***@" in str(caught.value)

    def test_a_read_only_server(self, ready):
        registry = new(ready)
        ready.sql("SET GLOBAL read_only=1")
        try:
            with pytest.raises(RegistryUnavailable, match="use the primary") as caught:
                mint(registry)
            assert caught.value.outcome_known
        finally:
            ready.sql("SET GLOBAL read_only=0")
        assert isinstance(mint(registry), Claim)

    def test_tls(self, ready):
        ca = ready.certificates / "ca.pem"
        url = f"mysqls://app@localhost:{ready.port}/app?ca={ca}"
        assert isinstance(mint(connect(url, "tls", ONE_RECORD)), Claim | Wait)
        with pytest.raises(RegistryUnavailable, match="certificate"):
            mint(connect(url.partition("?")[0], "tls", ONE_RECORD))
        with pytest.raises(RegistryUnavailable, match=r"certificate|match"):
            mint(connect(url.replace("localhost", "127.0.0.1"), "tls", ONE_RECORD))


class TestLosses:
    def test_the_incarnation_names_server_table_and_start(self, ready):
        with open_(ready).step() as (record, incarnation):
            record.revision += 1
        data, start_s = incarnation.split("/")
        created_s = "SELECT UNIX_TIMESTAMP(create_time) FROM information_schema.tables"
        ((found_s,),) = ready.sql(f"{created_s} WHERE table_name='frazil_namespace'")
        assert int(data.rpartition(".")[2]) == found_s
        assert abs(int(start_s) - time.time()) < 3600

    def test_names_differ_by_spaces_and_case(self, ready):
        for name in ("a", "a ", "A", "ä"):
            begin(open_(ready, namespace=name))
        assert ready.sql("SELECT count(*) FROM frazil_namespace") == ((4,),)

    def test_the_longest_name_has_one_row(self, ready):
        begin(connect(ready.url(user="app"), "🧊" * 200, frazil.scheme("sonyflake")))
        begin(connect(ready.url(user="app"), "🧊" * 199, frazil.scheme("sonyflake")))
        assert ready.sql("SELECT count(*) FROM frazil_namespace") == ((1 + 64,),)


class TestTrouble:
    def test_an_alarm_during_an_exchange_ends_the_session(self, ready):
        registry, other = new(ready), open_(ready)

        def strike(*_: object) -> None:
            raise TimeoutError("alarm")

        before = signal.signal(signal.SIGALRM, strike)
        try:
            with other.step() as (record, _):
                signal.setitimer(signal.ITIMER_REAL, 0.3)
                with pytest.raises((TimeoutError, RegistryUnavailable)):
                    mint(registry)
                record.revision += 1
        finally:
            signal.signal(signal.SIGALRM, before)
        with registry._links.taken() as link:
            assert link._connection is None
        assert mint(registry).seen.revision == 2


def sessions(server):
    text = "SELECT id FROM information_schema.processlist WHERE user = 'app'"
    return [number for (number,) in server.sql(text)]


@pytest.fixture
def calm(ready):
    """The same, when the sessions of earlier tests have ended."""
    gc.collect()  # links, in cycles with their errors
    until(lambda: not sessions(ready), "the end of earlier sessions")
    return ready


@pytest.fixture
def wire(calm):
    with Trickle(calm.port) as wire:
        yield wire


@pytest.fixture
def url(calm, wire):
    return calm.url(user="app").replace(str(calm.port), str(wire.port))


class TestOneConnection(OneSession):
    patience = "frazil.registries.mysql.link._PATIENCE_S"
    table = "frazil_namespace"
    user = "app@'%'"
    idle_s, late = mysql._IDLE_S, 1  # the server waits longer for the sleeper than for the lock
    places = ("frazil.registries.mysql.registry.PackedSlots", "reading_us", "_keep")

    def ends_clean(self, registry):
        with registry._connected() as (_, connection):
            ((timeout_s, writes),) = connection.ask("SELECT @@wait_timeout, @frazil_writes")[0]
        assert (timeout_s > mysql._IDLE_S, writes) == (True, None)


def session_of(registry):
    with registry._links.taken() as link:
        return link._connection.thread_id()


def test_a_child_of_a_fork_beside_a_request_has_its_first_answer(calm):
    """A thread that the child does not have holds the lock of the reader."""
    frazil.init(calm.url(user="app"), "tickets", namespace="n", new=True)
    with frazil.open(calm.url(user="app"), "tickets", namespace="n", block=1) as ids:
        ids()
        with calm.connect() as other, other.cursor() as cursor:
            cursor.execute("START TRANSACTION")
            cursor.execute("SELECT 1 FROM frazil_namespace FOR UPDATE")
            thread = threading.Thread(target=ids)
            thread.start()
            time.sleep(0.2)  # until the thread waits for the row
            until_free = threading.Timer(0.5, other.rollback)
            until_free.start()
            theirs = int(found_in_child(ids))
            until_free.join()
        thread.join()
        assert theirs != ids()


def test_a_session_that_was_ended_is_replaced(calm):
    some = open_some(calm.url(user="app"), 3)
    session = session_of(some[0])
    with some[0]._links.taken() as link:
        calm.sql(f"KILL {session}")
        until(lambda: not is_quiet(link._connection.fileno()), "the server's last message")
    for each in some:
        assert isinstance(mint(each), Claim)  # without an error
    until(lambda: len(sessions(calm)) == 1, "the server to have 1")
    assert session_of(some[0]) != session


def test_a_session_that_is_ended_during_a_verb_is_replaced_once(calm):
    some = open_some(calm.url(user="app"), 3)
    session = session_of(some[0])
    with pytest.raises(RegistryUnavailable), some[0].step():
        calm.sql(f"KILL {session}")
    assert [mint(each).seen.revision for each in some] == [1, 1, 1]
    until(lambda: len(sessions(calm)) == 1, "the server to have 1")
