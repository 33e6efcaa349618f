"""``frazil_id`` on real servers: as a default, under errors, beside generators, after losses."""

import psycopg
import pytest

import frazil
from frazil.claims.claim import LastSeen
from frazil.errors import ConfigError
from frazil.generator.verb_requests import ask_of
from frazil.registries import connect
from frazil.sql.ids import drop_ids
from tests.faults.inside import set_up
from tests.servers.postgres import postgres, programs
from tests.tools.beside import beside
from tests.tools.verbs import mint

pytestmark = pytest.mark.long

SCHEME = frazil.scheme()
ONE = "SELECT frazil_id('orders')"
MANY = f"{ONE} FROM generate_series(1, 1000)"  # takes more than the rest of a tick


@pytest.fixture(scope="module", params=[place.parts[-2] for place in programs()])
def server(request):
    """Each version of PostgreSQL that is installed."""
    bin_ = next(place for place in programs() if place.parts[-2] == request.param)
    with postgres(bin_) as running:
        set_up(running)
        running.sql("CREATE ROLE app LOGIN")
        running.sql("GRANT CREATE, USAGE ON SCHEMA public TO app")
        yield running


@pytest.fixture
def link(server):
    with psycopg.connect(server.url(), autocommit=True) as link:
        yield link


def test_its_node_number_has_no_process_as_holder(server):
    holdings = connect(server.url(), "orders", SCHEME).look().holdings
    assert "frazil_id()" in [holding.holder for holding in holdings]


def test_every_way_to_insert(link):
    link.execute(
        "CREATE TABLE IF NOT EXISTS orders (id bigint PRIMARY KEY DEFAULT frazil_id('orders'), "
        "n int) PARTITION BY HASH (id)"
    )
    for part in range(2):
        link.execute(f"CREATE TABLE orders_{part} PARTITION OF orders FOR VALUES WITH "
                     f"(MODULUS 2, REMAINDER {part})")  # fmt: skip
    link.execute("INSERT INTO orders (n) SELECT generate_series(1, 3000)")
    with link.cursor() as cursor, cursor.copy("COPY orders (n) FROM STDIN") as copy:
        for n in range(1000):
            copy.write_row((n,))
    for _ in range(10):
        link.execute("INSERT INTO orders (n) VALUES (1) RETURNING id", prepare=True)
    link.execute("PREPARE one AS SELECT frazil_id($1)")
    assert len({link.execute("EXECUTE one ('orders')").fetchone() for _ in range(20)}) == 20
    counts = link.execute("SELECT count(*), count(DISTINCT id) FROM orders").fetchone()
    assert counts == (4010, 4010)
    for (n,) in link.execute("SELECT id FROM orders LIMIT 50"):
        assert SCHEME.read(n) == n
        assert SCHEME.unpack(n).node == 0
    link.execute("DROP TABLE orders")


def test_only_its_owner_can_use_and_change_it_at_first(server):
    server.sql("REVOKE ALL ON FUNCTION frazil_id(text) FROM app")
    with psycopg.connect(server.url("app"), autocommit=True) as link:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            link.execute(ONE)
        server.sql("GRANT EXECUTE ON FUNCTION frazil_id(text) TO app")
        # A function of another role, in front of the catalogue's, is not called.
        link.execute("CREATE FUNCTION public.setval(regclass, bigint) RETURNS bigint "
                     "LANGUAGE sql AS 'SELECT 1/0::bigint'")  # fmt: skip
        link.execute("SET search_path = public, pg_catalog")
        before = link.execute(ONE).fetchone()
        assert link.execute(ONE).fetchone() > before
        (cell,) = server.sql("SELECT cell::text FROM frazil.frazil_ids")[0]
        for attempt in (f"SELECT pg_catalog.setval('{cell}', 1)", "DELETE FROM frazil.frazil_ids",
                        f"ALTER SEQUENCE {cell} RESTART"):  # fmt: skip
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                link.execute(attempt)
        link.execute("DROP FUNCTION public.setval(regclass, bigint)")


AFTER = "SELECT frazil_id('orders', after => %s)"


def test_after_an_id_that_was_seen(server, link):
    made = []
    with frazil.open(server.url(options="?horizon=1s"), namespace="orders") as ids:
        for _ in range(300):  # an answer to an answer, of two node numbers
            made.append(ids.after(*made[-1:]))
            made += link.execute(AFTER, (made[-1],)).fetchone()
    assert made == sorted(set(made))
    last = SCHEME.unpack(made[-1])
    ahead = SCHEME.pack(time=last.time + 1500, node=1023, sequence=4095)  # of a faster clock
    assert link.execute(AFTER, (ahead,)).fetchone() > (ahead,)
    assert link.execute(AFTER, (None,)).fetchone() > (ahead,)


@pytest.mark.parametrize("forged", [{"time": 1 << 40}, {"time": (1 << 41) - 1}, -1, -(1 << 63)])
def test_after_an_id_that_cannot_be(link, forged):
    last = SCHEME.unpack(*link.execute(ONE).fetchone())
    if isinstance(forged, dict):
        forged = SCHEME.pack(**({"node": 5, "sequence": 0} | forged))
        with pytest.raises(psycopg.errors.InvalidParameterValue, match="no process of namespace"):
            link.execute(AFTER, (forged,))
    (made,) = link.execute("SELECT frazil_id('orders', %s, trusted => false)", (forged,)).fetchone()
    assert SCHEME.unpack(made).time - last.time < 60_000


def test_after_has_a_right_of_its_own(server):
    with psycopg.connect(server.url("app"), autocommit=True) as link:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            link.execute(AFTER, (1,))
        server.sql("GRANT EXECUTE ON FUNCTION frazil_id(text, bigint, boolean) TO app")
        assert link.execute(AFTER, (1,)).fetchone()


def test_a_cancelled_statement_leaves_no_lock(server, link):
    victim = psycopg.connect(server.url(), autocommit=True)
    cancelled, seen = 0, []
    with beside(victim.cancel, 0.002):
        while cancelled < 5:
            try:
                for _ in range(100):
                    seen += victim.execute(ONE).fetchone()
            except psycopg.errors.QueryCanceled:
                cancelled += 1
    link.execute("SET statement_timeout = '20s'")
    seen += link.execute(ONE).fetchone()
    assert len(seen) == len(set(seen))
    victim.close()


def test_a_waiting_transaction_keeps_no_other_waiting(server, link):
    with psycopg.connect(server.url()) as holder:
        first = holder.execute(ONE).fetchone()
        link.execute("SET statement_timeout = '20s'")
        assert link.execute(ONE).fetchone() != first
        holder.rollback()


def test_it_refuses_what_is_not_set_up(link):
    for given in ("'invoices'", "NULL"):
        with pytest.raises(psycopg.errors.UndefinedObject, match="is not set up"):
            link.execute(f"SELECT frazil_id({given})")


def test_in_a_read_only_transaction_it_fails(link):
    link.execute("SET default_transaction_read_only = on")
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        link.execute(ONE)


def test_it_is_set_up_once_and_for_one_scheme(server, call_main):
    url = server.url(options="?horizon=1s")
    assert "with node 0" in call_main("init", url, "--namespace", "orders", "--sql")
    with pytest.raises(ConfigError, match="node:16"):
        connect(url, "orders", frazil.scheme("sonyflake")).add_ids(
            ask_of(LastSeen()), frazil.scheme("sonyflake")
        )


def set_again(server, call_main):
    """What ``frazil init --sql`` prints."""
    return call_main("init", server.url(options="?horizon=1s"), "--namespace", "orders", "--sql")


def facts(server, user="postgres"):
    """What ``frazil doctor`` says of frazil_id: verdict, finding and meaning by name."""
    report = connect(server.url(user), "orders", SCHEME).examine()
    return {
        fact.about: (fact.verdict, f"{fact.found}: {fact.meaning}")
        for fact in report.facts
        if fact.about in {"in SQL", "its rights", "its names"}
    }


def test_the_doctor_tells_what_is_installed(server, link, call_main):
    told = facts(server)
    assert told["in SQL"][0] == told["its rights"][0] == told["its names"][0] == "good"
    assert "of this version in schema public, owned by postgres" in told["in SQL"][1]
    assert f"'orders': node 0 of {SCHEME.layout}" in told["its names"][1]
    assert "of this version" in call_main("doctor", server.url(), "--namespace", "orders")
    server.sql("REVOKE ALL ON FUNCTION frazil_id(text) FROM app")
    server.sql("GRANT SELECT, INSERT, UPDATE ON frazil.frazil_namespace TO app")
    told = facts(server, "app")
    assert told["its rights"] == (
        "note",
        "app may not call it: GRANT EXECUTE ON FUNCTION public.frazil_id(text) TO app",
    )
    assert told["its names"][0] == "note"
    assert "GRANT SELECT ON frazil.frazil_ids TO app" in told["its names"][1]
    server.sql("GRANT EXECUTE ON FUNCTION frazil_id(text) TO app")
    assert facts(server, "app")["its rights"] == ("good", "app may call it: ")


def test_the_doctor_finds_another_version_and_a_lost_node(server, link, call_main):
    (source,) = link.execute(
        "SELECT pg_get_functiondef('frazil_id(text)'::regprocedure)"
    ).fetchone()
    try:
        link.execute(source.replace("DECLARE", "DECLARE -- an older one", 1))
        assert "of another version" in facts(server)["in SQL"][1]
        link.execute(source)
        assert "of this version" in facts(server)["in SQL"][1]
        link.execute("DROP FUNCTION frazil_id(text, bigint, boolean)")
        assert "of another version" in facts(server)["in SQL"][1]
        link.execute("ALTER FUNCTION frazil_id(text) SECURITY INVOKER")
        assert facts(server)["its rights"][0] == "bad"
        link.execute("UPDATE frazil.frazil_namespace SET ids_node = NULL WHERE name = 'orders'")
        verdict, said = facts(server)["its names"]
        assert (verdict, "'orders' has lost its node number" in said) == ("bad", True)
    finally:
        link.execute(source)
    assert "node 0" not in set_again(server, call_main)  # it stays reserved
    assert {verdict for verdict, _ in facts(server).values()} == {"good"}


def test_a_record_that_lost_the_node_number_stops_it(server, link, call_main):
    node = SCHEME.unpack(link.execute(ONE).fetchone()[0]).node
    server.sql("DELETE FROM frazil.frazil_namespace WHERE name LIKE 'orders%'")
    member = connect(server.url(options="?horizon=1s"), "orders", SCHEME)
    mint(member)  # the record is there again, and knows nothing
    with pytest.raises(psycopg.Error, match=f"node number {node} .* not reserved"):
        link.execute(MANY)
    set_again(server, call_main)
    assert len(set(link.execute(MANY))) == 1000


def test_dropping_leaves_nothing(server, link, call_main):
    link.execute(drop_ids().encode())
    found = link.execute("SELECT relname FROM pg_class WHERE relname LIKE 'frazil_ids%'")
    assert found.fetchall() == []
    with pytest.raises(psycopg.errors.UndefinedFunction):
        link.execute(ONE)
    assert "node 0" not in set_again(server, call_main)  # never the same number again
    assert link.execute(ONE).fetchone()
