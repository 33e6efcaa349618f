"""Signal handlers while an ID is being made: they ask for one, or raise an exception.

Few signals come between two certain lines, so a handler is called at every bytecode, without a
signal (``workers/thrown.py``). The faults ``raise`` and ``handler`` of torture send real ones.
"""

import json

import pytest

import frazil
from tests.canary import canary
from tests.processes.harness import INTERPRETED


@pytest.mark.parametrize(
    ("handler", "kind"),
    [
        *(("raises", kind) for kind in ("plain", "random start", "wide", "run", "counter")),
        *(("asks", kind) for kind in ("plain", "run", "counter")),
    ],
)
def test_a_handler_at_every_bytecode(crew, handler, kind):
    said = json.loads(crew.run("thrown", kind=kind, handler=handler))
    assert said["compiled"] == frazil.COMPILED
    assert said["bytecodes"]["restart_after_fork"] > 10
    assert said["bytecodes"]["take_ready"] > (10 if said["compiled"] else 200)


@canary
def test_this_test_can_see(crew):
    order = {"kind": "plain", "handler": "asks"}
    thrown = crew.start("thrown", env=INTERPRETED, broken="unguarded", **order)
    crew.finish(thrown, code=1)
    assert "AssertionError" in crew.said(thrown, "stderr")
