"""A process that has loaded pytest, and tests copies of the package in forked children.

The first test of a file catches most mutants, and starting pytest takes ten times as long as that
test. So this process starts once for each copy of the package. It imports what the tests need, but
nothing of frazil, and forks a child for each request, which imports the copy as it is then.

It reads a line of JSON for each run (tests, copy, patience_s) and writes a line: ``passed``,
``failed``, or ``late`` for a run that it ended.
"""

import importlib
import json
import os
import select
import signal
import sys

import pytest

__all__ = ["main"]

_NEEDED = ("asyncio", "hypothesis.strategies", "numpy", "redis", "sqlite3", "subprocess")


def _run(tests: str, copy: str) -> int:
    """Run pytest in a child. Returns its exit code."""
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.environ.update(PYTHONPATH=copy, FRAZIL_PURE="1", PYTHONDONTWRITEBYTECODE="1")
    sys.dont_write_bytecode = True
    sys.path.insert(0, copy)
    plain = ["--assert=plain", "--reruns=0"]  # nobody reads the failure
    return int(pytest.main(["-qx", "-p", "no:cacheprovider", *plain, *tests.split()]))


def _verdict(tests: str, copy: str, patience_s: float | None) -> str:
    child = os.fork()
    if not child:
        code = 1
        try:
            code = _run(tests, copy)
        finally:
            os._exit(code)
    ending = os.pidfd_open(child)
    late = not select.select([ending], [], [], patience_s)[0]
    os.close(ending)
    if late:
        os.killpg(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    return "late" if late else "failed" if status else "passed"


def main() -> None:
    """See the module."""
    for name in _NEEDED:
        importlib.import_module(name)
    for line in sys.stdin:
        print(_verdict(**json.loads(line)), flush=True)


if __name__ == "__main__":
    main()
