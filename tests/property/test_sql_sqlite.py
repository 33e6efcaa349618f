"""The view and the expressions that ``frazil sql sqlite`` prints, beside the Python scheme."""

import sqlite3
from datetime import datetime

import pytest

from frazil.errors import ConfigError
from frazil.sql.sqlite import drop_view, expressions, view
from frazil.system.clock import to_us
from tests.property.sql_cases import other_texts, read_or_none, schemes, some_ids, windows

HELD = {name: scheme for name, scheme in schemes().items() if scheme.signed_safe}
REFUSED = {name: scheme for name, scheme in schemes().items() if name not in HELD}


@pytest.fixture(params=HELD)
def scheme(request):
    return HELD[request.param]


@pytest.fixture
def link():
    with sqlite3.connect(":memory:") as link:
        yield link
    link.close()


def test_the_view_is_the_schemes(scheme, link):
    link.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
    link.executescript(view(scheme, "order", "orders"))
    link.executescript(view(scheme, "order", "orders"))  # may be repeated
    some = set(some_ids(scheme, 60))
    link.executemany("INSERT INTO orders VALUES (?)", [(n,) for n in some])
    rows = link.execute("SELECT * FROM order_ids")
    columns = [column[0] for column in rows.description]
    found = [dict(zip(columns, row, strict=True)) for row in rows]
    assert {row["id"] for row in found} == some
    for row in found:
        n = row.pop("id")
        values = scheme.unpack(n)
        assert row.pop("text") == scheme.format(n)
        if "time" in row:
            time, us = row.pop("time"), values.moment_us
            assert (time is None) == (values.moment is None)
            if time is not None:
                assert to_us(datetime.fromisoformat(time)) == us
                assert row["tick"] == values["time"]
            del row["tick"]
        assert row == {part: values[part] for part in row}
    link.executescript(drop_view(scheme, "order", "orders"))
    assert link.execute("SELECT * FROM sqlite_schema WHERE type = 'view'").fetchall() == []


def test_a_text_is_read_as_python_reads_it(scheme, link):
    asked = f"SELECT {expressions(scheme, ':n')['id']}"
    for n in some_ids(scheme, 10):
        text = scheme.format(n)
        assert link.execute(asked, {"text": text}).fetchone() == (n,)
        for other in [*other_texts(scheme, text), text + "\0", text + "\0x"]:
            expected = read_or_none(scheme, other)
            assert link.execute(asked, {"text": other}).fetchone() == (expected,), other


def test_what_is_no_id_has_no_time_and_no_text(scheme, link):
    found = [e for part, e in expressions(scheme, ":n").items() if part not in ("id", "from")]
    for n in (-1, min(scheme.id_max + 1, (1 << 63) - 1), 1 << 62, -(1 << 63)):
        if read_or_none(scheme, n) is None:
            row = link.execute(f"SELECT {', '.join(found)}", {"n": n}).fetchone()
            assert set(row) == {None}


def test_a_bound_is_the_schemes(scheme, link):
    found = expressions(scheme, ":n")
    for start, _, ids in windows(scheme, 50):
        if ids is not None or "from" in found:
            bound = link.execute(f"SELECT {found['from']}", {"us": to_us(start)}).fetchone()
            assert bound == (None if ids is None else ids.start,)


def test_its_expressions_may_stand_in_an_index(scheme, link):
    link.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
    for part, expression in expressions(scheme, "id").items():
        if part not in ("id", "from"):
            link.execute(f"CREATE INDEX by_{part} ON orders ({expression})")
            link.execute(
                f"ALTER TABLE orders ADD COLUMN made_{part} GENERATED ALWAYS AS ({expression})"
            )
    link.execute("INSERT INTO orders VALUES (?)", (scheme.id_max,))


@pytest.mark.parametrize("name", REFUSED)
def test_what_sqlite_cannot_hold_is_refused(name):
    with pytest.raises(ConfigError, match="SQLite's integers"):
        view(REFUSED[name], "order", "orders")
