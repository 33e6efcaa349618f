"""A progress bar on standard error, if that is a terminal.

For files it shows the bytes read, because the number of rows is unknown until the end.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress"]


@contextmanager
def progress(label: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar while the block runs, as a function that sets how much of ``total`` is done."""
    if not _is_terminal():
        yield lambda _done: None
        return
    from rich.console import Console
    from rich.progress import Progress, TimeElapsedColumn

    columns = (*Progress.get_default_columns(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda done: bar.update(task, completed=done)


def _is_terminal() -> bool:
    return sys.stderr.isatty()
