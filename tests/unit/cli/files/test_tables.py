"""Tables of text: which rows and columns they have, and that every value is kept."""

import gzip

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

from frazil.cli.files.paths import files_of, format_of
from frazil.errors import ConfigError
from tests.unit.cli.files.tabled import put, stamped

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


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', '{"b": [{"a": 1, "\\u0061": 2}]}'])
def test_json_key_that_stands_twice(tmp_path, text):
    """A copy keeps the text; a column has room for one of the values."""
    path = put(tmp_path, f'{{"c": 1}}\n{text}\n')
    assert stamped(path, "jsonl", "jsonl").splitlines()[1].decode() == '{"id": "2", ' + text[1:]
    for to in ("csv", "parquet"):
        with pytest.raises(ConfigError, match=r"line 2: .*the key 'a' stands twice") as caught:
            stamped(path, "jsonl", to)
        assert caught.value.line == 2


# --- conversions


# --- several files


def test_several_csv_files_have_one_header(tmp_path):
    paths = [put(tmp_path, "a,b\n1,2", "one"), put(tmp_path, "a,b\n3,4\n", "two")]
    assert stamped(paths, "csv", "csv") == b"id,a,b\n1,1,2\n2,3,4\n"
    put(tmp_path, "b,a\n3,4\n", "two")
    with pytest.raises(ConfigError, match="two has another header or delimiter"):
        stamped(paths, "csv", "csv")


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_compressed_and_plain_files_together(tmp_path, kind):
    """DuckDB goes by the names of files, which may be wrong."""
    text = {"csv": "a\n%d\n", "jsonl": '{"a": %d}\n'}[kind]
    paths = [put(tmp_path, text % 1, "1"), put(tmp_path, gzip.compress((text % 2).encode()), "2")]
    assert stamped(paths, kind, "csv") == b"id,a\n1,1\n2,2\n"


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


@pytest.mark.parametrize(
    ("folders", "text", "written"),
    [
        (["year=2025", "year=2026"], "a\n1\n", "id,a,year\n1,1,2025\n2,1,2026\n"),
        (["year=2025"], "a\né\n", "id,a,year\n1,é,2025\n"),  # copied, in its folder
        (["0=x"], "a,b\n1,2\n", "id,a,b,0\n1,1,2,x\n"),
        (["who=a,b"], "a\n1\n", 'id,a,who\n1,1,"a,b"\n'),
    ],
)
def test_hive_partitions_become_columns(tmp_path, folders, text, written):
    paths = []
    for folder in folders:
        (tmp_path / folder).mkdir()
        paths.append(put(tmp_path / folder, text.encode("latin-1"), "in.csv"))
    charset = None if text.isascii() else "latin-1"
    assert stamped(paths, "csv", "csv", charset=charset) == written.encode()


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


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_names_that_look_like_patterns(tmp_path, kind):
    """DuckDB takes every name for a pattern, in which a bracket or a star means others."""
    folder = tmp_path / "year=[2026]"
    folder.mkdir()
    path = folder / "a[1]*?"
    for other in (folder / "a11x", folder / "a1*?"):
        other.write_text("no table")
    if kind == "parquet":
        pq.write_table(pa.table({"a": ["1"]}), path)
    else:
        path.write_text({"csv": "a\n1\n", "jsonl": '{"a": "1"}\n'}[kind])
    assert stamped(path, kind, "csv") == b"id,a,year\n1,1,[2026]\n"


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
