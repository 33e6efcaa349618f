"""A child of the test's process."""

import os
from collections.abc import Callable


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


def found_in_child(look: Callable[[], object]) -> str:
    """What a child of the test's process finds, or its error, as ``repr`` shows it."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.write(writing, repr(look()).encode())
        except OSError as error:
            os.write(writing, repr(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(pid, 0)
    with os.fdopen(reading) as found:
        return found.read()
