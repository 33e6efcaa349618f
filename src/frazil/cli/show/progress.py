"""A progress bar on standard error, if that is a terminal: the time left, and rows per second.

For files it shows the part that was read, because the number of rows is unknown until the end.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Update = Callable[..., None]
"""Sets how much of the total is done, and how many rows that was, if they are counted."""


@contextmanager
def progress(
    label: str, total: float = 1, seen: Callable[[], float] | None = None, *, shown: bool = True
) -> Iterator[Update]:
    """A bar while the block runs, as a function that sets how much of ``total`` is done.

    seen: how much it is, for a block that cannot say so; the thread of the bar calls it.
    """
    if not (shown and _is_terminal()):
        yield lambda _done, _rows=0: None
        return
    from rich.console import Console
    from rich.progress import Progress, TextColumn, TimeElapsedColumn

    speed = TextColumn("{task.fields[speed]}")
    columns = (*Progress.get_default_columns(), TimeElapsedColumn(), speed)

    class Bar(Progress):
        """Asks for the progress whenever it is drawn."""

        def get_renderables(self) -> Any:
            if seen is not None:
                for each in self.task_ids:
                    self.update(each, completed=seen())
            return super().get_renderables()

    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total, speed="")
        began_s = time.monotonic()

        def update(done: float, rows: int = 0, /) -> None:
            passed_s = time.monotonic() - began_s
            speed = f"{rows / passed_s:,.0f} rows/s" if rows and passed_s else ""
            bar.update(task, completed=done, speed=speed)

        yield update


def _is_terminal() -> bool:
    return sys.stderr.isatty()
