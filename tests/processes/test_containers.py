"""The default registry is one host's: in real containers, which this test makes, there is none."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.needs import needs
from tests.processes.harness import WORKERS

ROOT = Path(__file__).resolve().parents[2]
APART = ["unshare", "--mount", "--pid", "--uts", "--ipc", "--fork"]
MINT = (
    "import json, frazil, frazil.errors\n"
    "try: print(json.dumps(frazil.mint(100)))\n"
    "except frazil.errors.ConfigError as error: print(json.dumps(str(error)))"
)
FOLDERS = {sys.prefix, sys.base_prefix, str(ROOT)}


@pytest.fixture
def container(place):
    """``container()``: what a process in a container of its own says of its default registry."""
    needs("unshare", "containers")

    def run(*command, name, **env):
        image = place / name
        image.mkdir()
        told = [str(WORKERS / "container.sh"), str(image), *FOLDERS, "--", *command]
        return subprocess.run(
            [*APART, "sh", *told],
            env={**os.environ, "XDG_STATE_HOME": "/var/tmp/state", "FRAZIL_URL": ""} | env,
            capture_output=True,
            check=False,
            text=True,
        )

    if run("true", name="probe").returncode and os.environ.get("CI") != "true":
        pytest.skip("no container can be made here")

    def minted(name, **env):
        done = run(sys.executable, "-c", MINT, name=name, **env)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return minted


def test_the_default_is_refused(container):
    """Each of these would have a file of its own, and give the same IDs as the others."""
    for said in (container("first"), container("second")):
        assert "this is a container" in said
        assert "its pid namespace is not the machine's" in said
        assert "the root file system is of type overlay" in said


def test_an_explicit_single_host_is_accepted(container):
    assert len(set(container("only", FRAZIL_URL="sqlite:"))) == 100
