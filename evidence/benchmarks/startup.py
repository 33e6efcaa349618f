"""The time until a program has its first ID: ``python -m evidence.benchmarks.startup [PYTHON]...``.

PYTHON is the interpreter of an environment with frazil; the default is this one. An environment of
``pip install .`` is what users have: an editable install reads one more file at each start.

Each round starts every program of every environment once, so that a noisy machine disturbs all
alike. The time is that of the processor, in the program and in the system: a start waits for
nothing but the processor. The table has the least and the median time, the median of the rounds'
ratios to ``python -c pass`` and ``import uuid`` of the same round, and the milliseconds beyond the
first. Needs a POSIX system.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

__all__ = ["main"]

_PROGRAMS = {
    "python -c pass": ("python", "-c", "pass"),
    "import uuid; uuid.uuid4()": ("python", "-c", "import uuid; uuid.uuid4()"),
    "import click": ("python", "-c", "import click"),
    "import frazil": ("python", "-c", "import frazil"),
    "import frazil; frazil.mint(1)": ("python", "-c", "import frazil; frazil.mint(1)"),
    "import frazil; frazil.open()()": ("python", "-c", "import frazil; frazil.open()()"),
    "frazil mint": ("frazil", "mint"),
    "frazil --version": ("frazil", "--version"),
}
_BARE, _UUID = list(_PROGRAMS)[:2]


def spent_ms(command: Sequence[str], environment: dict[str, str]) -> float:
    """The time of the processor that a program takes until its end."""
    child = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, list(command))
    return (usage.ru_utime + usage.ru_stime) * 1000


def show(python: str, rounds: list[dict[str, float]]) -> None:
    """Print the table of an environment."""
    print(f"{python}, {len(rounds)} rounds\n")
    print("| program | least | median | beyond pass | over pass | over uuid |")
    print("|---|" + "--:|" * 5)
    for name in _PROGRAMS:
        beyond_ms = median(each[name] - each[_BARE] for each in rounds)
        over = [median(each[name] / each[base] for each in rounds) for base in (_BARE, _UUID)]
        times = [each[name] for each in rounds]
        cells = [f"{ms:.1f} ms" for ms in (min(times), median(times), beyond_ms)]
        cells += [f"{ratio:.2f}" for ratio in over]
        print(f"| `{name}` | {' | '.join(cells)} |")
    print()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m evidence.benchmarks.startup", description=__doc__
    )
    parser.add_argument("pythons", nargs="*", metavar="PYTHON", default=[sys.executable])
    parser.add_argument("--rounds", type=int, default=31, help="default 31")
    given = parser.parse_args(arguments)
    found: dict[str, list[dict[str, float]]] = {python: [] for python in given.pythons}
    with tempfile.TemporaryDirectory(prefix="frazil-startup-") as folder:
        environment = os.environ | {"FRAZIL_URL": f"sqlite:{folder}/claims.db"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # else each start compiles
        for turn in range(given.rounds + 1):
            for python, rounds in found.items():
                place = Path(python).parent
                spent = {
                    name: spent_ms([str(place / program), *rest], environment)
                    for name, (program, *rest) in _PROGRAMS.items()
                }
                if turn:  # the first makes the file of claims and the bytecode
                    rounds.append(spent)
    for python, rounds in found.items():
        show(python, rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
