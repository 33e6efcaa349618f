"""Users of one host and its default registry: a file of each, or one for all of them.

Root's folder for all is made for real, where only the processes of one test see it.
"""

import grp
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.needs import needs

FRAZIL = "from frazil.cli import main; main(prog_name='frazil')"
SHARED = Path("/var/lib/frazil-shared")
NOBODY, DAEMON = 65534, 1
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="becoming other users needs root")


@pytest.fixture
def host(place):
    """``host(uid, "mint", groups=[…])``: what a user's command says, and how it ends.

    The users have homes of their own, and /var/lib is empty at first.
    """
    needs("unshare", "a host of several users")
    locks = place / "locks"
    locks.mkdir()
    locks.chmod(0o1777)
    hold = subprocess.Popen(
        [
            "unshare",
            "--mount",
            "sh",
            "-c",
            "mount -t tmpfs tmpfs /var/lib && echo && exec sleep 1000",
        ],
        stdout=subprocess.PIPE,
    )
    assert hold.stdout
    if not hold.stdout.readline():
        pytest.skip("no mount namespace is allowed here")

    def run(uid, *command, groups=(), code=FRAZIL):
        home = place / f"home-{uid}"
        home.mkdir(exist_ok=True)
        os.chown(home, uid, uid)
        become = ["nsenter", f"--mount=/proc/{hold.pid}/ns/mnt", "setpriv", f"--reuid={uid}"]
        become += [f"--regid={uid}", f"--groups={','.join(map(str, groups))}"]
        become = become if groups else [*become[:-1], "--clear-groups"]
        done = subprocess.run(
            [*become, sys.executable, "-c", code, *command],
            env={**os.environ, "HOME": str(home), "XDG_STATE_HOME": ""}
            | {"FRAZIL_LOCKS": str(locks), "FRAZIL_URL": ""},
            cwd="/",
            capture_output=True,
            check=False,
            text=True,
        )
        return done.returncode, done.stdout + done.stderr

    yield run
    hold.kill()
    hold.communicate()


def distinct(*outputs):
    every = [int(line) for code, said in outputs for line in said.split()]
    return len(set(every)) == len(every) > 0 and not any(code for code, _ in outputs)


def test_a_folder_for_a_group(host):
    """Root makes it; root and two members share its file, whatever their umask."""
    group = grp.getgrgid(DAEMON)
    code, said = host(0, "init", "--shared", group.gr_name)
    assert code == 0, said
    assert f"{SHARED}/claims.db" in said
    for word in ("Stop all programs", "waits once", "--start N"):
        assert word in said
    users = [(0, []), (NOBODY, [DAEMON]), (DAEMON, [DAEMON])]
    assert distinct(*(host(uid, "mint", "-n", "50", groups=groups) for uid, groups in users))
    held = [host(uid, "claims", "--json", groups=groups) for uid, groups in users]
    assert held[0] == held[1] == held[2]
    static = [host(uid, "mint", "-u", "static:7", groups=groups) for uid, groups in users[1:]]
    assert distinct(*static)
    code, said = host(NOBODY, "doctor", "--json", groups=[DAEMON])
    assert code == 0, said
    assert str(SHARED) in said
    assert '"users"' not in said


def test_a_user_outside_the_group_gets_no_file(host, place):
    host(0, "init", "--shared", grp.getgrgid(DAEMON).gr_name)
    for command in (["mint"], ["mint", "-u", "static:7"], ["claims"]):
        code, said = host(NOBODY, *command)
        assert code == 2
        assert f"{SHARED}, and nobody may not write there" in said
        assert "usermod -aG daemon nobody" in said
        assert "FRAZIL_URL" in said
    assert not list((place / f"home-{NOBODY}").iterdir())
    assert host(NOBODY, "mint", "-u", f"sqlite:{place}/home-{NOBODY}/own.db")[0] == 0


def test_a_file_that_was_deleted_is_made_for_the_group_again(host):
    host(0, "init", "--shared", grp.getgrgid(DAEMON).gr_name)
    assert host(DAEMON, "mint", groups=[DAEMON])[0] == 0
    assert host(0, code=f"import os; os.unlink('{SHARED}/claims.db')")[0] == 0
    outputs = [host(uid, "mint", groups=[DAEMON]) for uid in (NOBODY, DAEMON)]
    assert distinct(*outputs), outputs


def test_wrong_calls(host):
    code, said = host(0, "init", "--shared", "no-such-group")
    assert code == 2
    assert "groupadd --system no-such-group" in said
    code, said = host(NOBODY, "init", "--shared", "daemon")
    assert code == 2
    assert "sudo frazil init --shared daemon" in said
    for more in (["redis://localhost"], ["--start", "5"], ["--new"], ["--namespace", "a"]):
        code, said = host(0, "init", *more, "--shared", "daemon")
        assert code == 2
        assert "omit all other options" in said


def test_a_foreign_file_keeps_its_mode_and_group(host, place):
    target = place / "target"
    target.write_text("root's")
    target.chmod(0o600)
    host(0, "init", "--shared", "daemon")
    assert host(0, code=f"import os; os.symlink('{target}', '{SHARED}/trap')")[0] == 0
    code, _ = host(0, "init", "--shared", "daemon")
    assert code == 2
    assert target.stat().st_mode & 0o777 == 0o600
    assert target.stat().st_gid == 0


def test_without_it_the_doctor_tells_of_other_users(host):
    assert host(NOBODY, "mint")[0] == 0
    assert host(DAEMON, "mint")[0] == 0
    code, said = host(NOBODY, "doctor", "--json")
    assert code == 0, said
    (users,) = [each for each in json.loads(said) if each["about"] == "users"]
    assert users["verdict"] == "note"
    assert "this user's own file" in users["found"]
    assert "frazil init --shared GROUP" in users["meaning"]
