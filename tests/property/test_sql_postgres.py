"""The functions that ``frazil sql postgresql`` prints, beside the Python scheme, on a server."""

import uuid

import psycopg
import pytest

from frazil.errors import ConfigError
from frazil.sql.postgres import drop_functions, functions
from tests.property.sql_cases import other_texts, read_or_none, schemes, some_ids, windows
from tests.servers.postgres import postgres

pytestmark = pytest.mark.long

MOST_US = (1 << 63) - 1
HELD = {
    name: scheme for name, scheme in schemes().items() if scheme.signed_safe or scheme.bits == 128
}
REFUSED = {name: scheme for name, scheme in schemes().items() if name not in HELD}
EPOCH_US = "(extract(epoch FROM x_time(i)) * 1000000)::numeric"


@pytest.fixture(scope="module")
def link():
    with postgres() as server, psycopg.connect(server.url(), autocommit=True) as link:
        link.execute("SET TimeZone = 'Europe/Kyiv'")
        link.execute("SET DateStyle = 'German'")
        yield link


@pytest.fixture(params=HELD)
def scheme(request, link):
    made = HELD[request.param]
    link.execute(functions(made, "x"))
    link.execute(functions(made, "x"))  # may be repeated
    yield made
    link.execute(drop_functions(made, "x"))
    assert names(link) == set()


def names(link):
    rows = link.execute("SELECT proname FROM pg_proc WHERE proname ~ '^x_'").fetchall()
    return {name for (name,) in rows}


def column(scheme, n):
    return uuid.UUID(int=n) if scheme.bits == 128 else n


def test_each_function_is_the_schemes(scheme, link):
    parts = sorted(names(link) - {"x_id", "x_from", "x_window", "x_text", "x_time"})
    asked = [f"{part}(i)" for part in parts]
    asked += ["x_text(i)", "x_id(x_text(i)) = i", EPOCH_US if "x_time" in names(link) else "NULL"]
    kind = "uuid" if scheme.bits == 128 else "bigint"
    for n in some_ids(scheme, 25):
        row = link.execute(
            f"SELECT {', '.join(asked)} FROM (SELECT %s::{kind}) AS t(i)", (column(scheme, n),)
        ).fetchone()
        values = scheme.unpack(n)
        read = dict(zip(parts, row, strict=False))
        if "x_tick" in read:
            assert read.pop("x_tick") == values["time"]
        assert read == {part: values[part.removeprefix("x_")] for part in read}
        *_, text, back, us = row
        assert (text, back) == (scheme.format(n), True)
        expected = values.moment_us
        assert us == (None if expected is None or expected > MOST_US else expected)


def test_a_text_is_refused_as_python_refuses_it(scheme, link):
    for n in some_ids(scheme, 0):
        for text in other_texts(scheme, scheme.format(n)):
            expected = read_or_none(scheme, text)
            if expected is None:
                with pytest.raises(psycopg.errors.InvalidTextRepresentation):
                    link.execute("SELECT x_id(%s)", (text,))
            else:
                found = link.execute("SELECT x_id(%s)", (text,)).fetchone()
                assert found == (column(scheme, expected),)


def test_what_is_no_id_has_no_time_and_no_text(scheme, link):
    read = [name for name in names(link) if name not in ("x_id", "x_from", "x_window")]
    asked = ", ".join(f"{name}(i)" for name in read)
    numbers = [-1, min(scheme.id_max + 1, MOST_US), 1 << 62, MOST_US, -(1 << 63)]
    if scheme.bits == 128:
        numbers = [(1 << 128) - 1, 7 << 100]
    kind = "uuid" if scheme.bits == 128 else "bigint"
    for n in [n for n in numbers if read_or_none(scheme, n) is None]:
        row = link.execute(
            f"SELECT {asked} FROM (SELECT %s::{kind}) AS t(i)", (column(scheme, n),)
        ).fetchone()
        assert set(row) == {None}


def test_a_window_is_the_schemes(scheme, link):
    spans = list(windows(scheme, 15))
    if all(ids is None for *_, ids in spans):
        assert names(link).isdisjoint({"x_from", "x_window"})
        return
    for start, stop, ids in spans:
        if ids is None:
            with pytest.raises(psycopg.errors.DatetimeFieldOverflow):
                link.execute("SELECT x_from(%s)", (start,))
            continue
        found = link.execute("SELECT x_from(%s), x_from(%s)", (start, stop)).fetchone()
        assert found == (column(scheme, ids.start), column(scheme, ids.stop))
        if scheme.bits <= 64:
            both = link.execute("SELECT lower(w), upper(w), isempty(w) FROM x_window(%s, %s) AS w",
                                (start, stop)).fetchone()  # fmt: skip
            assert both == ((ids.start, ids.stop, False) if ids else (None, None, True))


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_bigint_cannot_hold_is_refused(name):
    with pytest.raises(ConfigError, match="BIGINT"):
        functions(REFUSED[name], "x")


def test_indexes_are_used(link):
    link.execute("DROP TABLE IF EXISTS orders")
    scheme = HELD["icicle-base62"]
    link.execute(functions(scheme, "x"))
    link.execute("CREATE TABLE orders (id bigint PRIMARY KEY)")
    link.execute("INSERT INTO orders SELECT lower(x_window(now(), now() + '1s')) + 4096 * g "
                 "FROM generate_series(0, 20000) AS g")  # fmt: skip
    link.execute("CREATE INDEX ON orders (x_time(id))")
    link.execute("ANALYZE orders")
    for where, index in (
        ("id >= x_from('2026-01-01Z') AND id < x_from('2026-01-02Z')", "orders_pkey"),
        ("id = x_id('order_1hDvWfhIVbE')", "orders_pkey"),
        ("x_time(id) = '2026-01-01Z'", "orders_x_time_idx"),
    ):
        plan = link.execute(f"EXPLAIN SELECT * FROM orders WHERE {where}").fetchall()
        assert index in str(plan)
    link.execute("DROP TABLE orders")
    link.execute(drop_functions(scheme, "x"))
