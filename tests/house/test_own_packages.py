"""Two folders of ``evidence`` are packages of their own, which use little of frazil."""

import ast
from pathlib import Path

import pytest

import frazil

EVIDENCE = Path(__file__).resolve().parents[2] / "evidence"
CONTRACT = {
    "frazil.claims.claim": "what a verb takes and answers",
    "frazil.registries.base": "the verbs",
}
USED = {
    "conformance": {
        "frazil": "a scheme",
        "frazil.errors": "what a verb raises",
        **CONTRACT,
        "frazil.system": "the clocks of members",
    },
    "torture": {
        "frazil": "the generators",
        "frazil.errors": "what a call raises",
        "frazil.cli.show": "tables as the other commands print them",
        "frazil.cli.show.progress": "the bar of the other commands",
        "frazil.inputs.masking": "a password in a URL is not printed",
    },
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


@pytest.mark.parametrize("name", USED)
def test_frazil_does_not_contain_it(name: str) -> None:
    """What is installed, from a wheel or not, is this folder."""
    names = [path.name for path in Path(frazil.__file__).parent.rglob("*.py")]
    assert "generator.py" in names
    assert [each for each in names if name in each] == []


@pytest.mark.parametrize("name", USED)
def test_it_uses_the_public_names_and_what_is_listed_here(name: str) -> None:
    folder = EVIDENCE / name / f"frazil_{name}"
    modules = [path.read_text(encoding="utf-8") for path in folder.rglob("*.py")]
    assert set().union(*map(used, modules)) == USED[name].keys()


def test_the_contract_of_a_registry_is_documented() -> None:
    page = (EVIDENCE.parent / "docs" / "reference" / "registry.md").read_text(encoding="utf-8")
    assert [module for module in CONTRACT if f"::: {module}\n" not in page] == []


def test_an_internal_module_is_found() -> None:
    assert used("def f():\n    from frazil.claims.claim import Claim") == {"frazil.claims.claim"}
    assert used("import frazil_torture\nimport frazil.aio") == {"frazil.aio"}
