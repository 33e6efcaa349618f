"""The schema of the table: a new one has its own, and one of an older version moves there."""

import threading
import time

import psycopg
import pytest

import frazil
from frazil.claims.claim import Claim
from frazil.registries import connect
from frazil.registries.postgres.registry import schema
from tests.tools.verbs import ONE_RECORD, grant, new
from tests.tools.waiting import until

PLACES = "SELECT schemaname, tablename FROM pg_tables WHERE tablename LIKE 'frazil%' ORDER BY 2"
ID = "SELECT frazil_id('orders')"


@pytest.fixture
def database(server, request):
    """The URL of a database for one test."""
    name = f"db_{request.function.__name__[5:40]}"
    server.sql(f"CREATE DATABASE {name}")
    return server.url(database=name)


def in_public(url):
    """The table of an older version, which made it where the search_path begins."""
    text = schema().encode()
    assert b"SET LOCAL search_path = frazil;" in text
    with psycopg.connect(url) as link:
        link.execute(text.replace(b"search_path = frazil;", b"search_path = public;"))
        link.execute("DROP SCHEMA frazil")


def rows(url, question):
    with psycopg.connect(url) as link:
        return link.execute(question).fetchall()


def test_a_new_table_has_a_schema_that_tools_do_not_see(database, call_main):
    frazil.init(database, namespace="orders", new=True)
    assert rows(database, PLACES) == [("frazil", "frazil_namespace")]
    visible = "SELECT relname FROM pg_class WHERE relkind = 'r' AND pg_table_is_visible(oid)"
    assert ("frazil_namespace",) not in rows(database, visible)
    call_main("init", database, "--namespace", "orders", "--sql")
    assert {place for place, _ in rows(database, PLACES)} == {"frazil"}
    assert rows(database, ID)  # the function is found as before


def test_it_moves_while_members_run_and_nobody_waits(database, call_main):
    in_public(database)
    call_main("init", database, "--namespace", "orders", "--new")
    call_main("init", database, "--namespace", "orders", "--sql")
    assert {place for place, _ in rows(database, PLACES)} == {"public"}
    with psycopg.connect(database, autocommit=True) as link:
        link.execute(
            "CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT frazil_id('orders'), n int)"
        )
    found, over = [[], [], []], threading.Event()

    def run(mine):
        with frazil.open(database, namespace="orders") as ids:
            while not over.is_set():
                mine.append(ids())
                time.sleep(0.002)

    threads = [threading.Thread(target=run, args=(mine,)) for mine in found]
    for each in threads:
        each.start()
    until(lambda: all(found), "IDs of all")
    assert "is now in the schema frazil" in call_main("init", database, "--move")
    assert isinstance(grant(connect(database, "orders", frazil.scheme()), 1), Claim)
    made = [frazil.mint(5, database, namespace="orders") for _ in range(3)]
    with psycopg.connect(database, autocommit=True) as link:
        link.execute("INSERT INTO orders (n) SELECT generate_series(1, 100)")
        made.append([n for (n,) in link.execute("SELECT id FROM orders")])
    had = [len(mine) for mine in found]
    time.sleep(1.5)  # claims are renewed
    until(lambda: all(len(mine) > many for mine, many in zip(found, had, strict=True)), "more IDs")
    over.set()
    for each in threads:
        each.join()
    everything = [n for some in (*found, *made) for n in some]
    assert len(everything) == len(set(everything))
    assert {place for place, _ in rows(database, PLACES)} == {"frazil"}
    assert "was already in the schema frazil" in call_main("init", database, "--move")


def test_a_record_that_was_lost_is_not_kept_by_the_move(database):
    in_public(database)
    frazil.init(database, namespace="orders", new=True)
    with psycopg.connect(database) as link:
        link.execute("UPDATE frazil_namespace SET layout = layout")  # as by a restored dump
    registry = connect(database, "orders", ONE_RECORD)
    assert registry.move_table()
    with registry.step() as (record, incarnation):
        assert record.incarnation != incarnation


def test_a_role_without_the_right_to_make_a_schema_uses_its_own(server):
    server.sql("CREATE ROLE theirs LOGIN")
    server.sql("CREATE DATABASE theirs")
    with psycopg.connect(server.url(database="theirs"), autocommit=True) as link:
        link.execute("GRANT CREATE, USAGE ON SCHEMA public TO theirs")
    url = server.url("theirs", database="theirs")
    registry = new(url, "orders")
    assert rows(url, PLACES) == [("public", "frazil_namespace")]
    (place,) = [fact for fact in registry.examine().facts if fact.about == "rights"]
    assert (place.verdict, "--move" in place.meaning) == ("note", True)
