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

ROOT = Path(__file__).resolve().parents[1]
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
        ("errors", "frazil.clock"),
        ("clock", "frazil.generator"),
        ("codec", "frazil.layout"),
        ("shuffle", "frazil.codec"),
        ("layout", "frazil.schemes"),
        ("layout", "frazil.drawing"),
        ("claim", "frazil.walk"),
        ("walk", "frazil.registries.base"),
        ("registries.memory", "frazil.walk"),
        ("registries.memory", "frazil.registries.sqlite"),
        ("registries.base", "frazil.registries.memory"),
        ("registries.sqlite.registry", "frazil.registries.static"),
        ("registries.sqlite.registry", "frazil.keeper"),
        ("keeper", "frazil.generator"),
        ("generator", "frazil.minting"),
        ("minting", "frazil.cli"),
        ("minting", "frazil.icicle.generator"),
        ("icicle.pool", "frazil.icicle.generator"),
        ("client.turn", "frazil.client.generator"),
        ("prefetch", "frazil.client.turn"),
        ("icicle.generator", "frazil.opening"),
        ("aio", "frazil.cli"),
        ("service.app", "frazil.cli"),
        ("generator", "frazil.service"),
        ("generator", "frazil.testing.torture"),
        ("testing.torture.run", "frazil.cli"),
        ("layout", "click"),
        ("generator", "rich.table"),
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
