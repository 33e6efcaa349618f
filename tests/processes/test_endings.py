"""The end of a generator and of its process: first no more IDs, then the claim is given back."""

import json

import pytest

from tests.canary import canary
from tests.processes.harness import ONE_SLOT, count, held, initialise
from tests.tools.python import run_python


@pytest.fixture
def url(place):
    return initialise(f"sqlite:{place}/claims.db", ONE_SLOT)


@pytest.mark.parametrize(("how", "still_held"), [("exited", 0), ("killed", 1)])
def test_exit_releases_although_a_daemon_thread_issues(crew, place, url, how, still_held):
    crew.run("exiting", url=url, scheme=ONE_SLOT, how=how)
    assert len(held(url, ONE_SLOT)) == still_held
    crew.run("stream", url=url, scheme=ONE_SLOT, name="next", nap_s=0, n=100_000)
    issued, repeats = count(place)
    assert issued > 100_000
    assert repeats == 0


def test_a_generator_that_outlives_the_modules_says_nothing(url):
    """Its finalizer runs when the interpreter has already emptied the modules that it uses."""
    program = f"import frazil, threading; threading.ids = frazil.open({url!r}, {ONE_SLOT!r})"
    assert run_python(f"{program}; threading.ids()").stderr == ""


def test_close_while_others_issue(crew, place, url):
    said = crew.run("closing", url=url, scheme=ONE_SLOT)
    assert json.loads(said) == {"closed": 4}
    assert count(place)[1] == 0


@canary
def test_a_release_before_the_close_is_seen(crew, place, url):
    for _ in range(5):  # others have to issue between two certain moments
        crew.run("closing", broken="open_release", url=url, scheme=ONE_SLOT)
        if count(place)[1]:
            return
    raise AssertionError("no ID came twice")
