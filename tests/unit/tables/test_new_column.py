"""The arguments that the stamps of all engines share."""

import pytest

from frazil.errors import ConfigError
from frazil.tables.new_column import check_kept


def test_rows_are_kept_in_one_way() -> None:
    check_kept(None, once=True)
    check_kept("table", once=False)
    with pytest.raises(ConfigError, match="pass one of them"):
        check_kept("table", once=True)
