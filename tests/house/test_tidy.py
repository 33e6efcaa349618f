"""House rules that a machine can read, so that nobody has to."""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "frazil"
LINES_PER_FUNCTION = 60
LINES_PER_FILE = 450
LONGER = {
    # One class, which the compiler has to see whole; it may shrink and not grow.
    "src/frazil/walk/walk.py": 650
}
COLUMNS = 100
SUFFIXES = {".py", ".pyx", ".pxd", ".lua", ".sh", ".html", ".css", ".js"}
# In two halves each, so that this line is not a find.
MARKERS = re.compile("|".join([r"\bTO" + r"DO\b", r"\bFIX" + r"ME\b", r"\bX" + r"XX\b"]))

SYSTEM = {"_thread", "os", "random", "threading", "time"}
SYSTEM_PLACES = (
    "__init__",  # knows the thread that imports
    "aio",
    "claims.holder",
    "cli",
    "generator",
    "initialising",  # waits
    "inputs.keys",  # key="env:NAME"
    "inputs.url",  # ?password=env:NAME
    "opening",
    "redis_link",
    "registries",
    "remote",
    "service.process",
    "service.tokens",
    "system",
    "tables.parts",  # files of attempts
)
TERMINAL = {"click", "rich"}  # whose place is a contract in pyproject.toml
# Loaded by the registry that is asked for, and by no other module.
DRIVERS = {"MySQLdb", "kazoo", "psycopg", "pymysql", "redis", "urllib3"}
# Loaded by whoever opens the address of a service.
CLIENT = {"aiohttp"}
# Known to the service alone, which is loaded when it is asked for.
SERVER = {"opentelemetry", "prometheus_client", "starlette", "uvicorn"}
OWNED = {
    # Named after the package that they serve.
    "attrs": {"attr", "attrs"},
    "dask": {"dask", "distributed", "pandas"},
    "django": {"django", "rest_framework", "yaml"},
    "duckdb": {"duckdb"},
    "metrics": {"opentelemetry", "prometheus_client"},
    "msgspec": {"msgspec"},
    "pandas": {"pandas"},
    "polars": {"polars"},
    "pydantic": {"pydantic", "pydantic_core"},
    "ray": {"ray"},
    "spark": {"pyspark"},
    "alembic": {"alembic"},
    "pytest": {"pytest"},
    "sqlalchemy": {"sqlalchemy"},
    "walk.walk": {"cython"},  # the compiler replaces the name, and nothing is loaded
    "cli.files": {"duckdb"},
    "redis_link": DRIVERS,
    "registries": DRIVERS,
    "remote.http": CLIENT,
    "schemes.cipher": {"cryptography", "ffx"},
    "service": SERVER,
}
LAZY = {"numpy", "pyarrow"}
# Load them at their top, and so are themselves imported in functions only, or by each other.
LAZY_MODULES = (
    "cli.files.stamping",
    "cli.files.typed_files",
    "cli.new_ids",
    "cli.show.audit_report",
    "schemes.arrays",
    "schemes.columns",
)


def sources() -> list[Path]:
    """Every file that people write code in."""
    found = [ROOT / ".ci" / "run"]
    for folder in ("src", "tests", "evidence", "examples", "release"):
        found += (path for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES)
    return sorted(found)


def modules(folder: Path = PACKAGE) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def name(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name


def place(path: Path) -> str:
    """The module's name below the package: ``registries.sqlite.registry``."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def lies_in(where: str, places: Iterable[str]) -> bool:
    """Whether a place is one of these, or below one."""
    return any(where == each or where.startswith(each + ".") for each in places)


def text_faults(text: str, longest: int = LINES_PER_FILE) -> list[str]:
    """What is wrong with a file as text."""
    lines = text.splitlines()
    faults: list[str] = []
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS:
            faults.append(f"line {number} has {len(line)} columns")
        if MARKERS.search(line):
            faults.append(f"line {number} has a marker")
    if len(lines) > longest:
        faults.append(f"{len(lines)} lines")
    return faults


def code_faults(tree: ast.Module) -> list[str]:
    """What is wrong with a Python file of any kind."""
    faults = [] if ast.get_docstring(tree) else ["no module docstring"]
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            if length > LINES_PER_FUNCTION:
                faults.append(f"{node.name} has {length} lines")
    return faults


def package_faults(tree: ast.Module, where: str) -> list[str]:
    """What is wrong with a module of the package; ``where`` is its place (see ``place``)."""
    faults = list_faults(tree, where)
    for line, module, lazy in imports(tree):
        top = module.partition(".")[0]
        if top in SYSTEM and not lies_in(where, SYSTEM_PLACES):
            faults.append(f"line {line} imports {top}, which only {sorted(SYSTEM_PLACES)} may")
        elif not (lazy or where in LAZY_MODULES) and (is_lazy(module) or top in LAZY):
            faults.append(f"line {line} imports {module} outside of a function")
        elif lies_in(where, (place for place, owned in OWNED.items() if top in owned)):
            continue
        elif top not in sys.stdlib_module_names | TERMINAL | LAZY | {"frazil"}:
            faults.append(f"line {line} imports {top}, which is not ours to import")
    return faults


def list_faults(tree: ast.Module, where: str) -> list[str]:
    """What is wrong with ``__all__``: users read that of a module at the top.

    Inside, it lists what has no underscore, which the names say themselves.
    """
    if "." not in where.removesuffix(".__init__") or where == "django.rest":
        bare = len(tree.body) == 1 and ast.get_docstring(tree)  # only says what the package holds
        return [] if bare or "__all__" in assigned(tree) else ["no __all__"]
    return ["__all__ inside a folder"] if "__all__" in assigned(tree) else []


def is_lazy(module: str) -> bool:
    """Whether a module, or what is imported from it, loads heavy packages."""
    return module.removeprefix("frazil.") in LAZY_MODULES


def assigned(tree: ast.Module) -> set[str]:
    """The names that are given a value at the top of a module."""
    targets: list[ast.expr] = []
    for node in tree.body:
        if isinstance(node, ast.Assign):
            targets += node.targets
        elif isinstance(node, ast.AnnAssign):
            targets.append(node.target)
    return {target.id for target in targets if isinstance(target, ast.Name)}


def imports(tree: ast.AST, *, lazy: bool = False) -> Iterator[tuple[int, str, bool]]:
    """Each import below ``tree``: line, module, and whether it waits until a function needs it.

    ``from frazil import b`` counts as ``frazil.b`` too, for ``b`` may be a module. What stands
    under ``if TYPE_CHECKING:`` never runs and so counts as waiting.
    """
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, lazy) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "frazil" if node.level else node.module or ""
            yield node.lineno, module, lazy
            if module.partition(".")[0] == "frazil":
                yield from ((node.lineno, f"{module}.{alias.name}", lazy) for alias in node.names)
        else:
            waits = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or (
                isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
            )
            yield from imports(node, lazy=lazy or waits)


def test_files() -> None:
    faults = {}
    for path in sources():
        text = path.read_text(encoding="utf-8")
        found = text_faults(text, LONGER.get(name(path), LINES_PER_FILE))
        faults[name(path)] = found + (code_faults(ast.parse(text)) if path.suffix == ".py" else [])
    assert {where: found for where, found in faults.items() if found} == {}


def test_modules() -> None:
    trees = {place(path): ast.parse(path.read_text(encoding="utf-8")) for path in modules()}
    assert {"errors", "system.clock"} <= trees.keys()
    faults = {where: package_faults(tree, where) for where, tree in trees.items()}
    assert {where: found for where, found in faults.items() if found} == {}


def test_faults_of_a_file_are_found() -> None:
    body = "    pass\n" * LINES_PER_FUNCTION
    assert code_faults(ast.parse(f'"""Doc."""\ndef long():\n{body}')) == ["long has 61 lines"]
    assert code_faults(ast.parse("x = 1")) == ["no module docstring"]
    assert text_faults("x" * (COLUMNS + 1)) == ["line 1 has 101 columns"]
    assert text_faults("# TO" + "DO: later") == ["line 1 has a marker"]
    assert text_faults("\n" * (LINES_PER_FILE + 1)) == ["451 lines"]
    assert text_faults("x" * COLUMNS + "\n") == []


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ("import time", "imports time"),
        ("def f():\n    from os import path", "imports os"),
        ("import numpy as np", "outside of a function"),
        ("from numpy.typing import NDArray", "outside of a function"),
        ("from frazil.schemes import arrays", "outside of a function"),
        ("from frazil.schemes.arrays import WIDE", "outside of a function"),
        ("def f():\n    import requests", "not ours"),
        ("import psycopg", "not ours"),
        ("import starlette", "not ours"),
        ("import httpx", "not ours"),
    ],
)
def test_package_faults_are_found(code: str, fault: str) -> None:
    (found,) = package_faults(ast.parse(f"__all__ = []\n{code}"), "layout")
    assert fault in found


def test_allowed_things_are_allowed() -> None:
    assert package_faults(ast.parse("__all__ = []\nimport psycopg"), "registries") == []
    assert package_faults(ast.parse("__all__ = []\nimport uvicorn"), "service") == []
    assert package_faults(ast.parse("import psycopg"), "registries.postgres.link") == []
    assert package_faults(ast.parse("import aiohttp"), "remote.http.generator") == []
    lazy = "def f():\n    import numpy\nif TYPE_CHECKING:\n    import numpy"
    assert package_faults(ast.parse(f"__all__: list[str] = []\n{lazy}"), "layout") == []
    assert package_faults(ast.parse("import numpy"), "schemes.arrays") == []
    assert package_faults(ast.parse("import time, os"), "system.clock") == []
    assert package_faults(ast.parse("import math"), "readiness") == ["no __all__"]
    assert package_faults(ast.parse("import math"), "layout.layout") == []
    (found,) = package_faults(ast.parse('__all__ = ["f"]'), "layout.layout")
    assert found == "__all__ inside a folder"
