"""``python -m frazil``: the command, also where its script is not on PATH.

The script calls ``main`` too: Ctrl-C while the command is loaded shows no traceback.
"""

import sys

__all__ = ["main"]


def main() -> None:
    """Load the command and run it."""
    try:
        from frazil.cli import main as command
    except KeyboardInterrupt:
        sys.exit(130)
    command()


if __name__ == "__main__":
    main()
