"""The arguments that the stamps of all engines share."""

import pytest

from frazil.errors import ConfigError
from frazil.tables.new_column import check_kept, check_new


def test_rows_are_kept_in_one_way() -> None:
    check_kept(None, once=True)
    check_kept("table", once=False)
    with pytest.raises(ConfigError, match="pass one of them"):
        check_kept("table", once=True)


def test_a_column_that_is_there_keeps_its_keys() -> None:
    check_new("id", ["k", "v"])
    with pytest.raises(ConfigError, match="has a column 'id' already") as caught:
        check_new("id", ["k", "id"])
    assert caught.value.value == "id"
