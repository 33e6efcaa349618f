"""A disk that is full, in the middle of an output or of temporary files: an error, and no file."""

import gzip
import json
import resource
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from frazil.cli.files.paths import check_extra

ROWS = 40_000


@contextmanager
def limited(size_bytes: int) -> Iterator[None]:
    """A block in which no file grows beyond this size, as on a disk without more room."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a table in three formats."""
    import pyarrow as pa
    import pyarrow.parquet

    folder = tmp_path / "tables"
    folder.mkdir()
    # Numbers that hardly compress.
    numbers = [i * 2654435761 % (1 << 32) for i in range(ROWS)]
    texts = ["number\n", *(f"{number}\n" for number in numbers)]
    (folder / "in.csv").write_text("".join(texts))
    lines = [json.dumps({"number": number}) + "\n" for number in numbers]
    (folder / "in.jsonl").write_text("".join(lines))
    pa.parquet.write_table(pa.table({"number": numbers}), folder / "in.parquet")
    return folder


CASES = [
    ("in.csv", "out.csv"),
    ("in.csv", "out.csv.gz"),
    ("in.csv", "out.csv.zst"),
    ("in.csv", "out.parquet"),
    ("in.csv", "out.jsonl"),
    ("in.jsonl", "out.jsonl"),
    ("in.jsonl", "out.parquet"),
    ("in.parquet", "out.parquet"),
    ("in.parquet", "out.arrow"),
    ("in.parquet", "out.csv"),
]


@pytest.mark.parametrize("exists", [False, True], ids=["new", "replaced"])
@pytest.mark.parametrize(("source", "to"), CASES)
def test_output_is_whole_or_absent(call, folder, temporary, source, to, exists):
    check_extra()
    out = folder / to
    if exists:
        out.write_bytes(b"before")
    before = sorted(folder.iterdir())
    args = ["stamp", str(folder / source), "-o", str(out), "--force", "--url", "memory:full-disk"]
    with limited(64 << 10):
        done = call(*args)
    assert done.exit_code == 2, done.output
    assert f"cannot write {out}: File too large; the output was not created" in done.output
    assert sorted(folder.iterdir()) == before
    assert not exists or out.read_bytes() == b"before"
    assert list(temporary.iterdir()) == []
    assert call(*args).exit_code == 0  # with room it is written
    assert out.stat().st_size > 64 << 10


@pytest.mark.parametrize("command", ["stamp", "audit"])
def test_copy_of_the_input_has_no_room(refused, folder, temporary, command):
    out = folder / "out.parquet"
    stamping = ["--format", "csv", "-o", str(out), "--url", "memory:full-disk"]
    with limited(64 << 10):
        args = stamping if command == "stamp" else []
        said = refused(2, command, "-", *args, stdin=(folder / "in.csv").read_bytes())
    assert f"cannot write temporary files in {temporary}: " in said
    assert "File too large; set TMPDIR to a folder with more space" in said
    assert not out.exists()
    assert list(temporary.iterdir()) == []


def test_compressed_input_that_is_cut_off(call, folder):
    """Also far behind the first block, in formats that DuckDB reads."""
    import pyarrow as pa

    data = (folder / "in.csv").read_bytes() * 15
    for name, packed in (
        ("cut.csv.zst", pa.Codec("zstd").compress(data, asbytes=True)),
        ("cut.csv.gz", gzip.compress(data, 1)),
    ):
        cut = folder / name
        cut.write_bytes(packed[: -len(packed) // 8])
        for to in ("out.csv", "out.parquet"):
            done = call("stamp", str(cut), "-o", str(folder / to), "--url", "memory:full-disk")
            assert done.exit_code == 2
            assert f"cannot read {cut} to its end" in done.output
            assert not (folder / to).exists()
