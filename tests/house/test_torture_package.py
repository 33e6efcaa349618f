"""``evidence/torture`` is a package of its own: frazil does not contain it, and it uses little."""

import ast
from pathlib import Path

import frazil

TORTURE = Path(__file__).resolve().parents[2] / "evidence" / "torture" / "frazil_torture"
PUBLIC = {"frazil", "frazil.errors"}
INTERNAL = {
    "frazil.cli.show": "tables as the other commands print them",
    "frazil.cli.show.progress": "the bar of the other commands",
    "frazil.inputs.masking": "a password in a URL is not printed",
}


def used(code: str) -> set[str]:
    """The modules of frazil that a module imports."""
    found = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return {name for name in found if name.partition(".")[0] == "frazil"}


def test_the_package_of_frazil_has_no_torture() -> None:
    """What is installed, from a wheel or not, is this folder."""
    names = [path.name for path in Path(frazil.__file__).parent.rglob("*.py")]
    assert "generator.py" in names
    assert [name for name in names if "torture" in name] == []


def test_it_uses_the_public_names_and_what_is_listed_here() -> None:
    modules = [path.read_text(encoding="utf-8") for path in TORTURE.rglob("*.py")]
    assert set().union(*map(used, modules)) == PUBLIC | INTERNAL.keys()


def test_an_internal_module_is_found() -> None:
    assert used("def f():\n    from frazil.claims.claim import Claim") == {"frazil.claims.claim"}
    assert used("import frazil_torture\nimport frazil.aio") == {"frazil.aio"}
