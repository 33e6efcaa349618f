"""Ctrl-C or SIGTERM during a conversion: their exit codes, no output, and no temporary file."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

# A shell may start its children with this signal ignored.
START = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "from frazil.cli import main; main()"
)
ROWS = 300_000
# Two IDs in a millisecond: minutes for all rows.
SLOW = "time:41 node:5 sequence:1 @1ms since 2025-01-01"


def write(folder: Path, name: str) -> Path:
    """A table of ROWS rows."""
    path = folder / name
    if name == "in.csv":
        path.write_text("number\n" + "7\n" * ROWS)
    elif name == "in.jsonl":
        path.write_text('{"number": 7}\n' * ROWS)
    else:
        import pyarrow as pa
        import pyarrow.parquet

        pa.parquet.write_table(pa.table({"number": range(ROWS)}), path)
    return path


@pytest.mark.parametrize(
    ("source", "to", "sent", "code"),
    [
        ("in.csv", "out.csv", signal.SIGTERM, 143),
        *(
            pytest.param(source, to, signal.SIGINT, 130, marks=pytest.mark.long)
            for source, to in (
                ("in.csv", "out.parquet"),
                ("in.jsonl", "out.jsonl.zst"),
                ("in.jsonl", "out.csv"),
                ("in.parquet", "out.parquet"),
            )
        ),
    ],
)
def test_a_signal_leaves_nothing(tmp_path, source, to, sent, code):
    tables, temporary = tmp_path / "tables", tmp_path / "temporary"
    for folder in (tables, temporary):
        folder.mkdir()
    path = write(tables, source)
    args = ["stamp", str(path), "-o", str(tables / to), "--url", "memory:", "--scheme", SLOW]
    child = subprocess.Popen(
        [sys.executable, "-c", START, *args],
        stderr=subprocess.PIPE,
        env=os.environ | {"TMPDIR": str(temporary)},
    )
    with child as process:
        while not list(tables.glob(".frazil-*.part")):
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        time.sleep(0.3)  # into the rows, on a machine that is not busy
        process.send_signal(sent)
        _, told = process.communicate(timeout=60)
    assert process.returncode == code, told
    assert told.decode() == f"Stopped: {tables / to} was not created\n"
    assert list(tables.iterdir()) == [path]
    assert list(temporary.iterdir()) == []
