"""A file that another program uses, removes or damages: the errors name the cause."""

import errno
import os
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

import frazil
from frazil.claims.claim import Claim, Wait
from frazil.errors import ConfigError, RegistryUnavailable
from frazil.registries import connect
from tests.tools.verbs import grant


def test_a_folder_that_a_url_names_must_exist(tmp_path):
    """It may be the mount point of a disk that is not mounted."""
    folder = tmp_path / "data"
    url = f"sqlite:{folder}/claims.db"
    with pytest.raises(ConfigError, match=f"{folder} does not exist; mount its disk"):
        frazil.mint(1, url)
    assert not folder.exists()
    folder.mkdir()
    with frazil.open(f"{url}?horizon=300ms") as ids:
        issued = set(ids.take(10))
        shutil.rmtree(folder)
        time.sleep(1)  # until the claim has ended
        with pytest.raises(ConfigError, match="does not exist"):
            ids()
        folder.mkdir()
        issued.update(ids.take(10))
    assert len(issued) == 20


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_an_exclusive_lock_of_another_program_passes(tmp_path, mode):
    path = tmp_path / "claims.db"
    registry = connect(f"sqlite:{path}?busy=200ms", "default", frazil.scheme("icicle"))
    grant(registry, 1)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA locking_mode=EXCLUSIVE")
        db.execute(f"PRAGMA journal_mode={mode}")
        db.execute("BEGIN EXCLUSIVE")
        db.execute("CREATE TABLE other (x)")
        with pytest.raises(RegistryUnavailable, match="try again"):
            grant(registry, 1)
    grant(registry, 1)


def test_a_shared_file_that_another_user_has_just_created(tmp_path, monkeypatch):
    """Only its owner may change its permissions."""
    tmp_path.chmod(0o2770)
    change = os.fchmod

    def fchmod(fd, mode):
        if Path(f"/proc/self/fd/{fd}").readlink().name == "claims.db":
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
        change(fd, mode)

    monkeypatch.setattr(os, "fchmod", fchmod)
    registry = connect(f"sqlite:{tmp_path}/claims.db", "x", frazil.scheme("icicle"))
    assert isinstance(grant(registry, 1), Claim | Wait)
