"""The wait after a loss ends also where every process lives less long than it."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import frazil
from frazil.claims.claim import LastSeen, VerbRequest, Wait
from frazil.registries import remembered as module
from frazil.registries.base import terms_of
from frazil.registries.remembered import remembered
from tests.tools.waiting import until

HORIZON_S = 2
MINT = "import frazil, sys; print(frazil.mint(1, sys.argv[1], timeout=1))"
OPEN = "import frazil, sys\nwith frazil.open(sys.argv[1], timeout=1) as ids: print(ids())"


def lives(code, url):
    """Seconds until a process of one second got an ID, of many one after the other."""
    began = time.monotonic()

    def an_id():
        done = subprocess.run([sys.executable, "-c", code, url], capture_output=True, check=False)
        told = done.stderr
        assert done.returncode == 0 or b"PoolExhausted" in told or b"RegistryUnavailable" in told
        return done.returncode == 0

    until(an_id, "an ID", patience_s=120)
    return time.monotonic() - began


@pytest.mark.parametrize("code", [MINT, OPEN], ids=["mint", "open"])
def test_sqlite(code, tmp_path):
    """The first use of a file cannot be told from a loss."""
    url = f"sqlite:///{tmp_path}/claims.db?horizon={HORIZON_S}s"
    assert lives(code, url) > HORIZON_S


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
