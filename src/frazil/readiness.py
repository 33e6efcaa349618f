"""Whether this process will have IDs in a moment: the answer to a readiness probe.

A probe must turn red while IDs are still left, so that a balancer sends calls elsewhere before one
fails, and it must not turn red because a store is away for a second. ``Status.why_unready`` has
that rule. A generator without a claim cannot know, so it is asked for one.

    why = frazil.readiness.why_unready(ids)                      # a thread, Flask, Django
    why = await frazil.readiness.why_unready_async(ids)          # a task
    app.add_route("/readyz", frazil.readiness.ReadyApp(ids))     # Starlette, FastAPI

It is no liveness probe: to start the process again does not bring a store back.
"""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from frazil.errors import FrazilError, LayoutExhausted, RegistryUnavailable, TryLater
from frazil.generator.generator import AsyncGenerator, Generator
from frazil.generator.request import Duration
from frazil.generator.status import Status
from frazil.inputs.arguments import expect
from frazil.inputs.duration import duration_us

__all__ = ["ReadyApp", "why_unready", "why_unready_async"]

Message: TypeAlias = MutableMapping[str, Any]


def why_unready(
    *generators: Generator, margin: Duration | None = None, timeout: Duration = 1
) -> str:
    """Why calls fail or are about to; "" if they do not. Without names of hosts.

    margin: how long IDs must last for a generator whose store is away; the default is a quarter of
    the horizon, at most 10 s. timeout: how long a generator without a claim may wait for one.
    ``icicle:`` and ``http:`` have no claims: each answer costs one ID there.
    """
    _check(generators, margin, timeout)
    for ids in generators:
        why = _known(ids.status(), margin)
        if why is None:
            try:
                ids.ready(timeout)
            except FrazilError as error:
                why = _why(ids.status(), error)
        if why:
            return why
    return ""


async def why_unready_async(
    *generators: Generator | AsyncGenerator,
    margin: Duration | None = None,
    timeout: Duration = 1,  # noqa: ASYNC109 - as above
) -> str:
    """The same in an event loop, which a generator of ``frazil.open`` does not block."""
    _check(generators, margin, timeout)
    for ids in generators:
        why = _known(ids.status(), margin)
        if why is None:
            try:
                if isinstance(ids, Generator):
                    await asyncio.to_thread(ids.ready, timeout)
                else:
                    await ids.ready(timeout)
            except FrazilError as error:
                why = _why(ids.status(), error)
        if why:
            return why
    return ""


def _check(
    generators: tuple[object, ...], margin: Duration | None, timeout: Duration | None
) -> None:
    """Raise ConfigError for what is not a generator or a duration."""
    for each in generators:
        expect("a generator", each, (Generator, AsyncGenerator), "one of frazil.open")
    for name, value in {"margin": margin, "timeout": timeout}.items():
        if value is not None:
            duration_us(value, name=name)


def _known(status: Status, margin: Duration | None) -> str | None:
    """The answer if the status has it; None if only a request can tell."""
    if not status.closed and not (status.claimed and status.seconds_left != 0):
        return None
    return status.why_unready(None if margin is None else duration_us(margin, name="margin") / 1e6)


def _why(status: Status, error: FrazilError) -> str:
    """Why there is no ID. Most errors name hosts or files; some name only the store."""
    if why := status.why_unready():
        return why
    if isinstance(error, LayoutExhausted) or "waited_s" in error.facts:
        return str(error).replace(status.store, "the store")
    if isinstance(error, TryLater):
        away = isinstance(error, RegistryUnavailable)
        return f"the store {'does not answer' if away else 'grants nothing now'}"
    return "the store refuses the requests of this generator; the log has the reason"


class ReadyApp:
    """An ASGI application: 200 ``ready``, or 503 with the reason. The arguments are as above.

    Raises ConfigError for an argument of another type.
    """

    def __init__(
        self,
        *generators: Generator | AsyncGenerator,
        margin: Duration | None = None,
        timeout: Duration = 1,
    ) -> None:
        _check(generators, margin, timeout)
        self._generators = generators
        self._margin = margin
        self._timeout = timeout

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],  # noqa: ARG002 - the interface has it
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        """Answer a request."""
        assert scope["type"] == "http", "mount it below an application"
        why = await why_unready_async(*self._generators, margin=self._margin, timeout=self._timeout)
        headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store")]
        status = 503 if why else 200
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": f"{why or 'ready'}\n".encode()})
