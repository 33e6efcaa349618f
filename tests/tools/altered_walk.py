"""A copy of the installed frazil whose walk is compiled from an altered source."""

import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import frazil

_READ = "low, high, first = self.low, self.high, self.cell\n"


def without_locks(source: str) -> str:
    """No step is a critical section."""
    return source.replace("    @one_step\n", "").replace("with locked(", "if bool(")


def half_locked(source: str) -> str:
    """Of a step that marks cells as taken only the first half is a critical section."""
    for writes in ("self.append_ids(ids", "self.write_ids(out"):
        end = source.index(writes)
        begin = source.rindex(_READ, 0, end) + len(_READ)
        marks = textwrap.dedent(source[begin:end].rstrip(" "))
        source = source[:begin] + textwrap.indent(marks, " " * 12) + " " * 12 + source[end:]
    return source


def build(place: Path, alter: Callable[[str], str]) -> Path:
    """Make the copy below ``place``; returns the directory for PYTHONPATH."""
    site = place / alter.__name__
    names = shutil.ignore_patterns("__pycache__", "walk.cpython-*")
    shutil.copytree(Path(frazil.__file__).parent, site / "frazil", ignore=names)
    walk = site / "frazil" / "walk" / "walk.py"
    source = walk.read_text()
    walk.write_text(alter(source))
    assert walk.read_text() != source
    command = [sys.executable, "-m", "Cython.Build.Cythonize", "-3", "-i", "frazil/walk/walk.py"]
    subprocess.run(command, cwd=site, check=True, capture_output=True)
    return site
