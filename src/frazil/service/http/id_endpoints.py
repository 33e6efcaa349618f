"""The endpoints that issue IDs: one ID, or many, as raw ASGI.

Almost all requests go here. So there is no framework between the server and these endpoints: a
dictionary finds the endpoint by its path, and a ready ID needs no request object, router or task.

A reply with many IDs is made and sent in chunks. The first chunk is made before the status is sent,
so an early error is a proper problem. After a later error the connection is closed, and the client
sees an incomplete reply. If the client disconnects, no more IDs are made.
"""

import asyncio
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from frazil.errors import CodecError, FrazilError, Misuse
from frazil.service import logs
from frazil.service.http import asgi, formats
from frazil.service.http.asgi import BROWSER, Receive, Scope, Send
from frazil.service.http.formats import Format, Json, Lines, Packed
from frazil.service.namespace import BATCH_MOST, ServedNamespace
from frazil.service.problems import Problem, misuse, no_id, over_quota, refused
from frazil.service.tokens import Charge, Guard, OverQuota

_NONCE = b"frazil-nonce"  # sent back, so that a client detects the reply to another request
_NONCE_OF = re.compile(rb"[!-~]{0,64}")
CHUNK = 512
"""IDs of a reply that are made in one iteration of the event loop, in a fraction of a millisecond.

They wait in memory if the client does not read, so a chunk has about 10 kB.
"""

WORDS_CHUNK = 2_048  # the same for IDs that never become Python integers
_SEEN_MOST = 100  # IDs of ?after=
_SMALL = 64  # IDs that do not wait for a turn
_turn = asyncio.Lock()


@dataclass(frozen=True, slots=True)
class _Request:
    """How many IDs are requested, in which format, and the token that is charged."""

    format: Format
    n: int
    charge: Charge
    headers: asgi.Headers


class IdEndpoint(ABC):
    """One path of one namespace."""

    method = "GET"

    def __init__(self, served: ServedNamespace, guard: Guard) -> None:
        self.served = served
        self.guard = guard
        name, scheme = served.name, served.scheme
        self.formats: dict[str, Format] = {
            formats.JSON: Json(name, scheme),
            formats.TEXT: Lines(name, scheme),
            formats.PACKED: Packed(name, scheme),
        }
        self.number = Json(name, scheme, number=True) if scheme.id_max < 1 << 53 else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> int:
        asgi.refuse_method(scope, self.method)
        refusal = self.guard.refusal(asgi.bearer(scope), "issue", self.served.name)
        if refusal is not None:  # without the names, which only an allowed caller learns
            raise refused(refusal)
        try:
            await self.answer(scope, receive, send)
        except Problem as wrong:
            problem = wrong
        except OverQuota as error:
            problem = over_quota(error)
        except FrazilError as error:
            logs.failure(self.served.name, error)
            problem = no_id(error)
        else:
            return 200
        problem.more = {**self.served.names, **problem.more}
        raise problem

    @abstractmethod
    async def answer(self, scope: Scope, receive: Receive, send: Send, /) -> None:
        """Answer an allowed request. Raises Problem and what the generator raises."""

    def choose_format(self, scope: Scope, number: str) -> Format:
        """Return the format that the request asks for."""
        accept = asgi.header(scope, b"accept")
        wanted = formats.chosen(accept.decode("latin-1")) if accept else formats.JSON
        if number not in {"", "0", "1"}:
            raise Problem("bad-request", f"?number={number[:20]}: write 1, or omit it")
        if number == "1":
            if wanted != formats.JSON:
                raise Problem("bad-request", "?number=1 requires JSON; accept application/json")
            if self.number is None:
                raise Problem(
                    "bad-request",
                    f"IDs of {self.served.scheme.name} do not fit the 53 bits of a JSON number; "
                    "omit ?number= and read them as strings",
                    limit="53",
                )
            return self.number
        return self.formats[wanted]

    async def pass_by(self, asked: Mapping[str, str]) -> None:
        """Wait until every later ID exceeds those of ``?after=``. Raises Problem."""
        if "after" not in asked:
            return
        seen, trusted = asked["after"].split(","), asked.get("trusted", "1")
        if len(seen) > _SEEN_MOST:
            raise Problem(
                "bad-request", f"?after=: at most {_SEEN_MOST} IDs", limit=str(_SEEN_MOST)
            )
        if trusted not in {"0", "1"}:
            raise Problem("bad-request", f"?trusted={trusted[:20]}: write 0, or omit it")
        try:
            await self.served.pass_by(seen, trusted=trusted == "1")
        except Misuse as error:
            can_go_on = trusted == "1" and isinstance(error, CodecError)
            step = "With ?trusted=0 the answer ignores it." if can_go_on else ""
            raise misuse(error, step) from None


class SingleIdEndpoint(IdEndpoint):
    """``GET /v1/{ns}/id``."""

    def __init__(
        self, served: ServedNamespace, guard: Guard, replies: Counter[tuple[str, int]]
    ) -> None:
        super().__init__(served, guard)
        self._replies = replies
        self._heads = {name.encode(): (one, _head(one)) for name, one in self.formats.items()}
        self._heads[b""] = self._heads[b"*/*"] = self._heads[formats.JSON.encode()]

    def at_once(self, fields: Mapping[bytes, bytes]) -> bytes | None:
        """Return a reply without its first lines, or None if it takes more than an ID at hand.

        fields: the headers of a plain request; none is repeated.
        """
        chosen = self._heads.get(fields.get(b"accept", b""))
        if chosen is None:
            return None
        guard, secret = self.guard, b""
        if guard.is_open:
            if guard.trusting and not asgi.is_local(fields[b"host"]):
                return None
            if fields.get(b"user-agent", b"").startswith(BROWSER):
                return None
        else:
            kind, _, secret = fields.get(b"authorization", b"").partition(b" ")
            if kind != b"Bearer" or not guard.passes(secret, self.served.name, 1):
                return None
        n = self.served.ready_one()
        if n is None:
            guard.take(secret, -1)
            return None
        self._replies["id", 200] += 1
        fmt, head = chosen
        body = fmt.one(n)
        return head % (len(body), body)

    async def answer(self, scope: Scope, _receive: Receive, send: Send) -> None:
        asked = asgi.parameters(scope, "number", "after", "trusted")
        fmt = self.choose_format(scope, asked.get("number", ""))
        await self.pass_by(asked)
        with self.guard.charge(asgi.bearer(scope), 1) as charge:
            n = (await self.served.many(1))[0]
            charge.used = 1
        await asgi.send_whole(send, 200, fmt.media_type, fmt.one(n), fmt.headers)


class BatchEndpoint(IdEndpoint):
    """``POST /v1/{ns}/ids?n=``."""

    method = "POST"

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if asgi.has_body(scope):
            raise Problem("too-large", "this request takes no body; omit it")
        asked = asgi.parameters(scope, "n", "number", "after", "trusted")
        fmt = self.choose_format(scope, asked.get("number", ""))
        n = _count(asked.get("n", ""))
        nonce = _nonce(scope)
        await self.pass_by(asked)
        headers = (*fmt.headers, (_NONCE, nonce)) if nonce else fmt.headers
        with self.guard.charge(asgi.bearer(scope), n) as charge:
            await self._answer(_Request(fmt, n, charge, headers), receive, send)

    async def _answer(self, request: _Request, receive: Receive, send: Send) -> None:
        n, fmt = request.n, request.format
        make = self.served.words if fmt.takes_words else self.served.many
        step = WORDS_CHUNK if fmt.takes_words else CHUNK
        if n > _SMALL:
            await _take_turn()
        ids = await make(min(n, step))
        request.charge.used = len(ids)
        if n <= step:
            body = fmt.head + fmt.some(ids) + fmt.tail
            await asgi.send_whole(send, 200, fmt.media_type, body, request.headers)
            return
        length = ((b"content-length", b"%d" % (fmt.width * n)),) if fmt.width else ()
        await send(asgi.start(200, fmt.media_type, (*length, *request.headers)))
        disconnected = asyncio.create_task(_disconnected(receive))
        try:
            await self._stream(send, request, ids, make, disconnected)
        except FrazilError as error:
            logs.failure(self.served.name, error)
            raise ConnectionAbortedError("incomplete reply: no more IDs") from None
        finally:
            disconnected.cancel()
            with suppress(asyncio.CancelledError):
                await disconnected

    async def _stream(
        self,
        send: Send,
        request: _Request,
        ids: Sequence[int],
        make: Callable[[int], Awaitable[Sequence[int]]],
        disconnected: "asyncio.Task[None]",
    ) -> None:
        """Send ``ids``, then the rest in chunks of the same size."""
        fmt, n = request.format, request.n
        before, step = fmt.head, len(ids)
        while True:
            n -= len(ids)
            body = before + fmt.some(ids) + (b"" if n else fmt.tail)
            await send({"type": "http.response.body", "body": body, "more_body": n > 0})
            if not n:
                return
            del body, ids
            await send({"type": "http.response.body", "body": b"", "more_body": True})  # it drains
            await _take_turn()
            if disconnected.done():
                return
            before = fmt.between
            ids = await make(min(n, step))
            request.charge.used += len(ids)


def _head(fmt: Format) -> bytes:
    """Return the headers of a format as a pattern for the length and the body."""
    fields = [(b"content-type", fmt.media_type), *fmt.headers]
    lines = b"".join(b"%b: %b\r\n" % field for field in fields)
    return lines.replace(b"%", b"%%") + b"content-length: %d\r\n\r\n%b"


async def _take_turn() -> None:
    """Wait for the turn of one of all long replies: the loop makes a chunk every other time."""
    async with _turn:
        await asyncio.sleep(0)
        await asyncio.sleep(0)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and 0 < int(text) <= BATCH_MOST):
        raise Problem(
            "bad-request",
            f"pass the number of IDs as ?n=, 1 to {BATCH_MOST}",
            limit=str(BATCH_MOST),
        )
    return int(text)


def _nonce(scope: Scope) -> bytes:
    """Return the nonce of a request, or b"". Raises Problem if it cannot be sent back."""
    nonce = asgi.header(scope, _NONCE)
    if not _NONCE_OF.fullmatch(nonce):
        raise Problem("bad-request", "Frazil-Nonce must be at most 64 printable ASCII characters")
    return nonce


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
