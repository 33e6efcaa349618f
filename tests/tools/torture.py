"""``frazil torture`` for the tests, where ``evidence/torture`` is not installed.

``pip install ".[test]"`` installs frazil alone. So the tests, and the processes that they start,
get from the sources what ``pip install ./evidence/torture`` installs: the modules, and the entry
point by which frazil finds the command.
"""

import atexit
import os
import shutil
import sys
import tempfile
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "evidence" / "torture"
GROUP = "frazil.commands"


def provide() -> None:
    """Put the sources and their metadata on the path, if the command is not installed."""
    if entry_points(group=GROUP, name="torture"):
        return
    project = tomllib.loads((SOURCE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    folder = tempfile.mkdtemp(prefix="frazil-tests-")
    atexit.register(_remove, folder, os.getpid())
    metadata = Path(folder) / "frazil_torture.dist-info"
    metadata.mkdir()
    facts = {"Name": project["name"], "Version": project["version"]}
    facts["Summary"] = project["description"]
    lines = [f"{name}: {value}\n" for name, value in {"Metadata-Version": "2.1", **facts}.items()]
    (metadata / "METADATA").write_text("".join(lines), encoding="utf-8")
    points = [f"{name} = {place}\n" for name, place in project["entry-points"][GROUP].items()]
    (metadata / "entry_points.txt").write_text(f"[{GROUP}]\n{''.join(points)}", encoding="utf-8")
    added = [str(SOURCE), folder]
    sys.path += added
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([*([before] if before else []), *added])


def _remove(folder: str, process: int) -> None:
    """Remove the folder, but not at the end of a child that was forked."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
