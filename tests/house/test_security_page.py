"""docs/how-to/security.md names a test for each defence, and the tests are there."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "how-to" / "security.md"
NAMED = re.compile(r"`(tests/[\w/]+\.py)::([\w:]+)`")
ROWS = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]


def exists(file: str, name: str) -> bool:
    """Whether a test of that name, ``Class::test`` or ``test``, is in the file."""
    body: list[ast.stmt] = ast.parse((ROOT / file).read_text(encoding="utf-8")).body
    for part in name.split("::"):
        found = [
            node
            for node in body
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == part
        ]
        if not found:
            return False
        body = found[0].body
    return name.rpartition("::")[2].startswith("test_")


@pytest.mark.parametrize("row", ROWS[1:], ids=lambda row: row.split("|")[1].strip())
def test_each_defence_names_a_test_that_exists(row: str) -> None:
    named = NAMED.findall(row)
    assert named
    assert [each for each in named if not exists(*each)] == []
