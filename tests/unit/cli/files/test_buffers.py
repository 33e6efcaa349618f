"""numpy and Arrow share the memory of IDs, and for that they need no pandas."""

import subprocess
import sys
from pathlib import Path

from tests.needs import needs

COMMANDS = """
import sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "pandas":
            print("pandas is imported", file=sys.__stdout__)

sys.meta_path.insert(0, Finder())
from click.testing import CliRunner
from frazil.cli import main

for name in ("csv", "parquet", "jsonl", "arrow"):
    for words in (
        f"stamp a.csv -o b.{name} --url memory:",
        f"stamp b.{name} -o c.{name} --url memory: --column again",
        f"audit c.{name} odd.csv",
        f"audit c.{name} --no-decode",
        f"stamp b.{name} -o d.{name} --url memory: --scheme tsid --namespace t --column again",
        f"audit d.{name} --column again --scheme tsid",
    ):
        print(CliRunner().invoke(main, words.split()).exit_code)
"""


def test_stamp_and_audit_do_not_import_pandas(tmp_path: Path) -> None:
    needs("duckdb", "tables in files")
    (tmp_path / "a.csv").write_text("word\nada\nbob\n")
    (tmp_path / "odd.csv").write_text("id\n7\n5\n")
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["0"] * 24
