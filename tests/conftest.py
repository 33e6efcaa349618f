"""What every test gets without asking: Hypothesis settings and a state directory of its own."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

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


@pytest.fixture(autouse=True)
def own_state_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's state directory, for this one test; child processes inherit it."""
    state = tmp_path / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    return state
