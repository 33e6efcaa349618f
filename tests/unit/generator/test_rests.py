"""IDs after a rest."""

import sys
import time

import pytest

import frazil


@pytest.mark.skipif(not frazil.COMPILED, reason="the interpreted walk is Python code")
def test_the_first_id_of_a_later_tick_runs_no_python_code(url):
    """Such code leaves the processor's cache in a rest, and would be most of the call's time."""
    ran: list[list[str]] = []
    with frazil.open(url) as ids:
        ids.ready()
        for _ in range(5):  # on a slow machine a claim may be spent after a rest
            ran.append([])
            time.sleep(0.005)  # ticks of 1 ms
            sys.setprofile(lambda frame, event, _: event == "call" and ran[-1].append(frame.f_code))
            try:
                ids()
            finally:
                sys.setprofile(None)
    assert [] in ran
