"""``frazil sql``: what it prints, and what it refuses."""

import sqlite3

import pytest

import frazil


def test_postgresql(call):
    text = call("sql", "postgresql", "--name", "order", "--schema", "app").stdout
    for part in ("time", "node", "tick", "sequence", "text", "id", "from", "window"):
        assert f'CREATE OR REPLACE FUNCTION "app"."order_{part}"(' in text
    assert text.count("IMMUTABLE") == 8
    assert text.count("PARALLEL SAFE") == 8


def test_sqlite(call):
    made = call("sql", "sqlite", "--table", "orders", "--name", "order").stdout
    with sqlite3.connect(":memory:") as link:
        link.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
        link.executescript(made)
        n = frazil.scheme().pack(time=1, node=2, sequence=3)
        link.execute("INSERT INTO orders VALUES (?)", (n,))
        asked = "SELECT time, node, sequence, text FROM order_ids"
        assert link.execute(asked).fetchone() == ("2016-02-18T09:43:20.317000Z", 2, 3, str(n))
        link.executescript(call("sql", "sqlite", "--table", "orders", "--name", "order", "--drop")
                           .stdout)  # fmt: skip
        assert link.execute("SELECT * FROM sqlite_schema WHERE type = 'view'").fetchall() == []
    link.close()


def test_ids(call):
    assert (
        'FUNCTION "public".frazil_id(namespace text)' in call("sql", "postgresql", "--ids").stdout
    )
    assert "DROP TABLE IF EXISTS" in call("sql", "postgresql", "--ids", "--drop").stdout


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["sqlite"], "name a table with --table"),
        (["sqlite", "--ids", "--table", "x"], "--ids is for postgresql"),
        (["mysql", "--schema", "x"], "--schema is for postgresql"),
        (["mysql", "--table", "x"], "--table is for sqlite"),
        (["postgresql", "--column", "x"], "--column is for sqlite"),
        (["postgresql", "--name", "a b"], "is not a name"),
        (["postgresql", "--scheme", "tsid"], "BIGINT"),
        (["sqlite", "--table", "x", "--scheme", "globalid-128"], "SQLite's integers"),
        (["mysql", "--scheme", "globalid-128"], "128 bits"),
        (["oracle"], "is not one of"),
    ],
)
def test_what_it_refuses(arguments, problem, call):
    result = call("sql", *arguments)
    assert result.exit_code == 2
    assert problem in result.output
