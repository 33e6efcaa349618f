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
    for page in folder.iterdir():  # \b is click's mark of lines that are not to be filled
        text = page.read_text(encoding="utf-8").replace("\b", "")
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
