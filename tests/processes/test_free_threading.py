"""Threads on one generator or several, with forks and handlers; also without Python's GIL."""

import json
import sys

import pytest

import frazil
from tests.canary import canary
from tests.needs import needs
from tests.processes.harness import INTERPRETED, WIDE, count, errors, initialise, seen
from tests.tools import altered_walk
from tests.tools.python import run_python

free_threaded = pytest.mark.skipif(
    "free-threading" not in sys.version, reason="this Python has the global interpreter lock"
)

PUBLIC = """
import importlib, pkgutil, sys, warnings
import frazil
warnings.simplefilter("error", RuntimeWarning)
for name in frazil.__all__:
    getattr(frazil, name)
assert not sys._is_gil_enabled(), "a name of frazil"
for found in pkgutil.walk_packages(frazil.__path__, "frazil."):
    if "__main__" in found.name:
        continue
    try:
        importlib.import_module(found.name)
    except RuntimeWarning as warning:  # of a module of another package, which needs the lock
        assert "module 'frazil." not in str(warning), warning
    except (ImportError, frazil.FrazilError, SystemExit) as error:
        pass  # of a package that is not installed
    except Exception as error:
        assert type(error).__module__.startswith("django"), (found.name, error)  # no settings
"""


@free_threaded
def test_no_module_turns_the_lock_on():
    run_python(PUBLIC, PYTHON_GIL="0", PYTHONWARNINGS="error::RuntimeWarning")
    run_python(f"{PUBLIC.partition('for found')[0]}frazil.open('memory:')()")


@pytest.mark.parametrize("generators", [1, 8])
def test_threads_forks_and_handlers_at_once(crew, place, quick, generators):
    n, forks = (200_000, 30) if frazil.COMPILED else (20_000, 30)
    said = json.loads(crew.run("storm", **order(quick, generators, n=n, forks=forks)))
    assert said["compiled"] == frazil.COMPILED
    assert said["locked"] == ("free-threading" not in sys.version)
    assert said["children"] > 0
    assert said["hung"] == 0
    assert errors(place) == []
    made, repeats = count(place)
    assert made >= 8 * n
    assert repeats == 0


def order(quick, generators, **more):
    url = f"sqlite:{quick}/claims.db"
    initialise(url, WIDE)
    more = {"n": 100_000, "forks": 0, "patience_s": 60} | more
    return {"url": url, "scheme": WIDE, "threads": 8, "generators": generators} | more


@canary
@pytest.mark.parametrize(
    ("broken", "generators", "n", "env"),
    [
        pytest.param("blind", 1, 200_000, {}, id="blind"),
        pytest.param("shared", 8, 20_000, {}, id="shared"),
        pytest.param("unguarded", 1, 20_000, INTERPRETED, id="unguarded"),
    ],
)
def test_a_storm_sees_a_repeat(crew, place, broken, generators, n, env):
    def attempt(out):
        how = order(out, generators, n=n, forks=30, patience_s=5, broken=broken)
        crew.run("storm", env=env, out=str(out), **how)

    assert seen(attempt, place)


@free_threaded
@canary
@pytest.mark.skipif(not frazil.COMPILED, reason="the interpreted walk has no such lock")
@pytest.mark.parametrize("alter", [altered_walk.without_locks, altered_walk.half_locked])
def test_a_walk_without_its_lock_is_noticed(crew, quick, place, alter):
    needs("Cython", "a walk that is compiled otherwise")
    site = altered_walk.build(quick, alter)

    def attempt(out):
        env = {"PYTHONPATH": str(site)}
        process = crew.start("storm", env=env, out=str(out), **order(out, 1))
        crashed = process.wait(300) != 0  # on an assertion of the walk, or in memory
        broken.append(crashed or bool(errors(out)))

    broken = []
    assert seen(attempt, place) or any(broken)


@free_threaded
@canary
def test_a_cell_that_two_threads_draw_is_noticed(crew, quick, place):
    def attempt(out):
        env = INTERPRETED
        crew.run("storm", env=env, broken="iterators", out=str(out), **order(out, 1, n=20_000))

    assert seen(attempt, place)


@free_threaded
@canary
@pytest.mark.skipif(not frazil.COMPILED, reason="the interpreted walk has no such lock")
def test_a_lock_that_a_child_inherits_is_noticed(crew, quick, place):
    more = {"broken": "inherited_lock", "n": 2_000_000, "forks": 200, "patience_s": 5}
    assert json.loads(crew.run("storm", **order(quick, 1, **more)))["hung"] > 0
