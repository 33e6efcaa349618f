"""A registry in a package of its own: the page's code, the contract, the command, the service."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import frazil
from frazil.errors import ConfigError
from frazil.inputs import kinds
from frazil.registries import connect
from tests.conformance.adapters import NO_SERVER, HostClock, applied
from tests.house.docblocks import blocks
from tests.servers.database import free_port
from tests.tools.waiting import until

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "frazil-jsonfile"


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """The command of a new environment, into which pip installed frazil and the package.

    It is interpreted there: to compile it takes 20 s, and no registry can see the engine.
    """
    place = tmp_path_factory.mktemp("fresh")
    subprocess.run([sys.executable, "-m", "venv", str(place / "env")], check=True)
    tracked = ["git", "ls-files", "-z", "src", "pyproject.toml", "README.md", "LICENSE"]
    listed = subprocess.run(tracked, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in listed.stdout.split("\0")[:-1]:  # a copy, because a build writes beside the source
        copy = place / "frazil" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes((ROOT / name).read_bytes())
    shutil.copytree(EXAMPLE, place / "jsonfile")
    pip = [str(place / "env" / "bin" / "pip"), "install", "--quiet"]
    parts = f"{place}/frazil[serve]", f"{place}/jsonfile"
    subprocess.run([*pip, *parts], env={**os.environ, "CC": "false"}, check=True)
    return str(place / "env" / "bin" / "frazil")


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with the package and its metadata alone, for ``sys.path``."""
    place = tmp_path_factory.mktemp("site")
    source = shutil.copytree(EXAMPLE, place / "source")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
    subprocess.run([*pip, str(place / "site"), str(source)], check=True)
    return place / "site"


@pytest.fixture
def here(installed, monkeypatch):
    """The package, importable in this process too."""
    monkeypatch.syspath_prepend(str(installed))
    kinds._installed.cache_clear()
    yield
    kinds._installed.cache_clear()


def run(*command):
    """As in a new environment: without the one of the tests."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def test_the_page_shows_the_package():
    page = ROOT / "docs" / "how-to" / "own-registry.md"
    code = next(block for block in blocks(page) if block.kind == "python")
    assert code.text.strip() == (EXAMPLE / "frazil_jsonfile.py").read_text().strip()
    told = next(block for block in blocks(page) if block.kind == "toml")
    assert told.text.strip() in (EXAMPLE / "pyproject.toml").read_text()


class FolderStore(HostClock):
    """Records in files, which can be deleted, and overwritten with an older copy."""

    rewind_shows = False

    def __init__(self, folder: Path) -> None:
        super().__init__(f"jsonfile://{folder}?horizon=1s")
        self.folder = folder

    def _file(self, namespace):
        return self.folder / f"{namespace.encode().hex()}.json"

    def forget(self, namespace):
        self._file(namespace).unlink()

    def copy(self, namespace):
        return self._file(namespace).read_bytes()

    def rewind(self, namespace, copied):
        self._file(namespace).write_bytes(copied)


@pytest.mark.usefixtures("here")
def test_it_keeps_the_contract(tmp_path):
    applied(FolderStore(tmp_path / "ids"), *NO_SERVER)


def test_the_command_and_the_service_take_its_url(fresh, tmp_path):
    url = f"jsonfile://{tmp_path}/ids"
    minted = run(fresh, "mint", "-u", url, "-n", "3")
    assert len(set(minted.stdout.split())) == 3, minted.stderr
    report = run(fresh, "doctor", url)
    assert report.returncode == 0, report.stderr
    assert "JsonFileRegistry" in report.stdout
    assert "0" in run(fresh, "claims", url).stdout
    config, port = tmp_path / "frazil.toml", free_port()
    config.write_text(f'[namespaces.orders]\nregistry = "{url}"\n')
    command = [fresh, "serve", "--config", str(config), "--port", str(port)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as service:
        try:
            ids = frazil.open(f"http://127.0.0.1:{port}/orders", timeout="30s")
            first = until(lambda: answered(ids), "the service")
            assert first not in minted.stdout.split()
            ids.close()
        finally:
            service.terminate()
            service.communicate(timeout=30)


def answered(ids):
    try:
        return ids()
    except frazil.errors.TryLater:
        return None


@pytest.mark.usefixtures("here")
def test_an_object_is_taken(tmp_path):
    scheme = frazil.scheme("icicle")
    registry = connect(f"jsonfile://{tmp_path}/ids", "orders", scheme)
    with frazil.open(registry=registry) as ids:
        assert len({ids() for _ in range(1000)}) == 1000
    assert frazil.mint(2, registry=registry)[0] > 0
    for wrong, said in (
        ({"registry": 5}, "not int"),
        ({"registry": registry, "namespace": "x"}, "leave out"),
        ({"registry": registry, "url": "memory:"}, "leave out"),
        ({"registry": registry, "scheme": "js53"}, "make the registry for this scheme"),
    ):
        with pytest.raises(ConfigError, match=said):
            frazil.open(**wrong)


def test_without_the_package_its_kind_is_unknown():
    with pytest.raises(ConfigError, match="no registry is called"):
        frazil.open("jsonfile:///tmp/x")


def test_a_kind_of_two_packages_is_refused(installed, monkeypatch, tmp_path):
    other = tmp_path / "other-1.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Name: other\nVersion: 1.0\n")
    (other / "entry_points.txt").write_text("[frazil.registries]\njsonfile = other:connect\n")
    for place in (tmp_path, installed):
        monkeypatch.syspath_prepend(str(place))
    kinds._installed.cache_clear()
    try:
        with pytest.raises(ConfigError, match=re.compile("two installed packages.*uninstall one")):
            frazil.open("jsonfile:///tmp/x")
    finally:
        kinds._installed.cache_clear()


def test_a_package_whose_driver_is_missing_is_named(monkeypatch, tmp_path):
    info = tmp_path / "bare-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: bare\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[frazil.registries]\nbare = bare_registry:connect\n")
    (tmp_path / "bare_registry.py").write_text("import a_driver_that_is_not_here\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    kinds._installed.cache_clear()
    try:
        with pytest.raises(ConfigError, match="bare_registry:connect cannot be imported"):
            frazil.open("bare://x")
    finally:
        kinds._installed.cache_clear()
