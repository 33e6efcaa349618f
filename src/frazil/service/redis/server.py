r"""The connections of the Redis door.

A connection is answered in order: while one call waits for its ID, nothing more is read from it,
and nor is it while the client does not take its answers. So a connection holds a chunk of what was
sent, one answer and what the socket has not taken yet, whatever is pipelined. Cut off are more
connections than are allowed, and who lets the service's patience pass with a command half sent,
with answers not taken, or, where tokens are asked for, without one.

A pipeline is mostly one command many times. Of those that follow the one just answered and are the
same, byte for byte, as many are answered in one step as there are IDs ready.
"""

import asyncio
import socket
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from typing import Any

from frazil.service import logs
from frazil.service.namespace import Issuer
from frazil.service.problems import TITLES
from frazil.service.redis.commands import Answer, Door, bulk, error_of
from frazil.service.redis.parser import Parser, ProtocolError
from frazil.service.settings import Settings
from frazil.service.tokens import Guard

__all__ = ["CONNECTIONS_MOST", "RespServer"]

CONNECTIONS_MOST = 1_000

_FLUSH = 65_536  # bytes of answers that are gathered before they are handed to the socket
_AT_ONCE = 1_000  # of the same command
_ERROR = ord("-")
_OK = b"+OK\r\n"
# A web page can have a browser post to this port, and lines of the body would be commands.
_FROM_A_BROWSER = frozenset({b"POST", b"HOST:"})


class _Connection(asyncio.Protocol):
    """One client."""

    def __init__(self, door: Door, open_ones: "set[_Connection]", patience_s: float) -> None:
        self._door = door
        self._open = open_ones
        self._patience_s = patience_s
        self._parser = Parser()
        self._secret = b""
        self._busy: asyncio.Task[None] | None = None
        self._full = self._ending = False
        self._patience: asyncio.TimerHandle | None = None
        self._wire: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio.Protocol."""
        assert isinstance(transport, asyncio.Transport)
        self._wire = transport
        self._open.add(self)
        if len(self._open) > CONNECTIONS_MOST:
            self._end(error_of("ERR too many connections"))
        else:
            self._be_patient(on=self._unknown)

    @property
    def _unknown(self) -> bool:
        """Whether a token is needed and did not come."""
        return not (self._door.guard.is_open or self._secret)

    def connection_lost(self, _error: Exception | None) -> None:
        """See asyncio.Protocol."""
        self._open.discard(self)
        self._ending = True
        self._be_patient(on=False)
        if self._busy is not None:
            self._busy.cancel()

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        if not self._ending:
            self._parser.feed(data)
            self._go_on()

    def pause_writing(self) -> None:
        """See asyncio.Protocol: the client does not take its answers."""
        self._full = True
        self._be_patient(on=True)

    def resume_writing(self) -> None:
        """See asyncio.Protocol."""
        self._full = False
        self._be_patient(on=False)
        if self._busy is None:
            self._go_on()

    def finish(self) -> "asyncio.Task[None] | None":
        """The service ends: read nothing more, and close when what was begun is answered."""
        self._ending = True
        if self._busy is None:
            self._wire.close()
        return self._busy

    def _go_on(self) -> None:
        """Answer what has come, in order, as far as can be without waiting."""
        answers = bytearray()
        try:
            while not (self._full or self._ending or self._busy):
                command = self._parser.command()
                if command is None:
                    break
                answer = self._answer(command)
                self._be_patient(on=self._unknown)
                if isinstance(answer, bytes):
                    answers += answer
                    again = self._parser.same(_AT_ONCE)
                    if again and answer[0] != _ERROR:
                        count, more = self._door.more(command, self._secret, again)
                        self._parser.skip(count)
                        answers += more
                    if len(answers) >= _FLUSH:
                        self._wire.write(bytes(answers))
                        answers.clear()
                else:
                    self._busy = asyncio.get_running_loop().create_task(self._later(answer))
        except ProtocolError as error:
            self._end(bytes(answers) + error_of(f"ERR Protocol error: {error}"))
            return
        if answers:
            self._wire.write(bytes(answers))
        if self._ending and self._busy is None:
            self._wire.close()
        elif self._busy is not None or self._full:
            self._wire.pause_reading()
            self._be_patient(on=self._full)
        else:
            self._wire.resume_reading()
            self._be_patient(on=self._unknown or len(self._parser) > 0)

    async def _later(self, answer: Coroutine[Any, Any, bytes]) -> None:
        try:
            text = await answer
        except Exception as error:  # noqa: BLE001 - a bug must not leave the client waiting
            logs.bug(error)
            text = error_of(f"ERR {TITLES['internal'][1]}; please report it")
        self._busy = None
        self._wire.write(text)
        if not self._full or self._ending:
            self._go_on()

    def _answer(self, command: list[bytes]) -> Answer:
        """A command that is about the connection is answered here; the others by the door."""
        name = command[0].upper()
        if name in _FROM_A_BROWSER:
            raise ProtocolError("this is HTTP, and the port is for Redis clients")
        if name == b"AUTH":
            return self._auth(command[1:]) or _OK
        if name == b"HELLO":
            return self._hello(command[1:])
        if name == b"QUIT":
            self._ending = True
            return _OK
        return self._door.answer(command, self._secret)

    def _auth(self, args: list[bytes]) -> bytes:
        """Remember a token; what is wrong with it, or nothing."""
        if len(args) not in {1, 2}:
            return error_of("ERR wrong number of arguments; write AUTH token")
        refusal = self._door.guard.refusal(args[-1] or b"-", None, None)
        if refusal is not None:
            return error_of(f"WRONGPASS the token is {refusal}")
        self._secret = args[-1]
        return b""

    def _hello(self, args: list[bytes]) -> bytes:
        version = args[0] if args else b"2"
        if version not in {b"2", b"3"}:
            return error_of("NOPROTO this door speaks 2 and 3")
        if len(args) > 1:
            wrong = error_of("ERR write HELLO 3 AUTH user token")
            if len(args) == 4 and args[1].upper() == b"AUTH":
                wrong = self._auth(args[2:])
            if wrong:
                return wrong
        facts = [bulk("server"), bulk("frazil"), bulk("proto"), b":%b\r\n" % version]
        facts += [bulk("mode"), bulk("standalone"), bulk("role"), bulk("master")]
        head = b"%%%d\r\n" % (len(facts) // 2) if version == b"3" else b"*%d\r\n" % len(facts)
        return head + b"".join(facts)

    def _end(self, words: bytes) -> None:
        self._ending = True
        self._be_patient(on=True)
        self._wire.write(words)
        self._wire.close()

    def _be_patient(self, *, on: bool) -> None:
        """Start to wait for something of the client's, once; or wait for nothing."""
        if not on and self._patience is not None:
            self._patience.cancel()
            self._patience = None
        elif on and self._patience is None:
            loop = asyncio.get_running_loop()
            self._patience = loop.call_later(self._patience_s, self._wire.abort)


class RespServer:
    """The door on a socket. ``await begin()``, later ``await end()``."""

    def __init__(self, issuers: Mapping[str, Issuer], guard: Guard, settings: Settings) -> None:
        self._door = Door(issuers, guard)
        self._settings = settings
        self._open: set[_Connection] = set()
        self._server: asyncio.Server | None = None

    async def begin(self, listener: socket.socket | None = None) -> None:
        """Serve a socket, or listen at the address of the settings. Raises OSError."""
        settings = self._settings
        at: dict[str, Any] = {"sock": listener}
        if listener is None:
            at = {"host": settings.host, "port": settings.resp_port}
        self._server = await asyncio.get_running_loop().create_server(
            lambda: _Connection(self._door, self._open, settings.patience_us / 1e6),
            ssl=None if settings.tls is None else settings.tls.context(),
            **at,
        )

    async def end(self) -> None:
        """Accept nothing more, answer what was begun, and close every connection."""
        if self._server is None:
            return
        self._server.close()
        begun = [task for one in list(self._open) if (task := one.finish()) is not None]
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*begun, return_exceptions=True)
