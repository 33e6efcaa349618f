"""The C core compiles for systems that are not here, and what does not is noticed."""

import pytest

from tests.needs import needs
from tests.platforms import cross


@pytest.fixture(autouse=True)
def compiler():
    needs("ziglang", "a compiler for other systems")
    needs("Cython", "the C sources of the core")


def test_every_target_compiles_what_it_should(capsys):
    assert cross.main([]) == 0, capsys.readouterr().out
    assert "| aarch64-macos | yes | yes | yes |" in capsys.readouterr().out


def test_a_source_that_a_system_lacks_something_for_fails(tmp_path, monkeypatch):
    source = tmp_path / "walk.c"
    source.write_text("#include <Python.h>\n#include <sys/eventfd.h>\n")
    assert cross.compiled(source, "x86_64-linux-musl", tmp_path) == ""
    assert "not found" in cross.compiled(source, "aarch64-macos", tmp_path)
    wrong = (cross.TARGETS["aarch64-macos"][0], b"", frozenset())
    monkeypatch.setitem(cross.TARGETS, "x86_64-linux-musl", wrong)
    assert "another system" in cross.compiled(source, "x86_64-linux-musl", tmp_path)


def test_a_size_of_another_system_fails(tmp_path):
    """Windows has no 64-bit long, and the compile must see its headers say so."""
    source = tmp_path / "sizes.c"
    source.write_text('#include <Python.h>\n_Static_assert(SIZEOF_LONG == 8, "");\n')
    assert cross.compiled(source, "aarch64-linux-gnu", tmp_path) == ""
    assert "static assertion" in cross.compiled(source, "x86_64-windows-gnu", tmp_path)
