r"""The commands of the Redis endpoint, for programs with any Redis client.

``INCR orders`` is a command of every client, and can be pipelined. ``FRAZIL.ID orders`` returns IDs
in the text of their scheme.

    INCR ns, INCRBY ns 1     an ID as a number; some clients send INCRBY for INCR
    FRAZIL.ID ns             an ID as text
    FRAZIL.IDS ns n          many IDs, as an array of texts
    ... AFTER id [id ...]    the same, greater than IDs that were seen
    FRAZIL.INSPECT ns id     the contents of an ID, as JSON
    PING, ECHO, INFO         as in Redis; clients send them to see whether the server is ready
    SELECT, CLIENT, WATCH    OK: every database has the same namespaces, and no key ever changes

A client in JavaScript rounds an integer beyond 2^53, so it would get one number for many IDs. Where
a scheme has such IDs, ``INCR`` answers with the digits as a string, which no client rounds.

This module computes the replies; ``redis.server`` has the connections and the commands about them.
"""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from math import isinf

from frazil.errors import FrazilError, Misuse
from frazil.schemes.scheme import Scheme
from frazil.service import logs
from frazil.service.inspection import facts_of
from frazil.service.namespace import ServedNamespace, texts
from frazil.service.problems import TITLES, no_id, refused
from frazil.service.tokens import Guard, OverQuota, Scope

IDS_MOST = 10_000  # the most IDs in one reply
OK = b"+OK\r\n"

SEEN_MOST = 101
"""The most arguments from AFTER on."""

_PART = 500  # IDs of a reply that are made and written together
_EXACT_BITS = 53  # of an integer that every client holds
_OF_CONNECTIONS = ("AUTH", "DISCARD", "EXEC", "HELLO", "MULTI", "QUIT")  # see redis.server
_STEP = 50  # commands of a transaction that are answered together
_INFO = "# Server\r\nserver_name:frazil\r\nredis_mode:standalone\r\nrole:master\r\nloading:0\r\n"
Answer = bytes | AsyncIterator[bytes]  # a reply, or its parts

Again = Callable[[int], tuple[int, bytes]]
"""Answers up to so many repetitions of a command with IDs that are ready: how many, the replies."""

_Form = Callable[[Scheme, Sequence[int]], bytes]  # writes IDs as replies, one after the other


class _Refused(Exception):
    """A command is answered with an error; its text begins with the Redis error prefix."""


class Commands:
    """The replies to commands. ``secret`` is the token of the connection, if any."""

    def __init__(self, namespaces: Mapping[str, ServedNamespace], guard: Guard) -> None:
        self.namespaces = namespaces
        self.guard = guard
        self.commands: dict[bytes, Callable[[list[bytes], bytes], Answer]] = {
            b"INCR": self._incr,
            b"INCRBY": self._incr,
            b"FRAZIL.ID": self._one,
            b"FRAZIL.IDS": self._many,
            b"FRAZIL.INSPECT": self._inspect,
            b"PING": self._ping,
            b"ECHO": self._echo,
            b"INFO": lambda _args, _secret: bulk(_INFO),
            b"SELECT": self._select,
            b"CLIENT": self._client,
            b"WATCH": lambda _args, _secret: OK,
            b"UNWATCH": lambda _args, _secret: OK,
        }

    def answer(self, command: list[bytes], secret: bytes) -> Answer:
        """Return the reply to a command, or its parts, which have to wait."""
        try:
            name = command[0].upper()
            if name not in self.commands:
                raise _Refused(f"ERR unknown command {shown(name)}; known commands: {self.known}")
            return self.commands[name](command[1:], secret)
        except _Refused as refused:
            return error_of(str(refused))
        except OverQuota as over:
            return _over(over)

    async def all_of(self, commands: list[list[bytes]], secret: bytes) -> AsyncIterator[bytes]:
        """Yield the replies to the commands of a transaction, as parts of an array."""
        yield b"*%d\r\n" % len(commands)
        for at in range(0, len(commands), _STEP):
            replies = bytearray()
            for command in commands[at : at + _STEP]:
                answer = self.answer(command, secret)
                if isinstance(answer, bytes):
                    replies += answer
                else:
                    yield bytes(replies)
                    replies.clear()
                    async for part in answer:
                        yield part
            yield bytes(replies)

    def again(self, command: list[bytes], secret: bytes) -> Again | None:
        """Return what answers a command for one ID again, after an ID was the answer to it."""
        form = _FORMS.get(command[0].upper())
        if form is None:
            return None
        name = command[1].decode()
        served, guard = self.namespaces[name], self.guard

        def repeated(most: int) -> tuple[int, bytes]:
            if not guard.passes(secret, name, most):
                return 0, b""
            ids = served.ready(most)
            if len(ids) < most:
                guard.take(secret, len(ids) - most)
            return len(ids), form(served.scheme, ids) if ids else b""

        return repeated

    @property
    def known(self) -> str:
        """The names of the commands."""
        return ", ".join(sorted([*(name.decode() for name in self.commands), *_OF_CONNECTIONS]))

    def _incr(self, args: list[bytes], secret: bytes) -> Answer:
        if len(args) == 2:
            if args[1] != b"1":
                raise _Refused("ERR the increment must be 1; use INCR ns, or FRAZIL.IDS ns n")
            args = args[:1]
        served = self._served(args, 1, "INCR ns", secret, "issue")
        return self._single(served, secret, _numbers)

    def _one(self, args: list[bytes], secret: bytes) -> Answer:
        args, seen = _seen(args, 1)
        served = self._served(args, 1, "FRAZIL.ID ns [AFTER id ...]", secret, "issue")
        if seen:
            return self._wait(served, secret, 1, _texts, seen=seen)
        return self._single(served, secret, _texts)

    def _many(self, args: list[bytes], secret: bytes) -> Answer:
        args, seen = _seen(args, 2)
        served = self._served(args, 2, "FRAZIL.IDS ns n [AFTER id ...]", secret, "issue")
        text = args[1]
        if not (text.isdigit() and len(text) <= 9 and 0 < int(text) <= IDS_MOST):
            raise _Refused(f"ERR n must be a whole number from 1 to {IDS_MOST}")
        return self._wait(served, secret, int(text), _texts, b"*%d\r\n" % int(text), seen=seen)

    def _inspect(self, args: list[bytes], secret: bytes) -> Answer:
        served = self._served(args, 2, "FRAZIL.INSPECT ns id", secret, "inspect")
        try:
            facts = facts_of(served, args[1].decode("utf-8", "replace"))
        except Misuse as error:
            raise _Refused(f"ERR {error}") from None
        return bulk(json.dumps(facts, ensure_ascii=False, separators=(",", ":")))

    def _ping(self, args: list[bytes], secret: bytes) -> Answer:
        if len(args) > 1:
            raise _Refused("ERR wrong number of arguments; use PING or PING text")
        return self._echo(args, secret) if args else b"+PONG\r\n"

    def _echo(self, args: list[bytes], _secret: bytes) -> Answer:
        if len(args) != 1:
            raise _Refused("ERR wrong number of arguments; use ECHO text")
        return b"$%d\r\n%b\r\n" % (len(args[0]), args[0])

    def _select(self, args: list[bytes], _secret: bytes) -> Answer:
        if len(args) != 1 or not args[0].isdigit():
            raise _Refused("ERR wrong arguments; use SELECT 0")
        return OK

    def _client(self, args: list[bytes], _secret: bytes) -> Answer:
        """``CLIENT SETNAME name`` and ``CLIENT SETINFO attribute text``, which are ignored."""
        if not args or args[0].upper() not in {b"SETNAME", b"SETINFO"}:
            raise _Refused("ERR only CLIENT SETNAME and CLIENT SETINFO are known")
        return OK

    def _served(
        self, args: list[bytes], count: int, usage: str, secret: bytes, scope: Scope
    ) -> ServedNamespace:
        if len(args) != count:
            raise _Refused(f"ERR wrong number of arguments; use {usage}")
        name = args[0].decode("utf-8", "replace")
        refusal = self.guard.refusal(secret, scope, name)
        if refusal is not None and refusal.reason == "missing":
            raise _Refused("NOAUTH Authentication required: AUTH token")
        if refusal is not None:
            raise _Refused(f"NOPERM {refused(refusal)}")
        served = self.namespaces.get(name)
        if served is None:
            raise _Refused(
                f"ERR no namespace {shown(args[0])} is served here; those served: "
                f"{', '.join(sorted(self.namespaces))}. [namespaces] in the configuration "
                "(frazil serve --config) adds others"
            )
        return served

    def _single(self, served: ServedNamespace, secret: bytes, form: _Form) -> Answer:
        """Return one ID, at once if one is ready."""
        with self.guard.charge(secret, 1) as charge:
            if ids := served.ready(1):
                charge.used = 1
                return form(served.scheme, ids)
        return self._wait(served, secret, 1, form)

    async def _wait(
        self,
        served: ServedNamespace,
        secret: bytes,
        n: int,
        form: _Form,
        head: bytes = b"",
        *,
        seen: Sequence[str] = (),
    ) -> AsyncIterator[bytes]:
        """Yield ``n`` IDs in parts. Raises ConnectionAbortedError after the first one.

        The charge is made here, because the iteration may never start.
        """
        begun = False
        try:
            with self.guard.charge(secret, n) as charge:
                try:
                    if seen:
                        await served.pass_by(seen, trusted=True)
                except Misuse as error:
                    yield error_of(f"ERR {error}")
                    return
                for done in range(0, n, _PART):
                    ids = await served.many(min(n - done, _PART))
                    charge.used += len(ids)
                    yield head + form(served.scheme, ids)
                    head, begun = b"", True
        except OverQuota as over:
            yield _over(over)
        except FrazilError as error:
            logs.failure(served.name, error)
            if begun:
                raise ConnectionAbortedError from error
            problem = no_id(error)
            word = "TRYAGAIN" if problem.kind == "try-later" else "ERR"
            yield error_of(f"{word} {TITLES[problem.kind][1]}: {problem}")


def _seen(args: list[bytes], count: int) -> tuple[list[bytes], list[str]]:
    """Return the first ``count`` arguments, and the IDs after the word AFTER."""
    rest = args[count:]
    if len(rest) < 2 or rest[0].upper() != b"AFTER" or len(rest) > SEEN_MOST:
        return args, []
    return args[:count], [each.decode("utf-8", "replace") for each in rest[1:]]


def _over(over: OverQuota) -> bytes:
    return error_of(f"{'ERR' if isinf(over.wait_s) else 'TRYAGAIN'} {over}")


def error_of(text: str) -> bytes:
    """Return an error reply: one line that begins with the error prefix."""
    line = " ".join(text.split())
    return b"-%b\r\n" % line.encode()


def bulk(text: str) -> bytes:
    """Return a bulk string."""
    data = text.encode()
    return b"$%d\r\n%b\r\n" % (len(data), data)


def shown(name: bytes) -> str:
    """Return the name of a command as an error shows it."""
    return repr(name[:40].decode("utf-8", "replace"))


def _texts(scheme: Scheme, ids: Sequence[int]) -> bytes:
    return b"".join(map(bulk, texts(scheme, ids)))


def _numbers(scheme: Scheme, ids: Sequence[int]) -> bytes:
    if scheme.bits <= _EXACT_BITS:
        return b":%d\r\n" * len(ids) % tuple(ids)
    if len(ids) == 1 or (size := len(str(max(ids)))) > len(str(min(ids))):
        return b"".join([bulk(str(n)) for n in ids])
    return b"$%d\r\n%%d\r\n" % size * len(ids) % tuple(ids)


_FORMS: dict[bytes, _Form] = {b"INCR": _numbers, b"INCRBY": _numbers, b"FRAZIL.ID": _texts}
"""Of the commands for one ID."""
