"""Names that begin functions, and quoted names."""

import pytest

from frazil.errors import ConfigError
from frazil.sql.parts import checked_name, quoted


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
