"""Keys made by PostgreSQL, side by side: ``python -m evidence.benchmarks.pgbench``.

Starts a server (the newest here, as the tests do) and runs its own ``pgbench``: each transaction
inserts one row whose key is the column's default, or computes keys without a table. The subjects
take turns in short rounds, so a noisy machine disturbs all alike. The table shows the median of the
rounds, and of the ratio to ``nextval`` in each round. The inserted keys of ``frazil_id`` are
compared.

The exit code is 1 if an ID repeats.
"""

import argparse
import re
import subprocess
import tempfile
from statistics import median

from evidence.benchmarks.report import setting
from tests.faults.inside import set_up
from tests.servers.postgres import Postgres, postgres, programs

__all__ = ["main"]

_SUBJECTS = {
    "nextval": ("bigint", "nextval('numbers')"),
    "gen_random_uuid": ("uuid", "gen_random_uuid()"),
    "uuidv7": ("uuid", "uuidv7()"),
    "frazil_id": ("bigint", "frazil_id('orders')"),
}
_PER_SELECT = 1000
_TPS = re.compile(r"tps = ([\d.]+)")


def _rate(server: Postgres, statement: str, clients: int, seconds: int) -> float:
    """Transactions a second of one statement."""
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        file.write(statement)
        file.flush()
        command = [
            str(server.bin / "pgbench"), "-n", "-c", str(clients), "-j", "2", "-T", str(seconds),
            "-f", file.name, "-h", "127.0.0.1", "-p", str(server.port), "-U", "postgres",
            "postgres",
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = _TPS.search(done.stdout)
    if found is None:
        raise SystemExit(done.stderr)
    return float(found[1])


def _cases(subject: str) -> dict[str, tuple[str, int, int]]:
    """For each case its statement, its clients, and the keys of one transaction."""
    call = _SUBJECTS[subject][1]
    many = f"SELECT count({call}) FROM generate_series(1, {_PER_SELECT});"
    insert = f"INSERT INTO by_{subject} DEFAULT VALUES;"
    return {
        "INSERT, 1 session": (insert, 1, 1),
        "INSERT, 16 sessions": (insert, 16, 1),
        f"{_PER_SELECT:,} keys in a SELECT, 1 session": (many, 1, _PER_SELECT),
        f"{_PER_SELECT:,} keys in a SELECT, 16 sessions": (many, 16, _PER_SELECT),
    }


def main(arguments: list[str] | None = None) -> int:
    """Measure and print. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m evidence.benchmarks.pgbench")
    parser.add_argument("--seconds", type=int, default=2, help="of each subject in a round")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(arguments)
    rates: dict[tuple[str, str], list[float]] = {}
    with postgres(programs()[-1]) as server:
        set_up(server, "5s")
        server.sql("CREATE SEQUENCE numbers")
        version = server.sql("SHOW server_version")[0][0]
        modern = int(version.split(".")[0]) >= 18
        subjects = [name for name in _SUBJECTS if name != "uuidv7" or modern]
        for name in subjects:
            kind, call = _SUBJECTS[name]
            server.sql(f"CREATE TABLE by_{name} (id {kind} PRIMARY KEY DEFAULT {call})")
        for _ in range(options.rounds):
            for name in subjects:
                for case, (statement, clients, keys) in _cases(name).items():
                    rate = _rate(server, statement, clients, options.seconds) * keys
                    rates.setdefault((case, name), []).append(rate)
        asked = "SELECT count(*) - count(DISTINCT id) FROM by_frazil_id"
        repeats = int(server.sql(asked)[0][0])
    about = setting(
        "python -m evidence.benchmarks.pgbench", 0, options.rounds, f"PostgreSQL {version}"
    )
    print("\n".join(f"{key}: {value}" for key, value in about.items() if key != "Rounds"))
    print(f"\n| Keys a second | {' | '.join(f'`{name}`' for name in subjects)} |")
    print(f"|---|{'--:|' * len(subjects)}")
    for case in _cases("nextval"):
        cells = []
        for name in subjects:
            pairs = zip(rates[case, name], rates[case, "nextval"], strict=True)
            ratio = median(a / b for a, b in pairs)
            cells.append(f"{median(rates[case, name]):,.0f} ({ratio:.2f})")
        print(f"| {case} | {' | '.join(cells)} |")
    print(f"\n{repeats} repeats")
    return 1 if repeats else 0


if __name__ == "__main__":
    raise SystemExit(main())
