"""What the SQL for IDs takes: fields, schemes of frazil_id, names and quotes."""

import pytest

import frazil
from frazil.errors import ConfigError
from frazil.sql.ids import cut_of, drop_ids, ids_sql
from frazil.sql.parts import checked_name, parts_of, quoted


def test_a_field_with_the_name_of_a_function_is_refused():
    with pytest.raises(ConfigError, match="'text'"):
        parts_of(frazil.scheme("time:40 node.text:5 node.b:5 sequence:12 @1ms since 2025-01-01"))


@pytest.mark.parametrize("name", ["icicle", "snowflake", "sonyflake", "js53"])
def test_the_cut_makes_the_schemes_ids(name):
    scheme = frazil.scheme(name)
    cut = cut_of(scheme, 5)
    made = cut.base | 123 << cut.time_shift | 45 << cut.sequence_shift
    assert made == scheme.pack(time=123, node=5, sequence=45, **scheme.layout.fixed)
    assert 1 << cut.sequence_bits == scheme.layout.sequences


@pytest.mark.parametrize(
    ("scheme", "problem"),
    [
        (frazil.scheme("tickets"), "needs a time"),
        (frazil.scheme("chibrary"), "needs a time"),
        (frazil.scheme("time:40 sequence:20 @1ms since 2025-01-01"), "two node numbers"),
        (frazil.scheme("tsid"), "BIGINT"),
        (frazil.scheme("globalid-128"), "BIGINT"),
        (frazil.scheme("time:40~ node:10 sequence:12 @1ms since 2025-01-01"), "reversed"),
        (frazil.scheme("js53", shuffle="seed:v1:1"), "shuffled"),
    ],
)
def test_what_it_cannot_make_is_refused(scheme, problem):
    with pytest.raises(ConfigError, match=problem):
        cut_of(scheme, 0)


def test_a_schema_is_quoted():
    text = ids_sql('a"b', 'c"d')
    assert 'FUNCTION "c""d".frazil_id(namespace text)' in text
    assert "@" not in text.replace("@1ms", "")
    assert 'DROP TABLE IF EXISTS "a""b".frazil_ids' in drop_ids('a"b')


@pytest.mark.parametrize("name", ["order", "_x", "A1", "x" * 40])
def test_names(name):
    assert checked_name(name, "--name") == name


@pytest.mark.parametrize("name", ["", "1a", "a b", "a;b", "ä", "x" * 41, "a\n"])
def test_other_names_are_refused(name):
    with pytest.raises(ConfigError, match="--name"):
        checked_name(name, "--name")


def test_quotes_are_doubled():
    assert quoted('a"b') == '"a""b"'
    assert quoted("a`b", "`") == "`a``b`"
    with pytest.raises(ConfigError, match="not a name"):
        quoted("")
