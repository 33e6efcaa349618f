"""The default registry is one host's: in real containers, which this test makes, there is none."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from urllib.request import Request, urlopen

import httpx
import numpy as np
import pytest
import yaml

from frazil.service.tokens import hash_of
from tests.needs import needs
from tests.processes.harness import WORKERS
from tests.servers.redis import Server

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


class Group:
    """A control group that bounds the memory of its processes, in either version."""

    def __init__(self, limit: int) -> None:
        first = Path("/sys/fs/cgroup/memory")  # version 1
        self.place = (first if first.is_dir() else first.parent) / f"frazil-{os.getpid()}"
        names = ["limit_in_bytes", "max_usage_in_bytes", "oom_control"]
        self._limit, self._most, self._kills = (
            self.place / f"memory.{name}"
            for name in (names if first.is_dir() else ["max", "peak", "events"])
        )
        try:
            self.place.mkdir()
            self._limit.write_text(str(limit))
        except OSError as error:
            pytest.skip(f"no control group for memory can be made here: {error}")

    def most(self) -> int:
        """The most memory that was in use."""
        return int(self._most.read_text())

    def kills(self) -> int:
        """How many processes were killed for want of memory."""
        (line,) = re.findall(r"(?m)^oom_kill (\d+)$", self._kills.read_text())
        return int(line)


def test_a_bulk_load_fits_into_little_memory(tmp_path):
    """512 MB, two workers, and eight clients that take a million IDs at a time."""
    limit, clients, config = 512 << 20, 8, tmp_path / "frazil.toml"
    text = CONFIG.format(registry='registry = "sqlite:{}"', hash=hash_of("t"), quota="")
    config.write_text(text.replace("{}", f"///{tmp_path}/claims.db"))
    group = Group(limit)
    command = ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(group.place)]
    command += [sys.executable, "-c", START, "serve", "--config", str(config), "--port", "0"]
    env = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    with subprocess.Popen(
        [*command, "--workers", "2"], env=env, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        url = next(json.loads(line)["url"] for line in process.stderr if '"listening"' in line)
        threading.Thread(target=process.stderr.read, daemon=True).start()

        def take(_number: int) -> np.ndarray:
            headers = {"Authorization": "Bearer t", "Accept": "application/octet-stream"}
            request = Request(f"{url}/v1/default/ids?n=1000000", headers=headers, method="POST")
            with urlopen(request, timeout=120) as reply:
                return np.frombuffer(reply.read(), ">u8").astype(np.uint64)

        with ThreadPoolExecutor(clients) as pool:
            ids = np.concatenate(list(pool.map(take, range(clients))))
        process.terminate()
        process.wait(60)
    used = group.most()
    assert group.kills() == 0
    group.place.rmdir()
    assert len(np.unique(ids)) == len(ids) == clients * 1_000_000
    assert used < 0.75 * limit, f"{used >> 20} MB of {limit >> 20}"
