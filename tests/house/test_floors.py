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


def add_import(copy: Path, module: str, imported: str) -> str:
    """Add an import to a module, and return what breaks."""
    path = copy / "frazil" / (module.replace(".", "/") + ".py")
    with path.open("a", encoding="utf-8") as file:
        file.write(f"\nimport {imported}\n")
    result = lint(copy)
    assert result.returncode == 1, result.stdout + result.stderr
    return result.stdout


@pytest.mark.parametrize(
    ("module", "forbidden"),
    [
        ("errors", "frazil.system.clock"),
        ("system.clock", "frazil.generator.generator"),
        ("schemes.codec", "frazil.layout.layout"),
        ("schemes.shuffle", "frazil.layout.layout"),
        ("layout.layout", "frazil.schemes.scheme"),
        ("claims.claim", "frazil.walk.walk"),
        ("walk.walk", "frazil.registries.base"),
        ("walk.walk", "frazil.layout.field"),
        ("registries.memory", "frazil.walk.walk"),
        ("registries.memory", "frazil.registries.sqlite.registry"),
        ("registries.sqlite.registry", "frazil.generator.keeper"),
        ("generator.keeper", "threading"),
        ("generator.mint", "frazil.cli"),
        ("generator.mint", "frazil.remote.icicle.generator"),
        ("remote.icicle.generator", "frazil.opening"),
        ("aio", "frazil.cli"),
        ("service.app", "frazil.cli"),
        ("generator.generator", "frazil.service"),
        ("layout.layout", "click"),
        ("generator.generator", "rich.table"),
    ],
)
def test_forbidden_import_is_found(copy: Path, module: str, forbidden: str) -> None:
    broken = add_import(copy, module, forbidden)
    assert f"frazil.{module} -> {forbidden.removesuffix('.table')}" in broken


@pytest.mark.parametrize(
    ("module", "sibling"),
    [
        ("reading.guess", "reading.search"),
        ("system.clock", "system.process"),
        ("layout.layout", "layout.drawing"),
        ("registries.base", "registries.memory"),
        ("remote.http.calls", "remote.http.generator"),
        ("remote.prefetch", "remote.http.calls"),
        ("testing.trial", "testing.conformance"),
    ],
)
def test_a_cycle_is_found(copy: Path, module: str, sibling: str) -> None:
    broken = add_import(copy, module, f"frazil.{sibling}")
    folder = "frazil." + os.path.commonpath(
        [module.replace(".", "/"), sibling.replace(".", "/")]
    ).replace("/", ".")
    assert f"allowed in {folder}" in broken


def test_module_without_a_floor_is_found(copy: Path) -> None:
    (copy / "frazil" / "attic.py").write_text('"""On no floor."""\n', encoding="utf-8")
    result = lint(copy)
    assert result.returncode == 1, result.stdout + result.stderr
    assert "attic" in result.stdout
