"""Input and output files: compression, clear errors, and no half-written file."""

import errno
import gc
import gzip
import io
import os
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pyarrow as pa
import pytest

from frazil.cli.files.reading import Source
from frazil.cli.files.streams import open_output
from frazil.cli.files.typed_files import Batches, write_typed
from frazil.errors import ConfigError
from tests.unit.cli.files.tabled import put, stamped


def test_a_file_that_may_not_be_read_has_a_next_step(monkeypatch):
    def refuse(self, mode):
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(ConfigError, match="Permission denied; name a file that you may read"):
        Source("q.csv").packing()


def test_gzip_is_recognised_by_its_bytes(tmp_path):
    path = put(tmp_path, gzip.compress(b"a\n1\n"), "misleading.csv")
    assert stamped(path, "csv", "csv") == b"id,a\n1,1\n"


@pytest.mark.parametrize("damage", ["cut", "flip"])
def test_damaged_gzip_is_an_error(tmp_path, damage):
    packed = bytearray(gzip.compress(b"a\n" + bytes(range(48, 58)) * 1000))
    if damage == "cut":
        del packed[-12:]
    else:
        packed[-6] ^= 1
    with pytest.raises(ConfigError, match=r"cannot read .* to its end"):
        stamped(put(tmp_path, bytes(packed)), "csv", "csv")


def test_zstd_is_read_and_written(tmp_path):
    path = tmp_path / "out.csv.zst"
    with open_output(str(path), [], force=False) as file:
        file.write(b"a\n1\n")
        file.write(b"2\n")
    assert path.read_bytes()[:4] == b"\x28\xb5\x2f\xfd"
    assert stamped(path, "csv", "csv") == b"id,a\n1,1\n2,2\n"
    two = put(tmp_path, path.read_bytes() + pa.Codec("zstd").compress(b"3\n", asbytes=True))
    assert stamped(two, "csv", "csv") == b"id,a\n1,1\n2,2\n3,3\n"  # frames one after the other


@pytest.mark.parametrize("cut", [1, 12, 500])
def test_damaged_zstd_is_an_error(tmp_path, cut):
    rows = b"".join(b"%d\n" % (i * 2654435761 % (1 << 32)) for i in range(1000))
    packed = pa.Codec("zstd").compress(b"a\n" + rows, asbytes=True)
    with pytest.raises(ConfigError, match=r"cannot read .* to its end"):
        stamped(put(tmp_path, packed[:-cut]), "csv", "csv")


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_pipe_is_read_once(tmp_path, kind):
    """Its rows are read after its header, and no pipe can be read again."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    text = b"a\n5\n" if kind == "csv" else b'{"a": 5}\n'
    writer = Thread(target=path.write_bytes, args=(text,))
    writer.start()
    assert stamped(path, kind, "csv") == b"id,a\n1,5\n"
    writer.join()


def test_utf16_is_an_error(tmp_path):
    with pytest.raises(ConfigError, match="--charset utf-16"):
        stamped(put(tmp_path, "a,b\n".encode("utf-16")), "csv", "csv")


def test_a_place_that_is_missing_is_an_error(tmp_path):
    none = str(tmp_path / "none" / "x")
    with pytest.raises(
        ConfigError, match=r"No such file or directory; name a file that .*, or - for"
    ):
        Source(none).packing()
    with (
        pytest.raises(ConfigError, match=r"cannot write .*: No such file"),
        open_output(none, [], force=False),
    ):
        pass


def test_output_appears_at_the_end_or_not_at_all(tmp_path):
    path, source = tmp_path / "out", [str(put(tmp_path, ""))]
    with open_output(str(path), source, force=False) as file:
        file.write(b"whole")
        assert not path.exists()
    with pytest.raises(ZeroDivisionError), open_output(str(path), source, force=True) as file:
        file.write(b"%d" % (1 // 0))
    assert path.read_bytes() == b"whole"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["in", "out"]


def test_output_that_appears_meanwhile_is_not_replaced(tmp_path):
    path = tmp_path / "out"
    source = [str(put(tmp_path, ""))]
    with pytest.raises(ConfigError, match="--force"), open_output(str(path), source, force=False):
        path.write_text("yours")
    assert path.read_text() == "yours"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["in", "out"]


def test_output_follows_a_link_and_keeps_the_mode(tmp_path):
    real = put(tmp_path, "old", "real")
    real.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(real)
    source = [str(put(tmp_path, ""))]
    with open_output(str(link), source, force=True) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert real.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("name", ["in", "hard", "soft"])
def test_output_is_never_the_input(tmp_path, name):
    path = put(tmp_path, "a")
    (tmp_path / "hard").hardlink_to(path)
    (tmp_path / "soft").symlink_to(path)
    source = [str(path)]
    with (
        pytest.raises(ConfigError, match="is also the input"),
        open_output(str(tmp_path / name), source, force=True),
    ):
        pass
    assert path.read_text() == "a"


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_what_failed_gets_no_end(kind):
    """A writer that is deleted after an error must not complete what is on standard output."""
    schema = pa.schema([("id", pa.int64())])
    batch = pa.record_batch([[1, 2]], schema)
    whole, failed = io.BytesIO(), io.BytesIO()
    write_typed(kind, whole, Batches(schema, lambda: iter([batch])), "id")
    end = whole.getvalue()[-4:]

    def failing() -> Iterator[pa.RecordBatch]:
        yield batch
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_typed(kind, failed, Batches(schema, failing), "id")
    gc.collect()
    assert end in (b"PAR1", b"ROW1")
    assert not failed.getvalue()[4:].endswith(end)


def test_zstd_that_failed_is_dropped(tmp_path, capfd):
    def fail() -> None:
        with open_output(str(tmp_path / "out.csv.zst"), [], force=False) as file:
            file.write(b"a" * 100_000)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    gc.collect()
    assert capfd.readouterr().err == ""
    assert list(tmp_path.iterdir()) == []
