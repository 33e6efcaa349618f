"""Tables of text: which rows and columns they have, and that every value is kept."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

from frazil.cli.files.csv_head import CsvHead, read_head
from frazil.cli.files.formats import files_of, format_of
from frazil.cli.files.streams import Source
from frazil.errors import ConfigError
from tests.unit.cli.files.tabled import put, stamped

__all__: list[str] = []


# --- formats


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("a.csv", "csv"),
        ("a.TSV.gz", "csv"),
        ("a.jsonl", "jsonl"),
        ("a.ndjson.gz", "jsonl"),
        ("a.parquet", "parquet"),
        ("a.txt", "text"),
        ("a.csv.zst", "csv"),
        ("a.arrow", "arrow"),
    ],
)
def test_format_by_the_name(path, kind):
    assert format_of(path, None) == kind
    assert format_of(path, "csv") == "csv"


def test_unknown_name_needs_a_format():
    with pytest.raises(ConfigError, match="--format"):
        format_of("-", None)
    assert format_of("ids", None, "text") == "text"
    with pytest.raises(ConfigError, match=r"\.log.*\.csv.*--format"):
        format_of("access.log", None, "text")


# --- CSV

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


def test_csv_quotes_only_what_needs_them(tmp_path):
    path = put(tmp_path, 'a,b\n"x","y,z"\n"","""q"\n')
    assert stamped(path, "csv", "csv") == b'id,a,b\n1,x,"y,z"\n2,,"""q"\n'


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_csv_line_ends_are_read(tmp_path, end):
    path = put(tmp_path, f"a,b{end}1,2{end}3,4{end}")
    assert stamped(path, "csv", "csv") == b"id,a,b\n1,1,2\n2,3,4\n"
    assert stamped(path, "csv", "csv", last=True) == b"a,b,id\n1,2,1\n3,4,2\n"


def test_csv_line_ends_that_differ_are_an_error(tmp_path):
    with pytest.raises(ConfigError, match="line 3: it has another line end than the first"):
        stamped(put(tmp_path, "a,b\n1,2\n3,4\r\n5,6\n"), "csv", "csv")


def test_csv_byte_order_mark_is_no_part_of_the_name(tmp_path):
    path = put(tmp_path, "\ufeffa,b\n1,2\n")
    assert stamped(path, "csv", "csv") == b"id,a,b\n1,1,2\n"


def head_of(path: Path, skip: int | None = None) -> CsvHead:
    with Source(str(path)) as source:
        return read_head(source, header=True, delimiter=None, skip=skip)


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


def test_csv_delimiter_can_be_given(tmp_path):
    path = put(tmp_path, "a:b;c\n1:2;3\n")
    assert stamped(path, "csv", "csv", delimiter=":") == b"id:a:b;c\n1:1:2;3\n"
    assert stamped(path, "csv", "jsonl", delimiter=":") == (
        b'{"id": "1", "a": "1", "b;c": "2;3"}\n'
    )


def test_csv_without_a_header(tmp_path):
    path = put(tmp_path, "1,2\n3,4\n")
    assert stamped(path, "csv", "csv", header=False) == b"1,1,2\n2,3,4\n"
    assert stamped(path, "csv", "jsonl", header=False).splitlines()[0] == (
        b'{"id": "1", "1": "1", "2": "2"}'
    )


def test_csv_with_only_a_header(tmp_path):
    assert stamped(put(tmp_path, "a,b"), "csv", "csv") == b"id,a,b\n"


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


def test_csv_text_behind_a_quote_is_an_error(tmp_path):
    with pytest.raises(ConfigError, match="line 3: not CSV"):
        stamped(put(tmp_path, 'a,b\n1,2\n"x"y,4\n'), "csv", "csv")


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


def test_csv_header_that_begins_like_a_comment(tmp_path):
    path = put(tmp_path, "#chrom,pos\n1,2\n")
    with pytest.raises(ConfigError, match="--skip 1 if the first is a comment, --skip 0 if it is"):
        stamped(path, "csv", "csv")
    assert stamped(path, "csv", "csv", skip=0) == b"id,#chrom,pos\n1,1,2\n"


@pytest.mark.parametrize("to", ["csv", "jsonl"])
def test_csv_line_of_excel_before_the_header(tmp_path, to):
    path = put(tmp_path, "sep=;\r\na;b\r\n1,5;2\r\n")
    wanted = {"csv": b"id;a;b\n1;1,5;2\n", "jsonl": b'{"id": "1", "a": "1,5", "b": "2"}\n'}
    assert stamped(path, "csv", to) == wanted[to]


def test_csv_of_one_column_has_no_row_for_a_blank_line(tmp_path):
    path = put(tmp_path, 'a\n\n1\n""\n\n3\n')
    assert stamped(path, "csv", "csv") == b"id,a\n1,1\n2,\n3,3\n"


# --- JSON Lines


def test_json_text_is_copied(tmp_path):
    text = '{"b": 1.50, "a": [1,  2]}\r\n\n  {}\n{"u": "\\u00e9", "n": 12345678901234567890123}'
    path = put(tmp_path, text)
    assert stamped(path, "jsonl", "jsonl").decode() == (
        '{"id": "1", "b": 1.50, "a": [1,  2]}\n{"id": "2"}\n'
        '{"id": "3", "u": "\\u00e9", "n": 12345678901234567890123}\n'
    )
    assert stamped(path, "jsonl", "jsonl", last=True).decode() == (
        '{"b": 1.50, "a": [1,  2], "id": "1"}\n{"id": "2"}\n'
        '{"u": "\\u00e9", "n": 12345678901234567890123, "id": "3"}\n'
    )


@pytest.mark.parametrize("line", ["[1]", "{", "1", '{"a": 1} {"b": 2}', "nul"])
def test_json_line_that_is_not_an_object_is_an_error(tmp_path, line):
    with pytest.raises(ConfigError, match="line 2: not a JSON object"):
        stamped(put(tmp_path, '{"a": 1}\n' + line), "jsonl", "jsonl")


def test_json_key_that_exists_is_found_in_any_row(tmp_path):
    path = put(tmp_path, '{"a": 1}\n{"a": 1, "\\u0069d": 5}\n')
    with pytest.raises(ConfigError, match=r"already has a column 'id'.*--column"):
        stamped(path, "jsonl", "jsonl")


# --- conversions


def test_csv_to_json(tmp_path):
    out = stamped(put(tmp_path, 'a,b\n"x\ny",é\n,2\n'), "csv", "jsonl").decode()
    assert out == '{"id": "1", "a": "x\\ny", "b": "é"}\n{"id": "2", "a": "", "b": "2"}\n'


def test_json_to_csv(tmp_path):
    text = '{"a": "x,y", "b": null}\n{"b": true, "a": 1.5}\n{"a": {"k": [1, "é"]}}\n'
    out = stamped(put(tmp_path, text), "jsonl", "csv").decode()
    assert list(csv.reader(io.StringIO(out))) == [
        ["id", "a", "b"],
        ["1", '"x,y"', ""],
        ["2", "1.5", "true"],
        ["3", '{"k":[1,"é"]}', ""],
    ]


def test_json_to_csv_has_the_keys_of_all_rows(tmp_path):
    out = stamped(put(tmp_path, '{"a": 1}\n{"a": 1, "b": 2}\n'), "jsonl", "csv")
    assert out == b"id,a,b\n1,1,\n2,1,2\n"


def test_json_texts_that_look_like_dates_stay_as_they_are(tmp_path):
    text = '{"a": "2025-01-02T03:04:05Z", "b": "007"}\n'
    out = stamped(put(tmp_path, text), "jsonl", "csv")
    assert out == b"id,a,b\n1,2025-01-02T03:04:05Z,007\n"


@pytest.mark.parametrize("to", ["csv", "jsonl"])
def test_empty_json(tmp_path, to):
    assert stamped(put(tmp_path, ""), "jsonl", to) == {"csv": b"id\n", "jsonl": b""}[to]


# --- several files


def test_several_csv_files_have_one_header(tmp_path):
    paths = [put(tmp_path, "a,b\n1,2", "one"), put(tmp_path, "a,b\n3,4\n", "two")]
    assert stamped(paths, "csv", "csv") == b"id,a,b\n1,1,2\n2,3,4\n"
    put(tmp_path, "b,a\n3,4\n", "two")
    with pytest.raises(ConfigError, match="two has another header or delimiter"):
        stamped(paths, "csv", "csv")


def test_folders_and_globs_name_files(tmp_path):
    for name in ("year=2025/b.csv", "year=2026/a.csv", "year=2026/notes.md"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("a\n1\n")
    both = [str(tmp_path / "year=2025/b.csv"), str(tmp_path / "year=2026/a.csv")]
    assert files_of([str(tmp_path)]) == both
    assert files_of([f"{tmp_path}/*/*.csv"]) == both
    with pytest.raises(ConfigError, match="names no file"):
        files_of([f"{tmp_path}/*.parquet"])


def test_hive_partitions_become_columns(tmp_path):
    paths = []
    for year in (2025, 2026):
        (tmp_path / f"year={year}").mkdir()
        paths.append(put(tmp_path / f"year={year}", "a\n1\n", "in.csv"))
    assert stamped(paths, "csv", "csv") == b"id,a,year\n1,1,2025\n2,1,2026\n"


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_a_folder_replaces_no_column(tmp_path, kind):
    """DuckDB writes the key of the folder over the values of the file."""
    (tmp_path / "year=2025").mkdir()
    path = tmp_path / "year=2025" / "in"
    if kind == "parquet":
        pq.write_table(pa.table({"Year": [1999]}), path)
    else:
        path.write_text({"csv": "Year\n1999\n", "jsonl": '{"Year": 1999}\n'}[kind])
    with pytest.raises(ConfigError, match="has a column 'year', and the folder"):
        stamped(path, kind, "csv")


def test_hive_partitions_of_another_character_set(tmp_path):
    """They are copied before they are read, and keep their folders."""
    (tmp_path / "year=2025").mkdir()
    path = put(tmp_path / "year=2025", "a\né\n".encode("latin-1"), "in.csv")
    assert stamped(path, "csv", "csv", charset="latin-1") == "id,a,year\n1,é,2025\n".encode()


def test_types_are_inferred_on_request(tmp_path):
    from pyarrow import BufferReader
    from pyarrow.parquet import read_table

    path = put(tmp_path, "a,b\n007,2.5\n")
    (row,) = read_table(BufferReader(stamped(path, "csv", "parquet"))).to_pylist()
    assert (row["a"], row["b"]) == ("007", "2.5")
    (row,) = read_table(BufferReader(stamped(path, "csv", "parquet", infer=True))).to_pylist()
    assert row["b"] == 2.5


@pytest.mark.parametrize("to", ["csv", "jsonl"])
def test_other_character_sets_are_read_as_utf8(tmp_path, to):
    out = stamped(put(tmp_path, "a\né\n".encode("latin-1")), "csv", to, charset="latin-1")
    assert "é" in out.decode()


def test_a_column_of_the_same_name_in_upper_case_keeps_its_values(tmp_path):
    """SQL would read the new column in its place."""
    csv, json = put(tmp_path, "ID,a\n7,x\n"), put(tmp_path, '{"ID": 7}\n', "json")
    assert stamped(csv, "csv", "jsonl") == b'{"id": "1", "ID": "7", "a": "x"}\n'
    assert stamped(json, "jsonl", "csv") == b"id,ID\n1,7\n"


def test_two_keys_that_sql_takes_for_one_are_an_error(tmp_path):
    path = put(tmp_path, '{"Id": 7, "iD": 8}\n')
    with pytest.raises(ConfigError, match="two columns named 'iD', in upper or lower case"):
        stamped(path, "jsonl", "csv")
    with pytest.raises(ConfigError, match="has an empty key"):
        stamped(put(tmp_path, '{"": 7}\n'), "jsonl", "csv")
    assert b"7" in stamped(path, "jsonl", "jsonl")


def test_json_keys_stay_in_the_order_of_the_rows(tmp_path):
    keys = [f"k{i * 7 % 40}" for i in range(40)]
    text = "".join(f'{{"{key}": 1}}\n' for key in keys * 100)
    head = stamped(put(tmp_path, text), "jsonl", "csv").splitlines()[0].decode()
    assert head.split(",") == ["id", *keys]


def test_the_value_of_a_folder_gets_its_quotes(tmp_path):
    (tmp_path / "who=a,b").mkdir()
    path = put(tmp_path / "who=a,b", "a\n1\n", "in.csv")
    assert stamped(path, "csv", "csv") == b'id,a,who\n1,1,"a,b"\n'
