"""An iterator that works ahead in a thread.

Reading, computing and writing one after the other uses one processor and waits for the disk. Each
is a stage here, with a short queue between them. numpy, pyarrow and files release the interpreter's
lock, so the stages run at the same time. A stage that is no longer read stops at its next item.
"""

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

__all__ = ["ahead"]

_T = TypeVar("_T")
_WAITING = 2  # items between two stages
_POLL_S = 0.05
_JOIN_S = 2.0


def ahead(items: Iterable[_T]) -> Iterator[_T]:
    """The items, made by another thread, a few before they are needed."""
    ready: queue.Queue[tuple[str, Any]] = queue.Queue(_WAITING)
    stop = threading.Event()

    def put(kind: str, item: Any) -> bool:
        while not stop.is_set():
            try:
                ready.put((kind, item), timeout=_POLL_S)
            except queue.Full:
                continue
            return True
        return False

    def work() -> None:
        try:
            for item in items:
                if not put("item", item):
                    return
            put("end", None)
        except BaseException as error:  # noqa: BLE001 (the reading thread raises it)
            put("error", error)

    # A daemon: it may wait for standard input for ever.
    thread = threading.Thread(target=work, name="frazil-files", daemon=True)
    thread.start()
    try:
        while True:
            kind, item = ready.get()
            if kind == "end":
                return
            if kind == "error":
                raise item
            yield item
    finally:
        stop.set()
        thread.join(_JOIN_S)
