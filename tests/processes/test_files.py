"""What can happen to the file of a registry, and who may use it."""

import json
import os
import shutil
import signal
import subprocess

import pytest

from tests.canary import canary
from tests.needs import needs
from tests.processes.harness import ONE_SLOT, WIDE, count, errors, initialise, size
from tests.tools.waiting import until

NOBODY, DAEMON, GROUP = 65534, 1, 54321

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="becoming other users needs root")


def at_work(place, name, words=5000):
    before = size(place, name)
    until(lambda: size(place, name) > before + 8 * words, f"{name} to be at work")


def replaced(crew, place, how, broken=""):
    """Two processes and a pool of one; the file is lost while one sleeps and none is there to ask.

    What the first has issued reaches seconds ahead, and is known to nobody but it.
    """
    path = place / "claims.db"
    url = initialise(f"sqlite:{path}?horizon=10s", ONE_SLOT)
    shutil.copy(path, place / "older.db")
    order = {"url": url, "scheme": ONE_SLOT, "broken": broken, "lead": "10s"}
    first = crew.start("stream", name="first", nap_s=0, **order)
    at_work(place, "first", 1_500_000)
    first.send_signal(signal.SIGSTOP)
    if how == "deleted":
        path.unlink()
    elif how == "replaced":
        for ending in ("-wal", "-shm"):  # or SQLite would bring it up to date with them
            path.with_name(path.name + ending).unlink()
        (place / "older.db").replace(path)
    second = crew.start("stream", name="second", nap_s=0, **order)
    at_work(place, "second", 100_000)
    first.send_signal(signal.SIGCONT)
    if not broken:
        at_work(place, "first")
    crew.stop(first)
    crew.stop(second)


@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_file_lost_while_in_use(crew, place, how):
    replaced(crew, place, how)
    assert errors(place) == []
    assert count(place)[1] == 0


@canary
@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_a_loss_unnoticed_is_seen(crew, place, how):
    replaced(crew, place, how, broken="unguarded_store")
    assert count(place)[1] > 0


@only_root
def test_read_only_home(crew, place):
    home = place / "home"
    home.mkdir(mode=0o555)
    (place / "out").mkdir()
    (place / "out").chmod(0o777)
    order = {"url": None, "scheme": WIDE, "name": "nobody", "n": 1000, "nap_s": 0}
    order |= {"out": str(place / "out"), "uid": NOBODY, "groups": []}
    env = {"HOME": str(home), "XDG_STATE_HOME": ""}
    told = json.loads(crew.run("stream", env=env, **order))
    assert told["error"] == "ConfigError"
    assert str(home / ".local") in told["message"]
    assert "make it writable" in told["message"]
    assert "sqlite:///path/to/claims.db" in told["message"]
    assert "FRAZIL_URL" in told["message"]
    home.chmod(0o777)
    assert crew.run("stream", env=env, **order) == ""
    assert count(place / "out") == (1000, 0)


def share(crew, place, broken="", groups=(GROUP,)):
    """Root and two others at one file, through a common group; answers what they said."""
    shared, out = place / "shared", place / "out"
    for directory, mode in ((shared, 0o2770), (out, 0o777)):
        directory.mkdir()
        os.chown(directory, 0, GROUP)
        directory.chmod(mode)
    path = shared / "claims.db"
    url = initialise(f"sqlite:{path}", ONE_SLOT)
    for each in shared.iterdir():  # a folder for a group makes files for it
        assert each.stat().st_gid == GROUP
        assert each.stat().st_mode & 0o660 == 0o660
    order = {"url": url, "scheme": ONE_SLOT, "nap_s": 0, "n": 100_000, "out": str(out)}
    users = [
        crew.start("stream", name=f"u{uid}", uid=uid, groups=list(groups), broken=broken, **order)
        for uid in (0, NOBODY, DAEMON)
    ]
    return [crew.finish(user) for user in users]


@only_root
def test_three_users_share_a_file(crew, place):
    assert share(crew, place) == ["", "", ""]
    assert count(place / "out") == (300_000, 0)


@canary
@only_root
def test_three_users_without_a_shared_file_are_noticed(crew, place):
    share(crew, place, broken="forgetful")
    assert count(place / "out")[1] > 0


@only_root
def test_a_user_without_permission_gets_an_error(crew, place):
    root, nobody, daemon = share(crew, place, groups=())
    assert root == ""
    for said in (nobody, daemon):
        told = json.loads(said)
        assert told["error"] == "ConfigError"
        assert "writable" in told["message"]
    assert count(place / "out") == (100_000, 0)


def test_full_disk(crew, place):
    needs("unshare", "a disk that is full")
    apart = ["unshare", "--mount"] + ([] if os.geteuid() == 0 else ["--map-root-user"])
    if subprocess.run([*apart, "true"], check=False, capture_output=True).returncode:
        pytest.skip("a disk that is full: no mount namespace is allowed here")
    disk = place / "disk"
    disk.mkdir()
    process = crew.start("full_disk", before=apart, scheme=ONE_SLOT, disk=str(disk))
    told = json.loads(crew.finish(process))
    for error in (told["at_first"], told["later"]):
        assert "RegistryUnavailable" in error
        assert "the disk is full; free some space" in error
    assert told["room"] == ""
    assert told["after"] == ""
    assert count(place)[1] == 0
