"""Write the man pages of ``frazil`` and of each of its commands: ``python release/man.py FOLDER``.

click-man makes them from the texts of ``--help``, so that nothing is written twice.
"""

import sys
from pathlib import Path

from click_man.core import write_man_pages

import frazil
from frazil.cli import COMMANDS, main


def write(folder: Path) -> None:
    """Write ``frazil.1``, ``frazil-mint.1`` and the others into a new folder."""
    folder.mkdir(parents=True)
    main.commands = {name: main.get_command(None, name) for name in COMMANDS}
    for name, command in main.commands.items():
        command.short_help = COMMANDS[name]
    main.short_help = "make and inspect unique, compact, roughly time-ordered IDs"
    write_man_pages("frazil", main, version=frazil.__version__, target_dir=str(folder))
    for page in folder.iterdir():
        page.write_text(_unfilled(page.read_text(encoding="utf-8")), encoding="utf-8")


def _unfilled(page: str) -> str:
    """The page with the paragraphs that click marks with a backspace as they are, line by line.

    There ``-`` is a minus, as a shell needs it, and a line may begin with a full stop.
    """
    lines, is_open = [], False
    for line in page.splitlines():
        if line == "\b":
            lines.append(".nf")
            is_open = True
        elif is_open and line.startswith("."):
            lines += [".fi", line]
            is_open = False
        elif is_open:
            lines.append("\\&" + line.replace("-", "\\-"))
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    write(Path(sys.argv[1]))
