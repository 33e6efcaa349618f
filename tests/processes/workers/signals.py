"""A signal handler that asks for IDs while the program it interrupts is making one."""

import signal
import time

import work

import frazil

order = work.order()
ids = work.opened(order)
inner: list[int] = []
depth = 0


def handle(*_: object) -> None:
    """Handlers interrupt each other too; three deep, for a slow one would nest without end."""
    global depth  # noqa: PLW0603
    if depth < 3:
        depth += 1
        inner.extend((ids(), ids(), *ids.take(1)))
        depth -= 1


id_log = work.IdLog(order, "outer")
signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
end = time.monotonic() + order.seconds
while time.monotonic() < end:
    id_log.put([ids() for _ in range(1000)] + ids.take(100))
signal.setitimer(signal.ITIMER_REAL, 0)
work.IdLog(order, "inner").put(inner)
work.tell(compiled=frazil.COMPILED, handled=len(inner) // 3)
