"""The README's table is what the command prints."""

from pathlib import Path

from click.testing import CliRunner

from frazil.cli import main
from frazil.schemes.scheme import names

README = Path(__file__).parents[2] / "README.md"


def test_the_table_of_schemes_is_fresh():
    printed = CliRunner().invoke(main, ["plan", "--markdown"]).output
    assert printed in README.read_text(encoding="utf-8"), "run: frazil plan --markdown"


def test_it_can_be_read_in_a_minute():
    lines = README.read_text(encoding="utf-8").splitlines()
    assert len(lines) - len(names()) <= 126  # a new scheme may have its line of the table
    assert next(n for n, line in enumerate(lines, 1) if line.startswith("```")) <= 20
