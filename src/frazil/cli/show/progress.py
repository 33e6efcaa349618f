"""A progress bar on standard error, if that is a terminal: the time left, and rows per second.

For files it shows the bytes read, because the number of rows is unknown until the end.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

__all__ = ["Update", "progress"]


class Update(Protocol):
    """Sets how much of the total is done, and how many rows that was."""

    def __call__(self, done: float, rows: int = 0, /) -> None:
        """See the class."""


@contextmanager
def progress(label: str, total: float = 1) -> Iterator[Update]:
    """A bar while the block runs, as a function that sets how much of ``total`` is done."""
    if not _is_terminal():
        yield lambda _done, _rows=0: None
        return
    from rich.console import Console
    from rich.progress import Progress, TextColumn, TimeElapsedColumn

    speed = TextColumn("{task.fields[speed]}")
    columns = (*Progress.get_default_columns(), TimeElapsedColumn(), speed)
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total, speed="")
        began_s = time.monotonic()

        def update(done: float, rows: int = 0, /) -> None:
            passed_s = time.monotonic() - began_s
            speed = f"{rows / passed_s:,.0f} rows/s" if rows and passed_s else ""
            bar.update(task, completed=done, speed=speed)

        yield update


def _is_terminal() -> bool:
    return sys.stderr.isatty()
