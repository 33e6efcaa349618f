"""Where IDs are asked for: one ID, or many, as raw ASGI.

Everything else of the service is asked now and then. These two are the service, so nothing stands
between the server and them: a dictionary finds the door by its path, and an ID that is ready is
drawn, written and sent without a request object, a router or a task.

A reply with many IDs is made and sent in chunks. The first is drawn before the status is sent, so
that what goes wrong at once is a proper problem. What goes wrong later cannot be said in a status
any more; then the connection is broken off, and the client sees that the reply has no end. A
client that has gone away stops the making.
"""

import asyncio
import re
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from frazil.errors import FrazilError
from frazil.service.http import asgi, formats
from frazil.service.http.asgi import Receive, Scope, Send
from frazil.service.http.formats import Format, Json, Lines, Packed
from frazil.service.namespace import MOST, Issuer
from frazil.service.problems import Problem, behind, over_quota, refused
from frazil.service.tokens import Bill, Guard, OverQuota

__all__ = ["CHUNK", "WORDS_CHUNK", "Door", "ManyDoor", "OneDoor"]

_NONCE = b"frazil-nonce"  # a reply names the request's, so none is taken for another's
_NONCE_OF = re.compile(rb"[!-~]{0,64}")
CHUNK = 8_192
"""IDs that are made in one step of the loop; a few milliseconds, so that others are not held up."""

WORDS_CHUNK = 65_536
"""The same, where they never become numbers of Python."""

Report = Callable[[str, FrazilError], None]


@dataclass(frozen=True, slots=True)
class _Answers:
    """What is prepared for a namespace: a format for each media type."""

    by_type: dict[str, Format]
    number: Format | None


@dataclass(frozen=True, slots=True)
class _Order:
    """How many IDs are wanted, how they are written, and who is charged for them."""

    shape: Format
    n: int
    bill: Bill
    headers: asgi.Headers


class Door(ABC):
    """One address of one namespace. ``report`` is told of errors behind the door."""

    method = "GET"
    known: tuple[str, ...] = ("number",)

    def __init__(self, issuer: Issuer, guard: Guard, report: Report) -> None:
        self.issuer = issuer
        self.guard = guard
        self.report = report
        name, scheme = issuer.name, issuer.scheme
        self.names = {"namespace": name, "scheme": scheme.name}
        self.answers = _Answers(
            {
                formats.JSON: Json(name, scheme),
                "text/plain": Lines(name, scheme),
                formats.PACKED: Packed(name, scheme),
            },
            Json(name, scheme, number=True) if formats.fits_number(scheme) else None,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> int:
        """Answer a request; the status that was sent."""
        try:
            if scope["method"] != self.method:
                raise Problem(
                    "method-not-allowed", f"use {self.method}", {"allow": self.method}, **self.names
                )
            if not self.guard.is_open:
                refusal = self.guard.refusal(asgi.bearer(scope), "issue", self.issuer.name)
                if refusal is not None:
                    raise refused(refusal, **self.names)
            await self.answer(scope, receive, send)
        except Problem as wrong:
            problem = wrong
            problem.more = {**self.names, **problem.more}
        except OverQuota as error:
            problem = over_quota(error, **self.names)
        except FrazilError as error:
            self.report(self.issuer.name, error)
            problem = behind(error, **self.names)
        else:
            return 200
        await asgi.send_problem(send, problem)
        return problem.status

    @abstractmethod
    async def answer(self, scope: Scope, receive: Receive, send: Send, /) -> None:
        """Answer a request that is allowed. Raises Problem and what the generator raises."""

    def format(self, scope: Scope, number: str) -> Format:
        """How this caller wants the IDs."""
        accept = asgi.header(scope, b"accept")
        wanted = formats.chosen(accept.decode("latin-1")) if accept else formats.JSON
        if not number:
            return self.answers.by_type[wanted]
        if number not in {"0", "1"}:
            raise Problem("bad-request", f"?number={number[:20]}: write 1, or leave it out")
        if number == "1":
            if wanted != formats.JSON:
                raise Problem("bad-request", "?number=1 is for JSON; accept application/json")
            if self.answers.number is None:
                raise Problem(
                    "bad-request",
                    f"IDs of {self.issuer.scheme.name} do not fit the 53 bits that a number in "
                    "JSON keeps; leave ?number= out and read them as strings",
                    limit="53",
                )
            return self.answers.number
        return self.answers.by_type[wanted]


class OneDoor(Door):
    """``GET /v1/{ns}/id``."""

    async def answer(self, scope: Scope, _receive: Receive, send: Send) -> None:
        """See Door."""
        number = ""
        if scope["query_string"]:
            number = asgi.parameters(scope, "number").get("number", "")
        shape = self.format(scope, number)
        n = None if self.guard.metered else self.issuer.ready_one()
        if n is None:
            with self.guard.bill(asgi.bearer(scope), 1) as bill:
                n = await self.issuer.one()
                bill.made = 1
        await asgi.send_whole(send, 200, shape.media_type, shape.one(n), shape.headers)


class ManyDoor(Door):
    """``POST /v1/{ns}/ids?n=``."""

    method = "POST"

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See Door."""
        asgi.refuse_body(scope)
        asked = asgi.parameters(scope, "n", "number")
        shape = self.format(scope, asked.get("number", ""))
        n = _count(asked.get("n", ""))
        nonce = _nonce(scope)
        headers = (*shape.headers, (_NONCE, nonce)) if nonce else shape.headers
        with self.guard.bill(asgi.bearer(scope), n) as bill:
            await self._answer(_Order(shape, n, bill, headers), receive, send)

    async def _answer(self, order: _Order, receive: Receive, send: Send) -> None:
        n, shape = order.n, order.shape
        make = self.issuer.words if shape.takes_words else self.issuer.many
        step = WORDS_CHUNK if shape.takes_words else CHUNK
        ids = await make(min(n, step))
        order.bill.made = len(ids)
        if n <= step:
            body = shape.head + shape.some(ids) + shape.tail
            await asgi.send_whole(send, 200, shape.media_type, body, order.headers)
            return
        size = shape.size(n)
        length = () if size is None else ((b"content-length", str(size).encode()),)
        await send(asgi.start(200, shape.media_type, (*length, *order.headers)))
        leaving = asyncio.create_task(_left(receive))
        try:
            await self._stream(send, order, ids, make, leaving)
        except FrazilError as error:
            self.report(self.issuer.name, error)
            raise ConnectionAbortedError("a reply was broken off: no more IDs") from None
        finally:
            leaving.cancel()
            with suppress(asyncio.CancelledError):
                await leaving

    async def _stream(
        self,
        send: Send,
        order: _Order,
        ids: Sequence[int],
        make: Callable[[int], Awaitable[Sequence[int]]],
        leaving: "asyncio.Task[None]",
    ) -> None:
        """Send ``ids``, and the others, as many at a time."""
        shape, n = order.shape, order.n
        before, step = shape.head, len(ids)
        while True:
            n -= len(ids)
            body = before + shape.some(ids) + (b"" if n else shape.tail)
            await send({"type": "http.response.body", "body": body, "more_body": n > 0})
            if not n:
                return
            await asyncio.sleep(0)
            if leaving.done():
                return
            before = shape.between
            ids = await make(min(n, step))
            order.bill.made += len(ids)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and 0 < int(text) <= MOST):
        raise Problem("bad-request", f"say how many IDs with ?n=, 1 to {MOST}", limit=str(MOST))
    return int(text)


def _nonce(scope: Scope) -> bytes:
    """The request's nonce; empty if it has none. Raises Problem: what cannot be sent back whole."""
    nonce = asgi.header(scope, _NONCE)
    if not _NONCE_OF.fullmatch(nonce):
        raise Problem("bad-request", "Frazil-Nonce is at most 64 printable ASCII characters")
    return nonce


async def _left(receive: Receive) -> None:
    """Ends when the client has gone away."""
    while (await receive())["type"] != "http.disconnect":
        pass
