"""A child of the test's process."""

import os
from collections.abc import Callable

__all__ = ["child"]


def child(work: Callable[[], bool]) -> int:
    """The exit status of a child that does this: 0 if it is true, 2 if not, 1 after an error."""
    pid = os.fork()
    if not pid:
        status = 1
        try:
            status = 0 if work() else 2
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
