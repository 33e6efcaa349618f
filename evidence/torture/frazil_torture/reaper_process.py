"""The reaper process: when the pipe from a run closes, it removes what is left.

    python -m frazil_torture.reaper_process

Its standard input contains ``+7`` and ``-7`` for a process group that began or ended, and ``/``
followed by a directory. The end of the input is the end of the run.
"""

import os
import shutil
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress

from frazil_torture.clock import sweep

__all__ = ["main"]


def main(lines: Iterable[bytes]) -> None:
    """Read the input to its end, then clean up."""
    groups: set[int] = set()
    folders: list[bytes] = []
    for line in lines:
        kind, rest = line[:1], line[1:].rstrip(b"\n")
        if kind == b"+":
            groups.add(int(rest))
        elif kind == b"-":
            groups.discard(int(rest))
        else:
            folders.append(rest)
    for group in groups:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
        sweep(group)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.stdin.buffer)
