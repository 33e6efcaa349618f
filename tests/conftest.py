"""What every test gets without asking: Hypothesis settings and a state directory of its own."""

import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from frazil.generator import keeper_thread
from frazil.system import uninterrupted

__all__ = ["own_state_directory"]

# No deadline: a busy machine is not a bug. In CI the examples are many and the same in each run,
# so that a failure there can be repeated anywhere with CI=true.
settings.register_profile("default", deadline=None)
settings.register_profile(
    "ci", deadline=None, max_examples=300, derandomize=True, print_blob=True, database=None
)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "default")

# What a script starts in the background ignores Ctrl-C, and so would all that the tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# The default registry of every user here, which the tests would use too.
if Path("/var/lib/frazil-shared").exists():
    pytest.exit("/var/lib/frazil-shared is there; run the tests where it is not", returncode=1)


def _measured(start: Callable[..., int]) -> Callable[..., int]:
    """``start_new_thread``, so that what measures the tests sees these threads, too."""

    def started(function: Callable[..., object], arguments: tuple[object, ...]) -> int:
        def run() -> None:
            sys.settrace(threading.gettrace())
            function(*arguments)

        return start(run, ())

    return started


if threading.gettrace() is not None:
    for module in (uninterrupted, keeper_thread):
        module.start_new_thread = _measured(module.start_new_thread)  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def own_state_directory(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The user's state directory, for this one test; child processes inherit it.

    So are the locks by which owners of one static number on this host notice each other. That there
    is one host is said, in case the tests run in a container.
    """
    state = tmp_path / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    monkeypatch.setenv("FRAZIL_URL", "sqlite:")
    monkeypatch.setenv("FRAZIL_LOCKS", str(tmp_path_factory.mktemp("locks")))
    return state
