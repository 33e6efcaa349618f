"""The size of the house, in lines, files and imports.

Command: ``python -m evidence.figures``, in a checkout. Lines are those of every tracked file of a
folder, in all languages. A module with one importer may be a part of that importer.
"""

import ast
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median

__all__ = ["figures"]

_ROOT = Path(__file__).resolve().parents[1]
_FEW_LINES = 40
_OWN_PACKAGES = ("evidence/conformance", "evidence/torture")


def figures() -> dict[str, int]:
    """Each figure by its name. Raises CalledProcessError outside a checkout."""
    source = list(_tracked("src"))
    python = [path for path in source if path.suffix == ".py"]
    functions = sorted(_function_lines(python))
    pyproject = (_ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return {
        "lines of src": sum(map(_lines, source)),
        "files of src": len(source),
        f"Python files of src under {_FEW_LINES} lines": sum(
            _lines(path) < _FEW_LINES for path in python
        ),
        "modules of src with one importer": sum(n == 1 for n in _importers(python).values()),
        "median lines of a function": int(median(functions)),
        "lines of the longest function": functions[-1],
        "import contracts": len(tomllib.loads(pyproject)["tool"]["importlinter"]["contracts"]),
        "lines of pyproject.toml": pyproject.count("\n"),
        "lines of tests": sum(map(_lines, _tracked("tests"))),
        **{f"lines of {folder}": sum(map(_lines, _tracked(folder))) for folder in _OWN_PACKAGES},
        "lines of the rest of evidence": sum(
            map(_lines, _tracked("evidence", *(f":!{folder}" for folder in _OWN_PACKAGES)))
        ),
    }


def _tracked(*patterns: str) -> Iterator[Path]:
    listed = subprocess.run(
        ["git", "ls-files", *patterns], cwd=_ROOT, capture_output=True, text=True, check=True
    )
    return (_ROOT / name for name in listed.stdout.splitlines())


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n")


def _function_lines(files: list[Path]) -> Iterator[int]:
    for path in files:
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
                yield node.end_lineno - node.lineno + 1


def _importers(files: list[Path]) -> Counter[str]:
    """For each module, how many others of the package import it by its name."""
    names = {
        ".".join(path.relative_to(_ROOT / "src").with_suffix("").parts): path for path in files
    }
    found: Counter[str] = Counter()
    for path in files:
        imported = set()
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.ImportFrom) and node.module:
                imported |= {node.module, *(f"{node.module}.{each.name}" for each in node.names)}
            elif isinstance(node, ast.Import):
                imported |= {each.name for each in node.names}
        found.update(imported & names.keys())
    return found


if __name__ == "__main__":
    for name, number in figures().items():
        print(f"{number:>7,}  {name}")
