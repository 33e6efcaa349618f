"""The service as the manifests in deploy/ run it.

An ordinary user without capabilities, a read-only root, no writable /tmp.
"""

import json
import os
import shlex
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import httpx
import pytest
import yaml

from frazil.service.tokens import hash_of
from tests.needs import needs
from tests.servers.redis import Server

__all__: list[str] = []

MANIFESTS = Path(__file__).resolve().parents[2] / "deploy" / "kubernetes"
START = "from frazil.cli import main; main(prog_name='frazil')"
# Only the state directory is writable. The interpreter of root may lie where nobody else can read,
# so the user stays and the capabilities go.
CONTAINER = """
mount --make-rprivate / && mount --bind "$STATE" "$STATE" && mount -o remount,bind,ro / || exit 99
for place in /tmp /var/tmp /dev/shm "$PWD"; do
    mount -o remount,bind,ro "$place" 2>/dev/null
    (: > "$place/x") 2>/dev/null && exit 98
done
exec setpriv --bounding-set=-all --inh-caps=-all --no-new-privs "$@"
"""
CONFIG = """
[namespaces.default]
{registry}
[[tokens]]
name = "first"
hash = "{hash}"
namespaces = ["*"]
scopes = ["issue"]
{quota}
"""

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a read-only root needs root")


def arguments(name: str, config: Path) -> list[str]:
    """The command line of a manifest, with another configuration and any free port."""
    for one in yaml.safe_load_all((MANIFESTS / name).read_text(encoding="utf-8")):
        if one["metadata"]["name"] == "frazil" and "template" in one["spec"]:
            (container,) = one["spec"]["template"]["spec"]["containers"]
            args = [str(config) if "/etc/" in arg else arg for arg in container["args"]]
            return [*args, "--port", "0"]
    raise AssertionError(f"{name} has no pod of frazil")


@pytest.mark.parametrize("quota", ["", "ids_per_minute = 1000"])
@pytest.mark.parametrize("name", ["deployment.yaml", "statefulset.yaml"])
def test_a_read_only_root(tmp_path, name, quota):
    needs("unshare", "a read-only root")
    needs("setpriv", "a process without capabilities")
    state, config = tmp_path / "state", tmp_path / "frazil.toml"
    state.mkdir()
    with Server() as redis:
        registry = f'registry = "{redis.url}"' if name == "deployment.yaml" else ""
        config.write_text(CONFIG.format(registry=registry, hash=hash_of("t"), quota=quota))
        command = ["unshare", "--mount", "--uts", "sh", "-c", f"hostname frazil-3; {CONTAINER}"]
        command += ["sh", sys.executable, "-c", START, *arguments(name, config)]
        env = {**os.environ, "STATE": str(state), "XDG_STATE_HOME": str(state)}
        env.pop("FRAZIL_LOCKS", None)  # of the tests, in a directory that is read-only here
        with subprocess.Popen(
            command, env=env, cwd="/", stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stderr is not None
            said = []
            for line in process.stderr:
                said.append(line)
                if '"listening"' in line:
                    break
            last = said[-1] if said else ""
            assert '"listening"' in last, (process.wait(30), shlex.join(command), said)
            url = json.loads(last)["url"].replace("0.0.0.0", "127.0.0.1")
            with closing(httpx.Client(base_url=url, headers={"Authorization": "Bearer t"})) as http:
                ids = {http.get("/v1/default/id", timeout=30).json()["id"] for _ in range(5)}
            assert len(ids) == 5
            process.send_signal(signal.SIGTERM)
            rest = process.stderr.read()
            assert process.wait(60) == -signal.SIGTERM, rest
            assert "Traceback" not in rest
