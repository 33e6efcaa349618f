"""A call that is written once, for a thread and for an event loop.

A call is a generator. It yields a step, and is sent its result or thrown its error. All decisions
are in the generator, so a thread and a loop make the same ones. A step is a function without
arguments, which a loop awaits; seconds to sleep; or a list of calls, which a loop runs at the same
time.

A cancelled call ends at a ``yield``, and must not yield again: so it cleans up with ``except
Exception``, which excludes GeneratorExit.
"""

import time
from collections.abc import Callable, Generator
from typing import Any, TypeAlias, TypeVar

Answer = TypeVar("Answer")
StepT = TypeVar("StepT")
Step: TypeAlias = "Callable[[], Any] | float | list[Steps[Any]]"
Steps: TypeAlias = Generator[Step, Any, Answer]


def run_by(call: Generator[StepT, Any, Answer], do: Callable[[StepT], Any]) -> Answer:
    """The call's answer; ``do`` does each of its steps."""
    try:
        step = next(call)
        while True:
            try:
                came = do(step)
            except BaseException as error:  # noqa: BLE001 - the call decides
                step = call.throw(error)
            else:
                step = call.send(came)
    except StopIteration as end:
        answer: Answer = end.value
        return answer


def run(call: Steps[Answer]) -> Answer:
    """The call's answer, in a thread."""
    return run_by(call, _waited)


def _waited(step: Step) -> Any:
    if callable(step):
        return step()
    return [run(call) for call in step] if isinstance(step, list) else time.sleep(step)


async def run_async(call: Steps[Answer]) -> Answer:
    """The call's answer, in an event loop."""
    try:
        step = next(call)
        while True:
            try:
                came = await _awaited(step)
            except BaseException as error:  # noqa: BLE001 - the call decides
                step = call.throw(error)
            else:
                step = call.send(came)
    except StopIteration as end:
        answer: Answer = end.value
        return answer


async def _awaited(step: Step) -> Any:
    if callable(step):
        return await step()
    import asyncio  # slow to load

    if isinstance(step, list):
        return await asyncio.gather(*map(run_async, step))
    return await asyncio.sleep(step)
