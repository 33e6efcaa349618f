"""Files of attempts: only those that the engine answers with are seen, whenever others are."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from frazil.errors import ConfigError
from frazil.tables.parts import make_parts


def test_a_late_attempt_changes_nothing(tmp_path: Path) -> None:
    parts = make_parts(tmp_path / "table")
    table = pa.table({"id": [1, 2]})

    def run() -> list[str]:
        parts.write(pa.table({"id": [8, 9]}))  # of an attempt that was declared dead
        return [parts.write(table)]

    parts.keep(run)
    assert parquet.read_table(parts.path).equals(table)
    with pytest.raises(FileNotFoundError):
        parts.write(pa.table({"id": [3]}))
    assert parquet.read_table(parts.path).equals(table)
    assert len(list(Path(parts.path).iterdir())) == 1


def test_what_is_there_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "some").write_text("rows")
    for path in (tmp_path, tmp_path / "some"):
        with pytest.raises(ConfigError, match="exists already"):
            make_parts(path)
