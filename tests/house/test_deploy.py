"""What lies in deploy/ fits the program: its options, paths, metrics, times and configuration."""

import configparser
import json
import re
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from frazil.cli import main, serve
from frazil.generator.status import Status
from frazil.service import read_settings
from frazil.service.http.openapi import DOCUMENT
from frazil.service.process.server import SHUTDOWN_MOST_S
from frazil.service.tokens import hash_of
from frazil.service.worker_stats import Metrics, WorkerReport
from tests.needs import needs
from tests.servers.redis import until
from tests.unit.service.conftest import Service

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))


def parsed(arguments: list[str]) -> dict[str, Any]:
    """What ``frazil`` takes a command line for; raises click's errors for one it would refuse."""
    name, *rest = arguments
    command = main.get_command(click.Context(main), name)
    assert command is serve.command
    return command.make_context(name, rest).params


def manifests(path: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))


def pod(path: Path) -> dict[str, Any]:
    """The pod of frazil itself."""
    (found,) = (
        one["spec"]["template"]["spec"]
        for one in manifests(path)
        if one["metadata"]["name"] == "frazil" and "template" in one["spec"]
    )
    return found


def test_a_wrong_option_is_found():
    with pytest.raises(click.UsageError):
        parsed(["serve", "--wrokers", "2"])


def test_the_configuration():
    settings = read_settings(DEPLOY / "frazil.toml")
    settings.check()
    assert settings.resp_port == 6380
    assert {scope for token in settings.tokens for scope in token.scopes} >= {"issue", "admin"}


def test_the_unit():
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str
    unit.read(DEPLOY / "frazil.service")
    program, *arguments = shlex.split(unit["Service"]["ExecStart"])
    assert program.endswith("/frazil")
    assert parsed(arguments)["config"]
    assert unit["Service"]["KillSignal"] == "SIGTERM"
    assert int(unit["Service"]["TimeoutStopSec"]) > SHUTDOWN_MOST_S


def complaints(unit: str, folder: Path) -> str:
    """What systemd says of a unit whose program is there."""
    needs("systemd-analyze", "the unit as systemd reads it")
    file = folder / "frazil.service"
    file.write_text(unit.replace("/opt/frazil/bin/frazil", "/bin/true"), encoding="utf-8")
    command = ["systemd-analyze", "verify", "--man=no", str(file)]
    done = subprocess.run(command, stderr=subprocess.STDOUT, stdout=subprocess.PIPE, check=False)
    return done.stdout.decode()


def test_systemd_takes_the_unit(tmp_path):
    unit = (DEPLOY / "frazil.service").read_text(encoding="utf-8")
    assert complaints(unit, tmp_path) == ""
    assert "ProtectClok" in complaints(unit.replace("ProtectClock", "ProtectClok"), tmp_path)


def test_the_configuration_runs_and_shows_every_metric(tmp_path):
    """With a registry and tokens of this test, and otherwise as it stands there."""
    text = (DEPLOY / "frazil.toml").read_text(encoding="utf-8")
    first, second = re.findall(r"sha256:0+[01]", text)
    text = text.replace(second, hash_of("frazil_prometheus")).replace(
        first, hash_of("frazil_first")
    )
    text = text.replace(
        "redis://:change-me@redis:6379/0", f"sqlite:///{tmp_path}/claims.db?horizon=1s"
    )
    options = ("--host", "127.0.0.1", "--resp", "0")
    with Service(tmp_path, text, *options, token="frazil_prometheus") as service:
        bearer = {"Authorization": "Bearer frazil_first"}
        assert service.client.get("/v1/default/id", headers=bearer).status_code == 200
        assert service.client.get("/v1/default/id").status_code == 403
        shown = service.client.get("/metrics").text
        assert service.client.get("/livez").status_code == 200
        assert until(lambda: service.client.get("/readyz").status_code == 200, "readiness")
    assert set(re.findall(r"^(frazil_\w+)\{", shown, re.MULTILINE)) == metric_names()


def test_the_container():
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    told = dict(re.findall(r"^(ENTRYPOINT|CMD|STOPSIGNAL|USER) (.+)$", text, re.MULTILINE))
    assert json.loads(told["ENTRYPOINT"]) == ["frazil"]
    assert parsed(json.loads(told["CMD"]))["config"]
    assert told["STOPSIGNAL"] == "SIGTERM"
    assert not told["USER"].startswith(("0", "root"))
    extras = re.findall(r"\.whl\)\[([\w,]+)\]", text)[0].split(",")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert set(extras) <= set(project["project"]["optional-dependencies"])


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_the_manifests(path):
    for one in manifests(path):
        assert {"apiVersion", "kind", "metadata", "spec"} <= set(one)
    spec = pod(path)
    (container,) = spec["containers"]
    options = parsed(container["args"])
    assert options["host"] == "0.0.0.0"
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert str(options["config"]).startswith(mounts["config"])
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        asked = container[probe]["httpGet"]
        assert asked["path"] in DOCUMENT["paths"]
        assert asked["port"] in {port["name"] for port in container["ports"]}
    before_s = int(container["lifecycle"]["preStop"]["exec"]["command"][-1])
    assert spec["terminationGracePeriodSeconds"] > before_s + SHUTDOWN_MOST_S


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_a_host_that_fails_takes_few_pods(path):
    kinds = {one["kind"]: one for one in manifests(path) if one["metadata"]["name"] == "frazil"}
    labels = kinds["PodDisruptionBudget"]["spec"]["selector"]
    spec = pod(path)
    assert [one["labelSelector"] for one in spec["topologySpreadConstraints"]] == [labels, labels]
    assert {"name": "tmp", "mountPath": "/tmp"} in spec["containers"][0]["volumeMounts"]


def test_the_namespaces_are_made_before_the_first_id():
    """As the configuration has them: of another scheme, the service would be refused."""
    (container,) = pod(MANIFESTS[0])["initContainers"]
    name, *rest = container["args"]
    command = main.get_command(click.Context(main), name)
    options = command.make_context(name, rest).params
    (namespace,) = read_settings(DEPLOY / "frazil.toml").namespaces
    assert options["if_missing"]
    assert not options["new"]
    assert container["args"][1:5] == ["--namespace", namespace.namespace, "--scheme", "icicle"]
    assert namespace.scheme.name == "icicle"


def test_the_store_of_the_manifest_has_the_password_of_the_configuration():
    (store,) = (
        one["spec"]["template"]["spec"]["containers"][0]
        for one in manifests(MANIFESTS[0])
        if one["metadata"]["name"] == "frazil-redis"
    )
    assert store["args"][-2:] == ["--requirepass", "$(PASSWORD)"]
    assert "noeviction" in store["args"]
    head = MANIFESTS[0].read_text(encoding="utf-8").partition("apiVersion")[0]
    assert "change-me" in head
    assert "change-me" in (DEPLOY / "frazil.toml").read_text(encoding="utf-8")


def test_the_manifests_differ_in_who_gives_the_number():
    assert [path.stem for path in MANIFESTS] == ["deployment", "statefulset"]
    deployment, statefulset = (parsed(pod(path)["containers"][0]["args"]) for path in MANIFESTS)
    assert statefulset["url"] == "static:hostname"
    assert statefulset["workers"] == 1
    registry = read_settings(DEPLOY / "frazil.toml").namespaces[0].url.text
    services = [one["metadata"]["name"] for one in manifests(MANIFESTS[0])]
    assert re.findall(r"@(\w+):6379", registry)[0] in services
    assert deployment["workers"] > 1


def metric_names() -> set[str]:
    status = Status(
        namespace="a", scheme="icicle", store="redis://host", closed=False, issued=1, waits=1,
        failures=1, store_away_s=1.0, store_errors=1, last_error="", last_error_at=None,
        seconds_left=1.0, lead_s=1.0, clock_offset_s=1.0, exhausted_in_s=1.0,
    )  # fmt: skip
    report = WorkerReport(0, {"a": status}, {("id", 200): 1})
    text = Metrics({"a": "icicle"}, [report]).text().decode()
    return set(re.findall(r"^(frazil_\w+)\{", text, re.MULTILINE))


def test_the_dashboard():
    board = json.loads((DEPLOY / "grafana.json").read_text(encoding="utf-8"))
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    asked += [one["query"] for one in board["templating"]["list"] if one["type"] == "query"]
    used = {name for text in asked for name in re.findall(r"frazil_\w+", text)}
    assert used == metric_names()
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


def test_the_page_names_every_metric():
    page = (ROOT / "docs" / "how-to" / "service.md").read_text(encoding="utf-8")
    assert metric_names() == set(re.findall(r"`(frazil_\w+)`", page))
