"""The notes by which a wait after a loss ends though every process lives less long than it.

See ``tests/processes/test_short_lives.py`` for such processes.
"""

import os
import time
from pathlib import Path

import frazil
from frazil.claims.claim import LastSeen, VerbRequest, Wait
from frazil.registries import remembered as module
from frazil.registries.base import terms_of
from frazil.registries.remembered import remembered

TERMS = terms_of(frazil.scheme(), 1_000_000)


def told(sid, heard_us):
    ask = VerbRequest(LastSeen(), heard_us, "t", boot_us=heard_us)
    return remembered(
        ask, Wait(1, LastSeen(sid, 1, heard_us), guarded=True), heard_us, TERMS
    ).told_us


def test_only_a_wait_after_a_loss_is_noted():
    """Not one for a number that others hold."""
    ask = VerbRequest(LastSeen(), 5_000, "t", boot_us=5_000)
    remembered(ask, Wait(1, LastSeen("another", 1, 5_000)), 5_000, TERMS)
    assert not list(Path(os.environ["FRAZIL_LOCKS"]).glob("frazil-wait-*"))


def test_old_notes_are_removed():
    notes = Path(os.environ["FRAZIL_LOCKS"])
    old, other = notes / "frazil-wait-old", notes / "frazil-wait-of-yesterday"
    for path, days in ((old, 8), (other, 1)):
        path.touch()
        os.utime(path, (time.time() - days * 86_400,) * 2)
    told(os.urandom(8).hex(), 5_000)
    assert not old.exists()
    assert other.exists()


def test_no_note_where_each_process_has_its_own_record():
    frazil.mint(1, "static:7?state=none&horizon=100ms", timeout=10)
    assert not list(Path(os.environ["FRAZIL_LOCKS"]).glob("frazil-wait-*"))


def test_a_note_of_another_user(monkeypatch):
    """Who could shorten the wait."""
    sid = os.urandom(8).hex()
    me = os.geteuid()
    told(sid, 5_000)
    uids = iter([me, me + 1])
    monkeypatch.setattr(module.os, "geteuid", lambda: next(uids))
    assert told(sid, 6_000) == 6_000
