"""One column of CSV: whichever way its fields are found, they are those of Python's reader."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from frazil.cli.files.memory import Memory
from frazil.cli.files.reading import Reading
from frazil.cli.files.streams import Source
from frazil.cli.files.values import open_values

__all__: list[str] = []

TABLES = {
    "equal widths": "id,a,b\n10,x,y\n11,x,y\n",
    "a shorter one": "id,a,b\n10,x,y\n1,x,y\n",
    "a longer one": "id,a,b\n10,x,y\n110,x,y\n",
    "quotes behind": 'id,a,b\n10,"x,1","y"\n11,x,"y\n2"\n',
    "quotes in front": 'id,a,b\n10,x,y\n"1",x,y\n',
    "a quote within": 'id,a,b\n10,x,y\n1",x,y\n',
    "an empty one": "id,a,b\n10,x,y\n,xx,y\n",
    "blank lines": "id,a,b\n10,x,y\n\n11,x,y\n",
    "an open end": "id,a,b\r\n10,x,y\r\n11,x,y",
    "more and fewer fields": "id,a,b\n10,x\n11,x,y,z\n",
}


@pytest.mark.parametrize("column", ["id", "a", "b"])
@pytest.mark.parametrize("text", TABLES.values(), ids=list(TABLES))
def test_fields(text: str, column: str, tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text(text, newline="")
    names, *rows = filter(None, csv.reader(io.StringIO(text, newline="")))
    at = names.index(column)
    reading = Reading([str(path)], "csv", True, None, None, Memory(1 << 29), tmp_path)
    with Source(str(path)) as source:
        _, parts, _ = open_values(reading, source, column)
        found = [each for part in parts for each in _listed(part.values)]
    texts = [each.decode() if isinstance(each, bytes) else each for each in found]
    assert texts == [row[at] if at < len(row) else None for row in rows]


def _listed(values: Any) -> list[Any]:
    return values if isinstance(values, list) else list(values.to_pylist())
