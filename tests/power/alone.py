"""Run work in a separate process, whose files are all closed when it has answered."""

import json
import os
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path


def faults(work: Callable[[], Iterable[str]]) -> list[str]:
    """The sentences that ``work`` yields in a forked child; an error is one more."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        found: list[str] = []
        try:
            found += work()
        except BaseException as error:  # noqa: BLE001 - for the parent to judge
            at = traceback.extract_tb(error.__traceback__)[-1]
            found.append(f"{type(error).__name__}: {error} ({Path(at.filename).name}:{at.lineno})")
        with os.fdopen(writer, "w") as pipe:
            json.dump(found, pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    answer: list[str] = json.loads(said or '["ended without an answer"]')
    return answer
