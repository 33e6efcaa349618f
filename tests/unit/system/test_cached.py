"""A value that an object keeps, without a lock that a child of a fork would find held for ever."""

import signal
import threading

from frazil.system.cached import Cached
from tests.tools.forks import child


class Slow:
    """Its value takes as long as the test lets it."""

    begun, goes_on = threading.Event(), threading.Event()

    @Cached
    def value(self):
        self.begun.set()
        return self.goes_on.wait(60)


def test_a_fork_while_a_thread_computes_it():
    one = Slow()
    thread = threading.Thread(target=lambda: one.value)
    thread.start()
    assert Slow.begun.wait(60)

    def works():
        signal.alarm(30)
        Slow.goes_on.set()
        return one.value and Slow().value

    assert child(works) == 0
    Slow.goes_on.set()
    thread.join()
