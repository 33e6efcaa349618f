"""What type checkers say of user code: pyright of tests/typing, mypy of what needs Django's types.

The project's own run of mypy reads the rest. A line that must be refused has a ``type: ignore``,
which is an error where nothing is wrong.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.needs import needs

ROOT = Path(__file__).parents[2]
TYPING = ROOT / "tests" / "typing"

pytestmark = pytest.mark.long


def checked(*command: str) -> tuple[int, str]:
    needs("mypy_django_plugin", "the types of Django")
    env = {**os.environ, "MYPYPATH": "src"}
    line = [sys.executable, "-m", *command]
    run = subprocess.run(line, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    return run.returncode, run.stdout + run.stderr


def pyright(folder: Path) -> tuple[int, str]:
    needs("pyright", "what pyright says of user code")
    return checked("pyright", "-p", str(folder), "--pythonpath", sys.executable)


def mypy(file: Path, tmp_path: Path) -> tuple[int, str]:
    options = ("--config-file", os.devnull, "--strict", "--follow-imports", "silent")
    return checked("mypy", *options, "--cache-dir", str(tmp_path / "cache"), str(file))


def test_pyright_accepts_and_refuses_the_same() -> None:
    code, text = pyright(TYPING)
    assert code == 0, text


def test_mypy_with_the_types_of_django(tmp_path: Path) -> None:
    code, text = mypy(TYPING / "django_ids.py", tmp_path)
    assert code == 0, text


def test_an_error_and_a_line_that_is_none_are_reported(tmp_path: Path) -> None:
    given = (TYPING / "django_ids.py").read_text(encoding="utf-8")
    wrong = given.replace("ship(made.id)", "ship(made.customer)", 1)
    wrong = wrong.replace("ship(one)  # type: ignore[arg-type]", "ship(made.id)  # type: ignore", 1)
    file = tmp_path / "wrong.py"
    file.write_text(wrong, encoding="utf-8")
    settings = (TYPING / "pyrightconfig.json").read_text(encoding="utf-8")
    settings = settings.replace("../../src", str(ROOT / "src"))
    (tmp_path / "pyrightconfig.json").write_text(settings, encoding="utf-8")
    for code, text in (mypy(file, tmp_path), pyright(tmp_path)):
        assert code == 1, text
        assert "OrderId" in text
        assert "nnecessary" in text or "nused" in text
