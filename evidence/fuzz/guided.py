"""One target under atheris, which develops inputs towards lines that none has reached.

    python -m evidence.fuzz.guided TARGET CORPUS [libFuzzer's options]

frazil is imported here, under atheris, which counts the lines of the modules that it imports. So
frazil must be interpreted, and nothing may have imported it before.
"""

import os
import sys

__all__ = ["main"]


def main(arguments: list[str]) -> None:
    """Run until an option of libFuzzer ends it, or a check fails."""
    os.environ["FRAZIL_PURE"] = "1"
    import atheris

    with atheris.instrument_imports(include=["frazil"]):
        from evidence.fuzz.targets import TARGETS
    target = TARGETS[arguments[0]]
    atheris.Setup([sys.argv[0], *arguments[1:]], target.check)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1:])
