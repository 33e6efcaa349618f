"""What every test gets without asking: its markers, Hypothesis settings, a state directory.

``pytest`` without a path runs the tests that are not long, on all processors.
docs/evidence/tests.md lists those, and explains how to run the others.
"""

import gc
import os
import signal
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import pytest
import pytest_rerunfailures
from hypothesis import settings

from frazil.generator import store_thread
from frazil.registries import memory, shared_links
from frazil.system import uninterrupted
from tests import needs
from tests.markers import LONG, is_in, longest_first, marks

QUICK = "not long and not nightly"

# Where a setting of the machine keeps Python from keeping bytecode, each worker would compile the
# tests, and each of the hundreds of processes that they start would compile frazil.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# The plugin would repeat the test of a worker that crashed, whatever the reason. For that it asks
# the first process about each test, over a socket on which an answer takes 40 ms.
pytest_rerunfailures.HAS_PYTEST_HANDLECRASHITEM = False


def pytest_configure(config: pytest.Config) -> None:
    """Without a path and without ``-m``, leave out what is long or for the night."""
    if config.args_source is config.ArgsSource.TESTPATHS and not config.option.markexpr:
        config.option.markexpr = QUICK
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        # There the collector may end a socket before the driver's object that would close it.
        config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file and no folder that is long, where only the others run."""
    return True if config.option.markexpr == QUICK and is_in(collection_path, LONG) else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Nothing that is collected can be freed, so no collector of garbage looks at it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Three for each processor, since tests wait most of their time; for single files none."""
    if all(argument.partition("::")[0].endswith(".py") for argument in config.args):
        return 0
    return 3 * len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 4


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark it by where it stands, and as long if it asks for an etcd; not what is for the night."""
    if item.get_closest_marker("nightly"):
        return
    for name in marks(item.path):
        item.add_marker(name)
    if "cluster" in getattr(item, "fixturenames", ()):
        item.add_marker("long")


def _skipped_for_a_package(report: Any, call: pytest.CallInfo[object]) -> Any:
    reason = needs.lacks(call.excinfo.value) if call.excinfo else None
    if reason:
        report.outcome = "skipped"
        report.longrepr = (needs.__file__, 1, reason)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Iterator[pytest.CollectReport]:
    """A file that cannot be imported here for want of a package is skipped."""
    report = yield
    return _skipped_for_a_package(report, report.call)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[object]) -> Iterator[pytest.TestReport]:
    """So is a test that ended for want of one."""
    return _skipped_for_a_package((yield), call)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is left after the selection, in the order of ``longest_first``."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    items[:] = [items[n] for n in longest_first([item.nodeid for item in items], workers)]


# No deadline: a busy machine is not a bug. In CI the examples are the same in each run, so that a
# failure there can be repeated anywhere with CI=true. At night they are many and new ones.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True, database=None)
settings.register_profile(
    "nightly", deadline=None, max_examples=1000, print_blob=True, database=None
)
at_night = os.environ.get("FRAZIL_TEST_NIGHTLY") == "1"
in_ci = os.environ.get("CI") == "true"
settings.load_profile("nightly" if at_night else "ci" if in_ci else "default")

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
    for module in (uninterrupted, store_thread):
        module.start_new_thread = _measured(module.start_new_thread)  # type: ignore[attr-defined]


@pytest.fixture(scope="session")
def locks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("locks")


@pytest.fixture(autouse=True)
def own_state_directory(locks: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's state directory, for this one test; child processes inherit it.

    So are the locks by which owners of one static number on this host notice each other, what
    `memory:` has of a namespace, and the connections of registries. That there is one host is said,
    in case the tests run in a container.
    """
    monkeypatch.setattr(shared_links, "_kept", WeakValueDictionary())
    monkeypatch.setattr(memory, "_records", {})
    monkeypatch.setattr(memory, "_had", set())
    own = Path(tempfile.mkdtemp(dir=locks))
    state = own / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    monkeypatch.setenv("FRAZIL_URL", "sqlite:")
    monkeypatch.setenv("FRAZIL_LOCKS", str(own))
    return state
