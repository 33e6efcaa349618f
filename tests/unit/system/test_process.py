"""The two senses of a generator: how much time has passed, and is this still the process?"""

import mmap
import time

import pytest

from frazil.system.process import ProcessIdentity, PureIdentity
from tests.tools.forks import child
from tests.tools.python import run_python


@pytest.fixture(params=[PureIdentity, ProcessIdentity])
def identity(request):
    return request.param()


def test_time_never_goes_back(identity):
    readings = [identity.now_ns() for _ in range(100_000)]
    assert readings == sorted(readings)
    assert len(set(readings)) > 100


def test_time_that_has_passed_is_noticed(identity):
    """However often it was asked just before."""
    for _ in range(20):
        for _ in range(100):
            before = identity.now_ns()
        time.sleep(0.002)
        assert identity.now_ns() >= before + 1_900_000


def test_a_child_is_another_process(identity):
    assert child(lambda: type(identity)().intact() and not identity.intact()) == 0
    assert identity.intact()


RAISES = """
import os, signal
from _thread import interrupt_main
from functools import partial

def handler(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGUSR1, handler)
os.register_at_fork(after_in_child=partial(interrupt_main, signal.SIGUSR1))

from frazil.system.process import PureIdentity, _page

KEEP_ON_FORK = 19  # as on a system whose kernel wipes no page, where the hook is all
_page.madvise(KEEP_ON_FORK)
identity = PureIdentity()
try:
    child = os.fork()
except KeyboardInterrupt:
    child = 0
if not child:
    os._exit(identity.intact())
print(os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(mmap, "MADV_DONTFORK"), reason="madvise is Linux's")
def test_a_child_in_whose_hooks_a_signal_handler_raises():
    """Python drops the exception, and skips what the hook in Python had left to do."""
    assert run_python(RAISES).stdout.split() == ["0"]
