"""A process that has pytest at hand, and tests copies of the package in children of its own.

A mutant is mostly caught by the first test of a file, and to start pytest takes ten times as long
as that. So this is started once for each copy of the package: it imports what tests stand on, but
nothing of frazil, and for each request forks a child that imports the copy as it is by then.

It reads a line of JSON for each run (tests, copy, patience_s) and answers a line: ``passed``,
``failed``, or ``late`` for one that it ended.
"""

import importlib
import json
import os
import select
import signal
import sys

import pytest

__all__ = ["main"]

_STANDS_ON = ("asyncio", "hypothesis.strategies", "numpy", "redis", "sqlite3", "subprocess")


def _run(tests: str, copy: str) -> int:
    """What pytest ends with, in a child."""
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.environ.update(PYTHONPATH=copy, FRAZIL_PURE="1", PYTHONDONTWRITEBYTECODE="1")
    sys.dont_write_bytecode = True
    sys.path.insert(0, copy)
    plain = ["--assert=plain", "--reruns=0"]  # nobody reads why it fails
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
    for name in _STANDS_ON:
        importlib.import_module(name)
    for line in sys.stdin:
        print(_verdict(**json.loads(line)), flush=True)


if __name__ == "__main__":
    main()
