"""CSV: its header, its delimiter, its rows, and that no value and no row is lost."""

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

from frazil.cli.files import tables
from frazil.cli.files.reading import CsvHead, Reading
from frazil.errors import ConfigError
from tests.unit.cli.files.tabled import MEMORY, put, stamped

ODD = (
    'name,"note, long",n\r\n'
    '"Ada","two\nlines",1\r\n'
    "\r\n"
    'plain,"a ""quote""",2\r\n'
    'in 5" of, unquoted ,3\r\n'
    '"é","","""\r\n"""'  # the last line has no end
)


def rows_of(data: bytes, delimiter: str = ",") -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode(), newline=""), delimiter=delimiter))


@pytest.mark.parametrize("last", [False, True])
def test_csv_keeps_every_value(tmp_path, last):
    path = put(tmp_path, ODD)
    before = [row for row in rows_of(ODD.encode()) if row]
    ids = ["id", "1", "2", "3", "4"]
    wanted = [[*row, n] if last else [n, *row] for row, n in zip(before, ids, strict=True)]
    assert rows_of(stamped(path, "csv", "csv", last=last)) == wanted


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ('a,b\n"x","y,z"\n"","""q"\n', b'id,a,b\n1,x,"y,z"\n2,,"""q"\n'),  # quotes where needed
        ("\ufeffa,b\n1,2\n", b"id,a,b\n1,1,2\n"),  # a byte order mark is no part of the name
        ("a,b", b"id,a,b\n"),
        ('a\n\n1\n""\n\n3\n', b"id,a\n1,1\n2,\n3,3\n"),  # a blank line is no row of one column
    ],
)
def test_csv_is_written(tmp_path, text, written):
    assert stamped(put(tmp_path, text), "csv", "csv") == written


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_csv_line_ends_are_read(tmp_path, end):
    path = put(tmp_path, f"a,b{end}1,2{end}3,4{end}")
    assert stamped(path, "csv", "csv") == b"id,a,b\n1,1,2\n2,3,4\n"
    assert stamped(path, "csv", "csv", last=True) == b"a,b,id\n1,2,1\n3,4,2\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a,b\n1,2\n3,4\r\n5,6\n", "line 3: it has another line end than the first"),
        ('a,b\n1,2\n"x"y,4\n', "line 3: not CSV"),
        # DuckDB drops the last row, whose quote never closes; that they are even hides it.
        ('a"b\r"c\r', "has read 0 rows of 1"),
    ],
)
def test_what_is_not_csv_is_an_error(tmp_path, text, problem):
    with pytest.raises(ConfigError, match=problem):
        stamped(put(tmp_path, text), "csv", "csv")


@pytest.mark.parametrize("to", ["csv", "parquet"])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    "head", ['"Item,",qty', '"Name\nfirst",qty', '"Name\r\nfirst",qty', '"a""b",qty', '"a","b,"']
)
def test_csv_byte_order_mark_before_a_quote(tmp_path, head, packed, to):
    """DuckDB takes that quote for a character, and then loses or adds rows without a word."""
    end = "\r\n" if "\r" in head else "\n"
    text = f"\ufeff{head}{end}nail,1{end}screw,2{end}".encode()
    path = put(tmp_path, gzip.compress(text) if packed else text)
    rows = [row[1:] for row in rows_of_stamped(stamped(path, "csv", to), to)]
    assert rows == [*rows_of(f"{head}{end}".encode()), ["nail", "1"], ["screw", "2"]]


@pytest.mark.parametrize(
    ("data", "charset"),
    [
        ('"Item,",qty\nnail,1\n'.encode("utf-16"), "utf-16"),
        ('\ufeff"Item,",qty\nnail,1\n'.encode(), "utf-8"),
        ('\ufeff\ufeff"Item,",qty\nnail,1\n'.encode(), None),
        ('\n\ufeff"Item,",qty\nnail,1\n'.encode(), None),
    ],
)
def test_csv_byte_order_mark_of_any_form(tmp_path, data, charset):
    wanted = b'id,"Item,",qty\n1,nail,1\n'
    assert stamped(put(tmp_path, data), "csv", "csv", charset=charset) == wanted


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_byte_order_mark_does_not_hide_the_line_of_a_fault(tmp_path, kind):
    text = {"csv": '\ufeff"a\nb",c\n1,2\n3\n', "jsonl": '\ufeff{"a": 1}\n{}\n\n[]\n'}[kind]
    with pytest.raises(ConfigError) as caught:
        stamped(put(tmp_path, text), kind, "csv")
    assert caught.value.line == 4


@pytest.mark.parametrize("lost", [slice(0), slice(1), slice(1, None)])
@pytest.mark.parametrize("to", ["csv", "parquet"])
def test_csv_rows_that_the_reader_loses_are_an_error(tmp_path, monkeypatch, to, lost):
    path = put(tmp_path, "\n\na,b\n1,2\n\n3,4\n")
    assert len(rows_of_stamped(stamped(path, "csv", to), to)) == 3
    monkeypatch.setattr(tables, "_csv_rows", losing(tables._csv_rows, lost))
    with pytest.raises(ConfigError, match=r"DuckDB has read . rows of 2"):
        stamped(path, "csv", to)


def losing(rows: Any, lost: slice) -> Any:
    """The same rows, without those that a fault of the reader loses."""
    end = f"LIMIT {lost.stop or 1} OFFSET {lost.start or 0}" if lost != slice(0) else "LIMIT 0"
    return lambda *args: f"FROM ({rows(*args)} {end})"


def rows_of_stamped(data: bytes, to: str) -> list[list[str]]:
    """The header and the rows."""
    if to == "csv":
        return rows_of(data)
    table = read_parquet(pa.BufferReader(data))
    return [table.column_names, *(list(row.values()) for row in table.to_pylist())]


def head_of(path: Path, skip: int | None = None) -> CsvHead:
    unused: Any = None
    reading = Reading([str(path)], "csv", path.parent, unused, MEMORY, skip=skip)
    return reading.source(str(path)).head


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("a;b;c\n1,5;2;3\n1,6;2;3\n", ";"),
        ("a\tb\n1, 2, 3\t2\n", "\t"),
        ("a|b\n1|2\n", "|"),
        ('"a;b;c",d\n1,2\n', ","),
        ("lone\n1\n2;3\n", ","),
        ("a,b\n" + "1,2\n" * 90, ","),
        ("sep=;\na;b\n1;2\n", ";"),
        ("SEP=|\r\na|b\r\n1|2\r\n", "|"),
    ],
)
def test_csv_delimiter_is_detected(tmp_path, text, delimiter):
    assert head_of(put(tmp_path, text)).delimiter == delimiter


def test_csv_without_a_header(tmp_path):
    path = put(tmp_path, "1,2\n3,4\n")
    assert stamped(path, "csv", "csv", header=False) == b"1,1,2\n2,3,4\n"
    assert stamped(path, "csv", "jsonl", header=False).splitlines()[0] == (
        b'{"id": "1", "1": "1", "2": "2"}'
    )


@pytest.mark.parametrize("rows", [0, 1, 50_000])
@pytest.mark.parametrize("end", ['3,"4\n5,6\n', '"3,4', '3,4"x"\n5,"6'])
def test_csv_quote_that_never_closes_is_an_error(tmp_path, rows, end):
    """DuckDB's reader of one thread drops such a row without a word."""
    path = put(tmp_path, "a,b\n" + "1,2\n" * rows + end)
    line = rows + (3 if end.startswith("3,4") else 2)
    for to in ("csv", "jsonl"):
        with pytest.raises(ConfigError, match=rf"line {line}\b") as caught:
            stamped(path, "csv", to)
        assert caught.value.line == line


@pytest.mark.long
@pytest.mark.parametrize("end", [b"1\n", b"1,2,3\n", b'"x"y,1\n'])
def test_csv_no_row_is_lost_at_the_end_of_a_large_file(tmp_path, end):
    """DuckDB's threads lose it where the fields before it have line ends in quotes."""
    path = tmp_path / "in.csv"
    path.write_bytes(b"a,b\n" + b'"x\ny",2\n' * 3_000_000 + end)
    with pytest.raises(ConfigError, match="line 6000002: "):
        stamped(path, "csv", "parquet")


def test_csv_fields_that_look_like_rows(tmp_path):
    text = "x\n1,2\n3,4\n" * 2000
    path = tmp_path / "in.csv"
    path.write_text("a,b\n" + f'"{text}",2\n' * 1000)
    rows = rows_of(stamped(path, "csv", "csv"))
    assert len(rows) == 1001
    assert {tuple(row[1:]) for row in rows[1:]} == {(text, "2")}


def test_csv_empty_file_is_an_error(tmp_path):
    for text in ("", "\n\n", "\ufeff"):
        with pytest.raises(ConfigError, match="is empty"):
            stamped(put(tmp_path, text), "csv", "csv")


@pytest.mark.parametrize(
    ("text", "line", "fields"),
    [("a,b\n1\n", 2, 1), ("a,b\n1,2\n1,2,3\n", 3, 3), ("a,b\n1,2,\n", 2, 3)],
)
@pytest.mark.parametrize("far", [False, True])
def test_csv_row_of_another_width_is_an_error(tmp_path, text, line, fields, far):
    if far and not text.endswith(",\n"):  # beyond the lines of which the delimiter is guessed
        head, _, rest = text.partition("\n")
        text, line = f"{head}\n" + '"x\ny",2\n' * 100 + rest, line + 200
    with pytest.raises(ConfigError, match=f"{fields} field") as caught:
        stamped(put(tmp_path, text), "csv", "csv")
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (",name\n0,ada\n", ["", "name"]),
        ("a,b,\n1,2,\n", ["a", "b", ""]),
        ("a,,b\n1,2,3\n", ["a", "", "b"]),
        (",\n1,2\n", ["", ""]),
        ("a,a\n1,2\n", ["a", "a"]),
        ("Id,iD\n1,2\n", ["Id", "iD"]),
        ('"a,""b","c\nd"\n1,2\n', ['a,"b', "c\nd"]),
        ("0,1\n1,2\n", ["0", "1"]),
    ],
)
def test_csv_names_of_every_kind(tmp_path, text, names):
    path = put(tmp_path, text)
    values = rows_of(text.encode())[1]
    assert rows_of(stamped(path, "csv", "csv")) == [["id", *names], ["1", *values]]
    for to, read in (("parquet", read_parquet), ("arrow", read_arrow)):
        table = read(pa.BufferReader(stamped(path, "csv", to)))
        assert table.column_names == ["id", *names]
        assert [column[0].as_py() for column in table.columns] == ["1", *values]
    if len(set(names)) < len(names):
        with pytest.raises(ConfigError, match="cannot write two columns"):
            stamped(path, "csv", "jsonl")
    else:
        found = json.loads(stamped(path, "csv", "jsonl"))
        assert found == {"id": "1"} | dict(zip(names, values, strict=True))


def read_parquet(source: Any) -> Any:
    return pq.ParquetFile(source).read()


def read_arrow(source: Any) -> Any:
    return pa.ipc.open_file(source).read_all()


@pytest.mark.parametrize("to", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize(
    ("text", "skip"),
    [
        ("# made by hand\na,b\n1,2\n", 1),
        ("# made, by hand\na,b\n1,2\n", 1),
        ("# made by hand\nname\nada\n", 1),
        ("Title\n\na,b\n1,2\n3,4\n", 1),
        ("Title\na;b\n1;2\n3;4\n5;6\n", 1),
        ("Title\nof 2026\na\tb\n1\t2\n3\t4\n5\t6\n", 2),
    ],
)
def test_csv_lines_before_the_header(tmp_path, to, text, skip):
    path = put(tmp_path, text)
    with pytest.raises(ConfigError, match="--skip") as caught:
        stamped(path, "csv", to)
    first, *_ = text.splitlines()
    assert repr(first) in str(caught.value)
    header = text.splitlines(keepends=True)[skip:]
    plain = put(tmp_path, "".join(header), "plain")
    assert stamped(path, "csv", to, skip=skip) == stamped(plain, "csv", to, skip=0)


@pytest.mark.parametrize(
    ("before", "skip"), [("Title\n", 1), ('T "x",""\n"\n', 2), ("Title\r\n", 1), ("Title\r", 1)]
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_csv_lines_before_the_header_may_end_otherwise(tmp_path, before, skip, end):
    """DuckDB's own option loses rows there without a word."""
    path = put(tmp_path, f'{before}a,b{end}1,"2{end}"{end}3,4{end}')
    assert rows_of(stamped(path, "csv", "csv", skip=skip))[1:] == [
        ["1", "1", f"2{end}"],
        ["2", "3", "4"],
    ]


def test_csv_header_that_begins_like_a_comment(tmp_path):
    path = put(tmp_path, "#chrom,pos\n1,2\n")
    with pytest.raises(ConfigError, match="--skip 1 if it is a comment, --skip 0 if it is"):
        stamped(path, "csv", "csv")
    assert stamped(path, "csv", "csv", skip=0) == b"id,#chrom,pos\n1,1,2\n"


@pytest.mark.parametrize("to", ["csv", "jsonl"])
def test_csv_line_of_excel_before_the_header(tmp_path, to):
    path = put(tmp_path, "sep=;\r\na;b\r\n1,5;2\r\n")
    wanted = {"csv": b"id;a;b\n1;1,5;2\n", "jsonl": b'{"id": "1", "a": "1,5", "b": "2"}\n'}
    assert stamped(path, "csv", to) == wanted[to]
