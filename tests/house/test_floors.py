"""Imports only go down: the contracts in pyproject.toml hold, and each of them can fail.

A contract that is misspelt passes as well as one that is kept. So every kind of forbidden import is
written into a copy of the package, where the contract must be seen to break.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

__all__: list[str] = []

ROOT = Path(__file__).resolve().parents[2]
LINT = (
    "import sys; from importlinter.cli import lint_imports;"
    "sys.exit(lint_imports(config_filename=sys.argv[1], no_cache=True))"
)


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """Hold the package found in ``folder`` against the project's contracts."""
    return subprocess.run(
        [sys.executable, "-c", LINT, str(ROOT / "pyproject.toml")],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder with a copy of the package's sources."""
    ignore = shutil.ignore_patterns("__pycache__", "*.so", "*.c")
    shutil.copytree(ROOT / "src" / "frazil", tmp_path / "frazil", ignore=ignore)
    return tmp_path


def test_contracts_are_kept(copy: Path) -> None:
    result = lint(copy)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "0 broken" in result.stdout


@pytest.mark.parametrize(
    ("module", "forbidden"),
    [
        ("errors", "frazil.system.clock"),
        ("system.clock", "frazil.generator.generator"),
        ("schemes.codec", "frazil.layout.layout"),
        ("schemes.shuffle", "frazil.schemes.codec"),
        ("schemes.shuffle", "frazil.layout.layout"),
        ("reading.guess", "frazil.reading.search"),
        ("service.state", "frazil.service.http.asgi"),
        ("cli.files.streams", "frazil.cli.files.reading"),
        ("system.clock", "frazil.system.process"),
        ("inputs.duration", "frazil.inputs.url"),
        ("redis_link.errors", "frazil.redis_link.link"),
        ("testing.trial", "frazil.testing.conformance"),
        ("torture.id_log", "frazil.torture.run"),
        ("layout.layout", "frazil.schemes.scheme"),
        ("layout.layout", "frazil.layout.drawing"),
        ("claims.claim", "frazil.walk.walk"),
        ("walk.walk", "frazil.registries.base"),
        ("walk.walk", "frazil.layout.field"),
        ("registries.memory", "frazil.walk.walk"),
        ("registries.memory", "frazil.registries.sqlite"),
        ("registries.base", "frazil.registries.memory"),
        ("registries.sqlite.registry", "frazil.registries.static"),
        ("registries.sqlite.registry", "frazil.generator.keeper"),
        ("generator.keeper", "frazil.generator.generator"),
        ("generator.keeper", "threading"),
        ("generator.generator", "frazil.generator.mint"),
        ("generator.mint", "frazil.cli"),
        ("generator.mint", "frazil.remote.icicle.generator"),
        ("remote.icicle.pool", "frazil.remote.icicle.generator"),
        ("remote.http.attempts", "frazil.remote.http.generator"),
        ("remote.prefetch", "frazil.remote.http.attempts"),
        ("remote.icicle.generator", "frazil.opening"),
        ("aio", "frazil.cli"),
        ("service.app", "frazil.cli"),
        ("generator.generator", "frazil.service"),
        ("generator.generator", "frazil.torture"),
        ("torture.run", "frazil.cli"),
        ("layout.layout", "click"),
        ("generator.generator", "rich.table"),
    ],
)
def test_forbidden_import_is_found(copy: Path, module: str, forbidden: str) -> None:
    path = copy / "frazil" / (module.replace(".", "/") + ".py")
    with path.open("a", encoding="utf-8") as file:
        file.write(f"\nimport {forbidden}\n")
    result = lint(copy)
    assert result.returncode == 1, result.stdout + result.stderr
    assert f"frazil.{module} -> {forbidden.removesuffix('.table')}" in result.stdout


def test_module_without_a_floor_is_found(copy: Path) -> None:
    (copy / "frazil" / "attic.py").write_text('"""On no floor."""\n', encoding="utf-8")
    result = lint(copy)
    assert result.returncode == 1, result.stdout + result.stderr
    assert "attic" in result.stdout
