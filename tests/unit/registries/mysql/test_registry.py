"""The MySQL registry against a real MariaDB: rights, errors, restored rows, forks, slow wires."""

import shutil
import signal
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from frazil.claims.claim import Claim, LastSeen, Wait
from frazil.errors import ConfigError, RegistryUnavailable
from frazil.registries import connect
from frazil.registries.mysql import registry as mysql
from frazil.registries.mysql.registry import statements
from tests.needs import needs
from tests.servers.certificates import make_certificates
from tests.servers.database import free_port
from tests.servers.mariadb import mariadb
from tests.tools.trickle import Trickle
from tests.tools.verbs import ICICLE, begin, grant, mint, release, renew

pytestmark = pytest.mark.long  # MariaDB comes in no wheel

APP = "SELECT, INSERT, UPDATE"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    needs("openssl", "a server with TLS")
    certificates = tmp_path_factory.mktemp("tls")
    make_certificates(certificates)
    for path in (certificates, *certificates.iterdir()):
        path.chmod(0o755)
    with tempfile.TemporaryDirectory(prefix="frazil-") as name:  # which the server's user may read
        public = shutil.copytree(certificates, f"{name}/tls")
        Path(name).chmod(0o755)
        tls = [f"ssl-{k}={public}/{v}.pem" for k, v in (("ca", "ca"), ("cert", "server"))]
        with mariadb(*tls, f"ssl-key={public}/server.key", "log-bin") as running:
            running.certificates = certificates
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


def open_(server, user="app", namespace="x", scheme=ICICLE):
    return connect(server.url(user=user), namespace, scheme)


def new(server, scheme=ICICLE, start=0):
    registry = open_(server, scheme=scheme)
    begin(registry, start)
    return registry


class TestRights:
    def test_a_user_who_may_only_use_the_table(self, ready):
        registry = new(ready)
        claim = grant(registry, 100)
        longer = renew(registry, claim, 10)
        assert isinstance(release(registry, longer, longer.start + 1), LastSeen)
        assert [h.slot for h in registry.holdings()] == [claim.slot]
        assert {fact.verdict for fact in registry.examine().facts} == {"good"}

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

    def test_a_right_that_is_missing(self, ready):
        ready.sql("REVOKE UPDATE ON frazil_namespace FROM app@'%'")
        with pytest.raises(ConfigError, match="SELECT, INSERT and UPDATE"):
            mint(open_(ready))

    def test_no_such_database_and_a_wrong_password(self, ready):
        with pytest.raises(ConfigError, match="database"):
            mint(connect(ready.url(user="root").replace("/app", "/nowhere"), "x", ICICLE))
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
        assert isinstance(mint(connect(url, "tls", ICICLE)), Claim | Wait)
        with pytest.raises(RegistryUnavailable, match="certificate"):
            mint(connect(url.partition("?")[0], "tls", ICICLE))
        with pytest.raises(RegistryUnavailable, match=r"certificate|match"):
            mint(connect(url.replace("localhost", "127.0.0.1"), "tls", ICICLE))


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


class TestTrouble:
    def test_a_frozen_member_is_rolled_back(self, ready):
        sleeper, other = new(ready), open_(ready)
        locked = threading.Event()

        def sleep():
            with sleeper.step() as (record, _):
                record.revision += 1000
                locked.set()
                time.sleep(mysql._IDLE_S + 2.5)

        with ThreadPoolExecutor(1) as pool:
            asleep = pool.submit(sleep)
            locked.wait(10)
            # The lock is waited for less long than the server waits for the sleeper.
            with pytest.raises(RegistryUnavailable, match="locked"):
                mint(other)
            assert mint(other).seen.revision == 1
            with pytest.raises(RegistryUnavailable):
                asleep.result()
        assert mint(sleeper).seen.revision == 2

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

    def test_a_reply_that_trickles_is_given_up(self, ready):
        with Trickle(ready.port) as wire:
            registry = connect(f"mysql://app@127.0.0.1:{wire.port}/app", "x", ICICLE)
            assert isinstance(mint(registry), Claim | Wait)
            with wire.trickling(), pytest.raises(RegistryUnavailable, match="no answer within 4 s"):
                mint(registry)

    def test_no_server_listens(self):
        with pytest.raises(RegistryUnavailable, match="can be reached") as caught:
            mint(connect(f"mysql://root@127.0.0.1:{free_port()}/x", "x", ICICLE))
        assert caught.value.outcome_known


def test_options():
    registry = connect("mariadb://ids:secret@h:3307/app?horizon=2s", "x", ICICLE)
    assert registry.terms.horizon_ticks * registry.terms.tick_us == 2_000_000
    assert "secret" not in registry.url
    with registry._links.taken() as link:
        assert link._options["port"] == 3307
