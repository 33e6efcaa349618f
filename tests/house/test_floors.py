"""Imports only go down: the contracts in pyproject.toml hold, and each of them can fail.

A contract that is misspelt passes as well as one that is kept. So every kind of forbidden import is
written into a copy of the package, where each must be found.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.needs import needs

ROOT = Path(__file__).resolve().parents[2]
LINT = (
    "import sys; from importlinter.cli import lint_imports;"
    "sys.exit(lint_imports(config_filename=sys.argv[1], no_cache=True))"
)

FORBIDDEN = [
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
    ("registries.sqlite.registry", "frazil.generator.keeper_policy"),
    ("generator.keeper_policy", "threading"),
    ("generator.mint", "frazil.cli"),
    ("generator.mint", "frazil.remote.icicle.generator"),
    ("remote.icicle.generator", "frazil.opening"),
    ("aio", "frazil.cli"),
    ("service.app", "frazil.cli"),
    ("generator.generator", "frazil.service"),
    ("layout.layout", "click"),
    ("generator.generator", "rich"),
]
IN_A_CYCLE = [
    ("reading.guess", "reading.search"),
    ("system.clock", "system.process"),
    ("layout.layout", "layout.drawing"),
    ("registries.base", "registries.memory"),
    ("remote.http.calls", "remote.http.generator"),
    ("remote.prefetch", "remote.http.calls"),
]


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """Hold the package found in ``folder`` against the project's contracts."""
    needs("importlinter", "contracts of imports")
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


def test_each_wrong_import_is_found(copy: Path) -> None:
    cycles = [(module, f"frazil.{sibling}") for module, sibling in IN_A_CYCLE]
    for module, imported in FORBIDDEN + cycles:
        path = copy / "frazil" / (module.replace(".", "/") + ".py")
        with path.open("a", encoding="utf-8") as file:
            file.write(f"\nimport {imported}\n")
    (copy / "frazil" / "attic.py").write_text('"""On no floor."""\n', encoding="utf-8")
    result = lint(copy)
    assert result.returncode == 1
    named = [f"frazil.{module} -> {imported}" for module, imported in FORBIDDEN]
    for module, sibling in IN_A_CYCLE:
        shared = os.path.commonpath([module.replace(".", "/"), sibling.replace(".", "/")])
        named.append(f"allowed in frazil.{shared.replace('/', '.')}")
    assert [each for each in [*named, "attic"] if each not in result.stdout] == []
