"""Run work in a separate process, whose files are all closed when it has answered."""

import json
import os
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any


def _answer(work: Callable[[], Iterable[Any]]) -> dict[str, Any]:
    """The answer of a forked child: all that ``work`` yields, and the error that it raised."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        found: dict[str, Any] = {"items": [], "error": ""}
        try:
            found["items"] += work()
        except BaseException as error:  # noqa: BLE001 - for the parent to judge
            at = traceback.extract_tb(error.__traceback__)[-1]
            found["error"] = (
                f"{type(error).__name__}: {error} ({Path(at.filename).name}:{at.lineno})"
            )
        with os.fdopen(writer, "w") as pipe:
            json.dump(found, pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    answer: dict[str, Any] = json.loads(said or '{"items": [], "error": "ended without an answer"}')
    return answer


def alone(work: Callable[[], Iterable[Any]]) -> list[Any]:
    """The values that ``work`` yields in a child."""
    answer = _answer(work)
    assert not answer["error"], answer["error"]
    return answer["items"]  # type: ignore[no-any-return]


def faults(work: Callable[[], Iterable[str]]) -> list[str]:
    """The sentences that ``work`` yields in a child; an error is one more."""
    answer = _answer(work)
    return [*answer["items"], *([answer["error"]] if answer["error"] else [])]
