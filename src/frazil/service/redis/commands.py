r"""The Redis door: IDs for every program that has a Redis client.

``INCR orders`` is a call that any client of any language makes today, and pipelines. It answers an
integer, which on this wire has 63 bits and a sign; IDs that are larger or are known by their text
come with ``FRAZIL.ID orders``.

    PING [text]              PONG
    AUTH [user] token        the user's name is not looked at
    HELLO [2|3 [AUTH u t]]   what this is; newer clients begin with it
    INCR ns, INCRBY ns 1     an ID as an integer; clients send the one for the other
    FRAZIL.ID ns             an ID as text
    FRAZIL.IDS ns n          many, as an array of texts
    FRAZIL.INSPECT ns id     what is in it, as JSON
    QUIT                     OK, and the end

What the commands answer stands here; ``resp_server`` has the connections.
"""

from collections.abc import Callable, Coroutine, Mapping
from math import isinf
from typing import Any

from frazil.errors import FrazilError, Misuse
from frazil.service import logs
from frazil.service.inspection import inspection
from frazil.service.namespace import Issuer
from frazil.service.problems import TITLES, behind
from frazil.service.tokens import Guard, OverQuota, Scope

__all__ = ["IDS_MOST", "Answer", "Door", "bulk", "error_of"]

IDS_MOST = 10_000
"""IDs in one answer; its array is held whole."""

_INTEGER_END = 1 << 63
_SINGLE = frozenset({b"INCR", b"INCRBY", b"FRAZIL.ID"})

Answer = bytes | Coroutine[Any, Any, bytes]


class _Refused(Exception):
    """A command that is answered with an error; its text begins with Redis's word for the kind."""


class Door:
    """What the commands answer. ``secret`` is the token that a connection sent, if any."""

    def __init__(self, issuers: Mapping[str, Issuer], guard: Guard) -> None:
        self.issuers = issuers
        self.guard = guard
        self.commands: dict[bytes, Callable[[list[bytes], bytes], Answer]] = {
            b"INCR": self.incr,
            b"INCRBY": self.incr,
            b"FRAZIL.ID": self.one,
            b"FRAZIL.IDS": self.many,
            b"FRAZIL.INSPECT": self.inspect,
            b"PING": self.ping,
        }

    def answer(self, command: list[bytes], secret: bytes) -> Answer:
        """The answer to a command, or what to wait for to have it."""
        try:
            name = command[0].upper()
            if name not in self.commands:
                raise _Refused(f"ERR unknown command; there are {self.known}")
            return self.commands[name](command[1:], secret)
        except _Refused as refused:
            return error_of(str(refused))
        except OverQuota as over:
            return _over(over)

    def more(self, command: list[bytes], secret: bytes, n: int) -> tuple[int, bytes]:
        """Answers to up to ``n`` more of a command that has just been answered: how many, and they.

        Only for single IDs, and those that are ready; the others go their usual way.
        """
        name = command[0].upper()
        if name not in _SINGLE or self.guard.refusal(secret, "issue", command[1].decode()):
            return 0, b""
        issuer = self.issuers[command[1].decode()]
        if self.guard.metered:
            return 0, b""
        ids = issuer.ready(n)
        if name == b"FRAZIL.ID":
            return len(ids), b"".join([bulk(issuer.scheme.format(n)) for n in ids])
        if ids and max(ids) < _INTEGER_END:
            return len(ids), (":" + "\r\n:".join(map(str, ids)) + "\r\n").encode()
        return len(ids), b"".join([_integer(n) for n in ids])

    @property
    def known(self) -> str:
        """The names of the commands."""
        return ", ".join(sorted([*(name.decode() for name in self.commands), "AUTH", "HELLO"]))

    def incr(self, args: list[bytes], secret: bytes) -> Answer:
        """``INCR ns``, or ``INCRBY ns 1``; an ID is one step, so there are no others."""
        if len(args) == 2:
            if args[1] != b"1":
                raise _Refused("ERR an ID is one step; write INCR ns, or FRAZIL.IDS ns n")
            args = args[:1]
        issuer = self._issuer(args, 1, "INCR ns", secret, "issue")
        if issuer.scheme.bits > 63 and not issuer.scheme.layout.signed_safe:
            raise _Refused(
                f"ERR IDs of {issuer.scheme.name} do not fit an integer of this wire; use FRAZIL.ID"
            )
        return self._single(issuer, secret, _integer)

    def one(self, args: list[bytes], secret: bytes) -> Answer:
        """``FRAZIL.ID ns``."""
        issuer = self._issuer(args, 1, "FRAZIL.ID ns", secret, "issue")
        return self._single(issuer, secret, lambda n: bulk(issuer.scheme.format(n)))

    def many(self, args: list[bytes], secret: bytes) -> Answer:
        """``FRAZIL.IDS ns n``."""
        issuer = self._issuer(args, 2, "FRAZIL.IDS ns n", secret, "issue")
        text = args[1]
        if not (text.isdigit() and len(text) <= 9 and 0 < int(text) <= IDS_MOST):
            raise _Refused(f"ERR n is a whole number from 1 to {IDS_MOST}")
        shown = issuer.scheme.format
        return self._wait(
            issuer,
            secret,
            int(text),
            lambda ids: b"*%d\r\n%b" % (len(ids), b"".join(bulk(shown(n)) for n in ids)),
        )

    def inspect(self, args: list[bytes], secret: bytes) -> Answer:
        """``FRAZIL.INSPECT ns id``."""
        issuer = self._issuer(args, 2, "FRAZIL.INSPECT ns id", secret, "inspect")
        try:
            return bulk(inspection(issuer, args[1].decode("utf-8", "replace")))
        except Misuse as error:
            raise _Refused(f"ERR {error}") from None

    def ping(self, args: list[bytes], _secret: bytes) -> Answer:
        """``PING [text]``."""
        if len(args) > 1:
            raise _Refused("ERR write PING, or PING text")
        return b"$%d\r\n%b\r\n" % (len(args[0]), args[0]) if args else b"+PONG\r\n"

    def _issuer(
        self, args: list[bytes], count: int, usage: str, secret: bytes, scope: Scope
    ) -> Issuer:
        if len(args) != count:
            raise _Refused(f"ERR wrong number of arguments; write {usage}")
        name = args[0].decode("utf-8", "replace")
        refusal = self.guard.refusal(secret, scope, name)
        if refusal == "missing":
            raise _Refused("NOAUTH Authentication required: AUTH token")
        if refusal is not None:
            raise _Refused(f"NOPERM this token is {refusal} here")
        issuer = self.issuers.get(name)
        if issuer is None:
            raise _Refused("ERR no namespace of that name is served here")
        return issuer

    def _single(self, issuer: Issuer, secret: bytes, shown: Callable[[int], bytes]) -> Answer:
        """One ID, now if there is one."""
        with self.guard.bill(secret, 1) as bill:
            n = issuer.ready_one()
            if n is not None:
                bill.made = 1
                return shown(n)
        return self._wait(issuer, secret, 1, lambda ids: shown(ids[0]))

    async def _wait(
        self, issuer: Issuer, secret: bytes, n: int, shown: Callable[[list[int]], bytes]
    ) -> bytes:
        """``n`` IDs. Charged for here, since a call whose client goes away may never begin."""
        try:
            with self.guard.bill(secret, n) as bill:
                ids = await issuer.many(n)
                bill.made = len(ids)
        except OverQuota as over:
            return _over(over)
        except FrazilError as error:
            logs.failure(issuer.name, error)
            problem = behind(error)
            word = "TRYAGAIN" if problem.kind == "try-later" else "ERR"
            return error_of(f"{word} {TITLES[problem.kind][1]}: {problem}")
        return shown(ids)


def _over(over: OverQuota) -> bytes:
    return error_of(f"{'ERR' if isinf(over.wait_s) else 'TRYAGAIN'} {over}")


def error_of(text: str) -> bytes:
    """An error of the wire: one line, its first word the kind."""
    line = " ".join(text.split())
    return b"-%b\r\n" % line.encode()


def bulk(text: str) -> bytes:
    """A bulk string of the wire."""
    data = text.encode()
    return b"$%d\r\n%b\r\n" % (len(data), data)


def _integer(n: int) -> bytes:
    if n >= _INTEGER_END:
        return error_of("ERR this ID does not fit an integer of this wire; use FRAZIL.ID")
    return b":%d\r\n" % n
