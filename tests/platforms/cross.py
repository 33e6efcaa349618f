"""Compile the C core for other systems: ``python -m tests.platforms.cross [TARGET ...]``.

``pip install ".[cross]"`` brings Cython and zig, a compiler with the C libraries of all targets.
The headers of this interpreter are used for all of them; Windows has a ``pyconfig.h`` of ours,
because sizes differ there. Each object must be one of its target.

That shows that the sources name nothing that a target's C library lacks, and assume no size of
another one. It does not show that an extension links there, can be imported, or works. What is not
expected to compile is left out of an installation: each extension is optional, and its source in
Python takes its place. The exit code is 1 if a result is not the expected one.
"""

import argparse
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path
from shutil import copy, copytree

_SRC = Path(__file__).parents[2] / "src"
MODULES = {
    "walk": "frazil/walk/walk.py",
    "_process": "frazil/system/_process.pyx",
    "_fork_gate": "frazil/system/_fork_gate.pyx",
}
_POSIX = frozenset(MODULES)
# The beginning of an object file: of ELF its magic number, of COFF and Mach-O the machine.
_ELF, _COFF_X86, _MACHO_ARM = b"\x7fELF", b"\x64\x86", b"\xcf\xfa\xed\xfe\x0c\0\0\x01"
_ELF_MACHINE = slice(18, 20)

TARGETS: dict[str, tuple[bytes, bytes, frozenset[str]]] = {
    "aarch64-linux-gnu": (_ELF, b"\xb7\0", _POSIX),
    "aarch64-linux-musl": (_ELF, b"\xb7\0", _POSIX),
    "x86_64-linux-musl": (_ELF, b"\x3e\0", _POSIX),
    "aarch64-macos": (_MACHO_ARM, b"", _POSIX),
    # A process page and its at-fork hooks need a system with forks.
    "x86_64-windows-gnu": (_COFF_X86, b"", frozenset({"walk", "_fork_gate"})),
}
"""For each target: how its objects begin, the machine of an ELF, and what must compile."""


def _sources(folder: Path) -> dict[str, Path]:
    """What Cython makes of each module."""
    found = {}
    for name, source in MODULES.items():
        found[name] = folder / f"{name}.c"
        command = [sys.executable, "-m", "cython", "-3", source, "-o", str(found[name])]
        subprocess.run(command, cwd=_SRC, check=True)
    return found


def _headers(folder: Path, target: str) -> Path:
    """The headers of Python for a target."""
    here = Path(sysconfig.get_path("include"))
    if "windows" not in target:
        return here
    there = folder / "include"
    if not there.exists():
        copytree(here, there)
        copy(Path(__file__).with_name("windows_pyconfig.h"), there / "pyconfig.h")
    return there


def compiled(source: Path, target: str, folder: Path) -> str:
    """Compile a C file for a target. Returns the first error, or an empty text."""
    out = folder / f"{source.stem}.{target}.o"
    include = f"-I{_headers(folder, target)}"
    command = [sys.executable, "-m", "ziglang", "cc", "-target", target, "-c", "-O0", include]
    done = subprocess.run(
        [*command, str(source), "-o", str(out)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "error:" in line]
        return (errors or [done.stderr])[0].rpartition("error: ")[2]
    begin, machine, _ = TARGETS[target]
    head = out.read_bytes()[: _ELF_MACHINE.stop]
    if not head.startswith(begin) or not head[_ELF_MACHINE].startswith(machine):
        return f"an object of another system: {head.hex()}"
    return ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Compile for the targets that are named, or for all. Prints a table in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m tests.platforms.cross", description=__doc__)
    parser.add_argument("targets", nargs="*", choices=[*TARGETS, []], help="default: all")
    given = parser.parse_args(arguments)
    lines = [f"| Target | {' | '.join(MODULES)} |", "|---|" + "---|" * len(MODULES)]
    expected = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sources = _sources(folder)
        for target in given.targets or TARGETS:
            errors = {module: compiled(path, target, folder) for module, path in sources.items()}
            lines.append(f"| {target} | {' | '.join(e or 'yes' for e in errors.values())} |")
            good = {module for module, error in errors.items() if not error}
            expected &= good == TARGETS[target][2]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0 if expected else 1


if __name__ == "__main__":
    sys.exit(main())
