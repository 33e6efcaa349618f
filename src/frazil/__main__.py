"""``python -m frazil``: the command, also where its script is not on PATH.

The script calls ``main`` too: Ctrl-C while the command is loaded shows no traceback. ``--version``
alone is answered here, because the command needs more time to load than all of Python; where the
answer cannot be written, the command says why.
"""

import sys

__all__ = ["main"]


def main() -> None:
    """Load the command and run it."""
    try:
        if sys.argv[1:] == ["--version"] and _has_printed_version():
            return
        from frazil.cli import main as command
    except KeyboardInterrupt:
        sys.exit(130)
    command()


def _has_printed_version() -> bool:
    from frazil import COMPILED, __version__

    try:
        sys.stdout.write(f"frazil {__version__} ({'compiled' if COMPILED else 'interpreted'})\n")
        sys.stdout.flush()
    except (AttributeError, OSError):  # closed, or full
        return False
    return True


if __name__ == "__main__":
    main()
