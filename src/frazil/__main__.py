"""``python -m frazil``: the command, also where its script is not on PATH."""

from frazil.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    main()
