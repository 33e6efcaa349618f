"""The default registry is refused in containers, and not on machines that resemble one."""

import os

import pytest

import frazil
import frazil.aio
from frazil.errors import ConfigError
from frazil.service import read_settings

FIRST = {"pid": 4026531836, "uts": 4026531838, "ipc": 4026531839, "cgroup": 4026531835}
ELSEWHERE = "12:memory:/user.slice\n0::/init.scope\n"
COMMANDS = [["mint"], ["claims"], ["doctor"], ["init"], ["serve", "--workers", "2"]]


@pytest.fixture
def machine(tmp_path):
    """``machine(...)``: the root of a machine with these signs; without any it is an ordinary one.

    namespaces: those that are not the first of their kind.
    """

    def make(files=(), root="ext4", namespaces=(), groups=ELSEWHERE):
        own = tmp_path / "proc" / "self"
        (own / "ns").mkdir(parents=True)
        (own / "mountinfo").write_text(f"27 1 0:30 / / rw,relatime - {root} overlay rw\n")
        (own / "cgroup").write_text(groups)
        for name, number in FIRST.items():
            (own / "ns" / name).symlink_to(f"{name}:[{number + 1000 * (name in namespaces)}]")
        for name in files:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).touch()
        return tmp_path

    return make


@pytest.fixture
def contained(monkeypatch):
    """As if this were a pod; there is no FRAZIL_URL."""
    monkeypatch.delenv("FRAZIL_URL", raising=False)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")


def sign(*args):
    from frazil.system.host import container_sign

    return container_sign(*args)


@pytest.mark.parametrize(
    "signs",
    [
        {"files": [".dockerenv"], "root": "overlay", "namespaces": ["pid", "uts", "ipc"]},
        {"files": [".dockerenv"], "root": "btrfs", "namespaces": ["pid", "uts", "ipc", "cgroup"]},
        {"files": [".dockerenv"], "root": "overlay"},  # --pid=host --uts=host ...
        {"files": ["run/.containerenv"], "root": "fuse.fuse-overlayfs", "namespaces": ["uts"]},
        {"root": "overlay", "namespaces": ["pid", "uts", "ipc", "cgroup"]},  # containerd
        {"root": "overlay", "groups": "0::/kubepods.slice/kubepods-burstable.slice/cri-x.scope"},
        {"files": [".dockerenv"], "groups": "9:memory:/docker/0123456789ab\n"},
        {"files": [".dockerenv"], "groups": "0::/system.slice/docker-0123456789ab.scope\n"},
        {"namespaces": ["pid"], "groups": "0::/machine.slice/libpod-0123.scope\n"},
    ],
)
def test_containers(machine, signs):
    assert " and " in sign({}, machine(**signs))


@pytest.mark.parametrize(
    "signs",
    [
        {},
        {"files": [".dockerenv"]},  # a virtual machine whose disk was an image
        {"root": "overlay"},  # a live system
        {"namespaces": ["uts"]},  # systemd's ProtectHostname=yes
        {"namespaces": ["pid", "uts", "ipc", "cgroup"]},  # a system container
        {"groups": "0::/system.slice/docker.service\n"},  # of Docker itself
    ],
)
def test_machines(machine, signs):
    assert sign({}, machine(**signs)) is None


@pytest.mark.parametrize(
    "name",
    ["KUBERNETES_SERVICE_HOST", "container", "AWS_LAMBDA_FUNCTION_NAME", "K_SERVICE", "DYNO"],
)
def test_variable_identifies_a_container(machine, name):
    root = machine()
    assert sign({name: "x"}, root) == f"{name} is set"
    assert sign({name: ""}, root) is None


def test_unreadable_signs(tmp_path):
    assert sign({}, tmp_path) is None


def test_this_machine(monkeypatch):
    """The first command of the README works where these tests run."""
    monkeypatch.delenv("FRAZIL_URL")
    if sign(os.environ):
        with pytest.raises(ConfigError, match="this is a container"):
            frazil.mint()
    else:
        assert len(frazil.mint()) == 1


def test_service_whose_namespaces_have_registries(contained, tmp_path):
    file = tmp_path / "frazil.toml"
    file.write_text('[namespaces.a]\nregistry = "redis://redis:6379/0"\n')
    assert str(read_settings(file).namespaces[0].url) == "redis://redis:6379/0"
    file.write_text("[namespaces.a]\n")
    with pytest.raises(ConfigError, match="KUBERNETES_SERVICE_HOST"):
        read_settings(file)
    assert str(read_settings(file, "sqlite:").namespaces[0].url) == "sqlite:"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_no_command_has_a_default_in_a_container(contained, command):
    from click.testing import CliRunner

    from frazil.cli import main

    result = CliRunner().invoke(main, command)
    assert result.exit_code == 2
    assert "KUBERNETES_SERVICE_HOST is set" in result.output
    assert CliRunner().invoke(main, [*command, "--help"]).exit_code == 0
