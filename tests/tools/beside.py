"""Work that goes on beside a block of a test."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def beside(work: Callable[[], object], every_s: float = 0) -> Iterator[None]:
    """Do it again and again, in a thread of its own, until the end of the block or an OSError."""
    over = threading.Event()

    def run() -> None:
        while not over.wait(every_s):
            try:
                work()
            except OSError:
                return

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
