"""Invalid text in files: an error with the line and the position."""

import pytest

LATIN = {
    "csv": b'id,name\n1,a\n2,"b\nM\xfcller"\n',
    "jsonl": b'{"x": 1, "name": "a"}\n\n{"x": 1, "name": "M\xfcller"}\n',
    "txt": b"1375354384404488193\n13753\xfc54384404488193\n",
}
PLACE = {"csv": "line 4: byte 2", "jsonl": "line 3: byte 20", "txt": "line 2"}
KNOWN = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".pq", ".txt")
FORMATS = ["csv", "jsonl", "parquet"]


@pytest.fixture
def put(tmp_path):
    def put(name, data):
        path = tmp_path / name
        path.write_bytes(data)
        return str(path)

    return put


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize("to", FORMATS)
def test_bytes_that_are_not_utf8_are_an_error(call, refused, put, tmp_path, kind, to):
    path, out = put(f"a.{kind}", LATIN[kind]), tmp_path / f"out.{to}"
    said = refused(2, "stamp", path, "--column", "new", "-o", str(out))
    assert f"{path}, {PLACE[kind]} is not UTF-8 (0xFC); name the character set" in said
    assert "codec" not in said
    assert not out.exists()
    done = call("stamp", path, "--column", "new", "-o", str(out), "--charset", "latin-1")
    assert done.exit_code == 0
    if to != "parquet":
        assert "Müller" in out.read_text()


@pytest.mark.parametrize("to", ["jsonl", "parquet"])
@pytest.mark.parametrize("rows", [b"", b"1,2\n"], ids=["no rows", "a row"])
def test_a_column_whose_name_is_not_utf8(call, put, tmp_path, to, rows):
    done = call("stamp", put("a.csv", b"i\xe4d,b\n" + rows), "-o", str(tmp_path / f"out.{to}"))
    assert (done.exit_code, "line 1: byte 2 is not UTF-8 (0xE4)" in done.stderr) == (2, True)


@pytest.mark.parametrize("to", ["csv", "parquet"])
def test_half_of_a_character(call, put, tmp_path, to):
    path = put("a.jsonl", b'{"a": "x"}\n{"a": "\\ud800"}\n')
    done = call("stamp", path, "-o", str(tmp_path / f"out.{to}"))
    first = f"Error: {path}, line 2: \\ud800 is half of a character; correct it"
    assert (done.exit_code, done.stderr.splitlines()[0]) == (2, first)


@pytest.mark.parametrize("kind", LATIN)
def test_an_audit_of_text_that_is_not_utf8(call, refused, put, kind):
    path = put(f"a.{kind}", LATIN[kind])
    column = [] if kind == "txt" else ["--column", "name"]
    said = refused(2, "audit", path, *column, "--no-decode")
    assert f"{path}, {PLACE[kind]}" in said
    assert "is not UTF-8 (0xFC); name the character set, like --charset latin-1" in said
    assert call("audit", path, *column, "--no-decode", "--charset", "latin-1").exit_code == 0


@pytest.mark.parametrize("name", ["out.xlsx", "out.CSV.bak", "out.xlsx.gz"])
def test_unknown_ending_lists_the_known_ones(call, put, tmp_path, name):
    csv, odd = put("a.csv", b"a\n1\n"), tmp_path / name
    written = call("stamp", csv, "-o", str(odd))
    assert not odd.exists()
    odd.write_bytes(b"a\n1\n")
    for done, option in [
        (written, "--to"),
        (call("stamp", str(odd)), "--format"),
        (call("audit", str(odd)), "--format"),
    ]:
        assert done.exit_code == 2
        assert all(ending in done.stderr for ending in KNOWN)
        assert option in done.stderr
    assert call("stamp", csv, "-o", str(odd), "--to", "csv", "--force").exit_code == 0


def test_name_without_an_ending_needs_a_format(call, put, tmp_path):
    done = call("stamp", put("a.csv", b"a\n1\n"), "-o", str(tmp_path / "out"))
    assert done.exit_code == 0
    assert (tmp_path / "out").read_bytes().startswith(b"id,a\n")
