"""The rows of CSV that numpy finds are those of Python's reader, wherever a block ends."""

import csv
import io
from typing import Any, Self, cast

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from frazil.cli.files.copies import Place, cut_csv
from frazil.cli.files.rows import split_csv
from frazil.cli.files.streams import Source
from frazil.errors import ConfigError

__all__: list[str] = []

PIECES = ["a", "ü", " ", ",", ";", '"', '""', "\n", "\r\n", "\r", ',"', '",', '"\n', '\n"', "x,y"]
texts = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


class Blocks:
    """A source of blocks of a given size."""

    name = path = "in.csv"

    def __init__(self, data: bytes, size: int) -> None:
        self._data, self._size = data, size

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def blocks(self) -> Any:
        for i in range(0, len(self._data), self._size):
            yield self._data[i : i + self._size]

    def error_at(self, number: int, problem: str, unit: str = "line") -> ConfigError:
        return ConfigError(f"{unit} {number}: {problem}")


def plain(text: str) -> list[tuple[int, list[str]]]:
    """The rows of Python's reader with the lines on which they begin, blank ones left out."""
    reader = csv.reader(io.StringIO(text, newline=""))
    found, line = [], 1
    for row in reader:
        if row:
            found.append((line, row))
        line = reader.line_num + 1
    return found


@given(texts, st.integers(1, 40))
def test_rows_are_those_of_pythons_reader(text, size):
    source = cast("Source", Blocks(text.encode(), size))
    found = []
    try:
        for rows in split_csv(source, source.blocks(), ","):
            for i in range(len(rows.ends)):
                one = io.StringIO(rows.row(i).decode(), newline="")
                (row,) = csv.reader(one)
                if row:
                    found.append((int(rows.lines[i]), row))
    except ConfigError as error:
        assert "never closed" in str(error)  # noqa: PT017 (other texts raise nothing)
        return
    assert found == plain(text)


@given(texts, st.integers(1, 40), st.booleans(), st.booleans())
def test_a_copy_has_every_row_and_its_id(text, size, last, header):
    def opened(_path: str) -> Source:
        return cast("Source", Blocks(text.encode(), size))

    out, count = io.BytesIO(), 0
    try:
        for cut in cut_csv(["in.csv"], opened, Place("k", last), header=header, delimiter=","):
            ids = [str(count + i) for i in range(len(cut.at))]
            count += len(ids)
            for part in cut.joined(pa.array(ids, pa.string())):
                out.write(part)
    except ConfigError as error:
        reasons = ("never closed", "is empty", "already has")
        assert any(reason in str(error) for reason in reasons)  # noqa: PT017
        return
    rows = [row for _, row in plain(text)]
    ids = ["k"] * header + [str(i) for i in range(count)]
    expected = [[*row, n] if last else [n, *row] for row, n in zip(rows, ids, strict=True)]
    assert [row for _, row in plain(out.getvalue().decode())] == expected


def test_the_line_of_an_open_quote_is_named():
    source = cast("Source", Blocks(b'a,b\n"1\n2",3\n4,"5\n6', 7))
    try:
        list(split_csv(source, source.blocks(), ","))
    except ConfigError as error:
        assert "begins on line 4" in str(error)  # noqa: PT017
    else:
        raise AssertionError("nothing was raised")
