"""A new file waits, because it looks like a lost one; see decision 24."""

import shutil

import frazil
from frazil.claims.claim import Wait
from frazil.generator.verb_requests import ask_of
from frazil.registries import connect
from tests.tools.verbs import grant


def test_a_folder_that_a_step_has_just_made_may_be_a_lost_one(tmp_path, monkeypatch):
    """The member goes on inside its claim, and the newcomer must come after all of it."""
    folder = tmp_path / "above" / "frazil"
    monkeypatch.setenv("XDG_STATE_HOME", str(folder.parent))
    url, icicle = "sqlite:?horizon=300ms", frazil.scheme("icicle")
    with frazil.open(url, icicle) as ids:
        issued = set(ids.take(1000))
        until = ids._walk.until  # before the loss: a slow member renews from the new file
        shutil.rmtree(folder.parent)
        newcomer = connect(url, "default", icicle)
        first = grant(newcomer, 300)  # has just made both folders
        assert folder.exists()
        issued.update(ids.take(1000))  # of the claim that was lost
        seen = first.seen
        while isinstance(first, Wait):
            first = newcomer.grant(ask_of(seen), 300)
        assert first.start >= until
    assert len(issued) == 2000
