"""Where frazil_id puts the parts of an ID, and which schemes it cannot make."""

import pytest

import frazil
from frazil.errors import ConfigError
from frazil.sql.ids import cut_of, drop_ids, ids_sql


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
