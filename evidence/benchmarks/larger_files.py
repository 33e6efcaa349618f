"""Files of ten times the memory: ``python -m evidence.benchmarks.larger_files``.

Stamps a CSV file ten times as large as ``--memory``, to Parquet and to CSV, and audits what came
out, also with the IDs in random order and one of them twice. Prints the largest memory of each
command, and ends with 1 if one exceeds the bound. It needs disk space of some 60 times the bound;
the files are in TMPDIR, and are removed.
"""

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from evidence.benchmarks.files import MIB, duck, run, words_file

__all__ = ["main"]

_SPACE = 60  # times the bound
_FRAZIL = [sys.executable, "-m", "frazil"]


class _Measured:
    """Runs commands, and says how much memory each used."""

    def __init__(self, bound_mib: int) -> None:
        self._bound_mib = bound_mib
        self.exceeded = False

    def __call__(self, title: str, path: Path, command: list[str], code: int = 0) -> str:
        """Run a command that reads ``path`` and ends with ``code``; what it printed."""
        found = run([*command, "--memory", f"{self._bound_mib}MiB", "--json"], code)
        used = found.memory_bytes // MIB
        self.exceeded |= used > self._bound_mib
        size, seconds = path.stat().st_size // MIB, round(found.seconds)
        print(f"| {title} | {size} MiB | {used} MiB | {seconds} s |", flush=True)
        return found.said


def _shuffle(source: Path, out: Path) -> None:
    """Write the IDs of a file in another order, the least of them twice."""
    query = (
        f"COPY (SELECT id FROM (SELECT id FROM '{source}' UNION ALL SELECT min(id) FROM '{source}')"
        f" ORDER BY hash(id)) TO '{out}'"
    )
    run(duck(query))


def _measure(folder: Path, words: Path, bound_mib: int, times: int) -> bool:
    copies = -(-times * bound_mib * MIB // words.stat().st_size)
    table = words_file(folder, words, copies)
    parquet, csv, mixed = (folder / name for name in ("id.parquet", "id.csv", "mixed.parquet"))
    measured = _Measured(bound_mib)
    url = ["--url", f"sqlite:///{folder}/ids.db"]

    def stamp(source: Path, out: Path, column: str) -> int:
        title = f"stamp {source.suffix[1:]} to {out.suffix[1:]}"
        command = [*_FRAZIL, "stamp", str(source), "-o", str(out), "--column", column, *url]
        return int(json.loads(measured(title, source, command).splitlines()[-1])["rows"])

    def audit(title: str, path: Path, rows: int, duplicates: int) -> None:
        said = measured(title, path, [*_FRAZIL, "audit", str(path)], int(duplicates > 0))
        found = json.loads(said.splitlines()[-1])
        if (found["rows"], found["duplicates"]["count"]) != (rows, duplicates):
            raise SystemExit(f"expected {rows} rows and {duplicates} duplicates, not {said}")

    rows = stamp(table, parquet, "id")
    audit("audit Parquet", parquet, rows, 0)
    stamp(parquet, mixed, "again")
    mixed.unlink()
    _shuffle(parquet, mixed)
    audit("audit in random order, one twice", mixed, rows + 1, 1)
    for path in (parquet, mixed):
        path.unlink()
    stamp(table, csv, "id")
    audit("audit CSV", csv, rows, 0)
    print(f"{rows:,} rows", flush=True)
    return measured.exceeded


def main(arguments: Sequence[str]) -> int:
    """Measure and print. Returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m evidence.benchmarks.larger_files", description=__doc__
    )
    add = parser.add_argument
    add("--words", type=Path, default=Path("/usr/share/dict/ukrainian"), help="the word list")
    add("--memory", type=int, default=512, metavar="MIB", help="the bound of frazil")
    add("--times", type=int, default=10, help="the size of the file, in bounds")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="frazil-larger-") as temporary:
        needed = _SPACE * options.memory * MIB * options.times // 10
        if shutil.disk_usage(temporary).free < needed:
            raise SystemExit(f"{temporary} needs {needed // MIB} MiB; name a folder with TMPDIR")
        exceeded = _measure(Path(temporary), options.words, options.memory, options.times)
    return int(exceeded)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
