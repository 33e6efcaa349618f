"""The functions that ``frazil sql mysql`` prints, beside the Python scheme, on a real MariaDB."""

import pymysql
import pytest

from frazil.errors import ConfigError
from frazil.sql.mysql import drop_functions, functions
from tests.property.sql_cases import other_texts, read_or_none, schemes, some_ids, windows
from tests.servers.mariadb import mariadb

pytestmark = pytest.mark.long

ALL = schemes()
HELD = {  # each of MariaDB's functions is slow: one scheme for each text form
    name: scheme
    for name, scheme in ALL.items()
    if scheme.bits <= 64 and not name.startswith("js53-")
}
REFUSED = {name: scheme for name, scheme in ALL.items() if scheme.bits > 64}


@pytest.fixture(scope="module")
def cursor():
    with (
        mariadb() as server,
        pymysql.connect(
            host="127.0.0.1", port=server.port, user="root", database="app", charset="utf8mb4"
        ) as link,
        link.cursor() as cursor,
    ):
        cursor.execute("SET time_zone = '+02:00'")
        yield cursor


def apply(cursor, text):
    lines = [line for line in text.splitlines() if not line.startswith("--")]
    for statement in "\n".join(lines).split(";\n"):
        if statement.strip():
            cursor.execute(statement)


def names(cursor):
    cursor.execute("SELECT routine_name FROM information_schema.routines")
    return {name for (name,) in cursor.fetchall() if name.startswith("x_")}


@pytest.fixture(params=HELD)
def scheme(request, cursor):
    made = HELD[request.param]
    apply(cursor, functions(made, "x"))
    apply(cursor, functions(made, "x"))  # may be repeated
    yield made
    apply(cursor, drop_functions(made, "x"))
    assert names(cursor) == set()


def one(cursor, asked, *given):
    cursor.execute(f"SELECT {asked}", given)
    return cursor.fetchone()


def test_each_function_is_the_schemes(scheme, cursor):
    parts = sorted(names(cursor) - {"x_id", "x_from"})
    asked = ", ".join([*(f"{part}(i)" for part in parts), f"x_id(x_text(i)) {SOME}"])
    for n in some_ids(scheme, 10):
        *row, back = one(cursor, asked, n)
        read = {part.removeprefix("x_"): value for part, value in zip(parts, row, strict=True)}
        assert (read.pop("text"), back) == (scheme.format(n), n)
        values = scheme.unpack(n)
        if "time" in read:
            time, moment = read.pop("time"), values.moment
            assert time == (None if moment is None else moment.replace(tzinfo=None))
            assert read.pop("tick") == values["time"]
        assert read == {part: values[part] for part in read}


SOME = "FROM (SELECT CAST(%s AS UNSIGNED) AS i) AS t"


def test_a_text_is_read_as_python_reads_it(scheme, cursor):
    for n in some_ids(scheme, 0):
        text = scheme.format(n)
        for other in [*other_texts(scheme, text), text + "\0", text + "\0x"]:
            assert one(cursor, "x_id(%s)", other) == (read_or_none(scheme, other),), other


def test_what_is_no_id_has_no_time_and_no_text(scheme, cursor):
    read = names(cursor) - {"x_id", "x_from"}
    asked = ", ".join(f"{name}(i)" for name in read)
    for n in (min(scheme.id_max + 1, (1 << 64) - 1), 1 << 62, 1 << 63, (1 << 64) - 1):
        if read_or_none(scheme, n) is None:
            assert set(one(cursor, f"{asked} {SOME}", n)) == {None}


def test_a_bound_is_the_schemes(scheme, cursor):
    for start, _, ids in windows(scheme, 10 if "x_from" in names(cursor) else 0):
        expected = None if ids is None else ids.start
        assert one(cursor, "x_from(%s)", start.replace(tzinfo=None)) == (expected,)


def test_an_index_is_used(cursor):
    apply(cursor, functions(HELD["icicle"], "x"))
    cursor.execute("CREATE TABLE orders (id BIGINT PRIMARY KEY)")
    cursor.execute("INSERT INTO orders SELECT x_from('2026-01-01') + seq FROM seq_1_to_5000")
    where = "id >= x_from('2026-01-02') AND id < x_from('2026-01-03')"
    cursor.execute(f"EXPLAIN SELECT * FROM orders WHERE {where}")
    assert "PRIMARY" in str(cursor.fetchall())
    apply(cursor, drop_functions(HELD["icicle"], "x"))


@pytest.mark.parametrize("name", REFUSED)
def test_what_mysql_cannot_read_is_refused(name):
    with pytest.raises(ConfigError, match="bits"):
        functions(REFUSED[name], "x")
