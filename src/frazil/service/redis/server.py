r"""The connections of the Redis endpoint.

Each connection is answered in order. While a command waits for its ID, or the client does not read
its replies, nothing more is read from the connection. So it holds at most one chunk of input, one
reply, and the output that the socket has not taken yet. A connection is closed if there are too
many, or if the client does not complete a command, read its replies, or send a required token in
time.

Pipelines mostly repeat one command. After a command is answered, identical ones that follow it are
answered in one step, as far as IDs are ready.
"""

import asyncio
import socket
from collections.abc import Coroutine
from contextlib import suppress
from ssl import SSLContext
from typing import Any, cast

from frazil.service import logs
from frazil.service.acceptor import Acceptor
from frazil.service.problems import TITLES
from frazil.service.redis.commands import Answer, Commands, bulk, error_of
from frazil.service.redis.parser import Parser, ProtocolError
from frazil.service.state import State

__all__ = ["CONNECTIONS_MOST", "RespServer"]

CONNECTIONS_MOST = 1_000

_FLUSH = 65_536  # bytes of replies to collect before a write
_AT_ONCE = 1_000  # identical commands
_ERROR = ord("-")
_OK = b"+OK\r\n"
# A web page can make a browser send POST to this port; lines of the body would be commands.
_FROM_A_BROWSER = frozenset({b"POST", b"HOST:"})


class _Connection(asyncio.Protocol):
    """One client."""

    def __init__(self, commands: Commands, open_ones: "set[_Connection]", timeout_s: float) -> None:
        self._commands = commands
        self._open = open_ones
        self._timeout_s = timeout_s
        self._parser = Parser()
        self._secret = b""
        self._pending: asyncio.Task[None] | None = None
        self._full = self._ending = False
        self._timer: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are of another class
        self._open.add(self)
        if len(self._open) > CONNECTIONS_MOST:
            self._end(error_of("ERR too many connections"))
        else:
            self._set_timer(on=self._unknown)

    @property
    def _unknown(self) -> bool:
        """Whether a token is required and has not been sent."""
        return not (self._commands.guard.is_open or self._secret)

    def connection_lost(self, _error: Exception | None) -> None:
        self._open.discard(self)
        self._ending = True
        self._set_timer(on=False)
        if self._pending is not None:
            self._pending.cancel()

    def data_received(self, data: bytes) -> None:
        if not self._ending:
            self._parser.feed(data)
            self._process()

    def pause_writing(self) -> None:
        """The client does not read its replies."""
        self._full = True
        self._set_timer(on=True)

    def resume_writing(self) -> None:
        self._full = False
        self._set_timer(on=False)
        if self._pending is None:
            self._process()

    def finish(self) -> "asyncio.Task[None] | None":
        """Stop reading at the shutdown, and close after pending replies."""
        self._ending = True
        if self._pending is None:
            self._transport.close()
        return self._pending

    def _process(self) -> None:
        """Answer the received commands in order, until one has to wait."""
        answers = bytearray()
        try:
            while not (self._full or self._ending or self._pending):
                command = self._parser.command()
                if command is None:
                    break
                answer = self._answer(command)
                self._set_timer(on=self._unknown)
                if isinstance(answer, bytes):
                    answers += answer
                    again = self._parser.same(_AT_ONCE)
                    if again and answer[0] != _ERROR:
                        count, more = self._commands.more(command, self._secret, again)
                        self._parser.skip(count)
                        answers += more
                    if len(answers) >= _FLUSH:
                        self._transport.write(bytes(answers))
                        answers.clear()
                else:
                    self._pending = asyncio.get_running_loop().create_task(self._finish(answer))
        except ProtocolError as error:
            self._end(bytes(answers) + error_of(f"ERR Protocol error: {error}"))
            return
        if answers:
            self._transport.write(bytes(answers))
        if self._ending and self._pending is None:
            self._transport.close()
        elif self._pending is not None or self._full:
            self._transport.pause_reading()
            self._set_timer(on=self._full)
        else:
            self._transport.resume_reading()
            self._set_timer(on=self._unknown or len(self._parser) > 0)

    async def _finish(self, answer: Coroutine[Any, Any, bytes]) -> None:
        try:
            text = await answer
        except Exception as error:  # noqa: BLE001 - after a bug too, the client gets a reply
            logs.bug(error)
            text = error_of(
                f"ERR {TITLES['internal'][1]}; report it with the traceback from the log"
            )
        self._pending = None
        self._transport.write(text)
        if not self._full or self._ending:
            self._process()

    def _answer(self, command: list[bytes]) -> Answer:
        """Answer commands about the connection here, and pass on all others."""
        name = command[0].upper()
        if name in _FROM_A_BROWSER:
            raise ProtocolError("this is HTTP; the port is for Redis clients")
        if name == b"AUTH":
            return self._auth(command[1:]) or _OK
        if name == b"HELLO":
            return self._hello(command[1:])
        if name == b"QUIT":
            self._ending = True
            return _OK
        return self._commands.answer(command, self._secret)

    def _auth(self, args: list[bytes]) -> bytes:
        """Store a token; return an error, or b""."""
        if len(args) not in {1, 2}:
            return error_of("ERR wrong number of arguments; use AUTH token")
        refusal = self._commands.guard.refusal(args[-1] or b"-", None, None)
        if refusal is not None:
            return error_of(f"WRONGPASS the token is {refusal.reason}")
        self._secret = args[-1]
        return b""

    def _hello(self, args: list[bytes]) -> bytes:
        version = args[0] if args else b"2"
        if version not in {b"2", b"3"}:
            return error_of("NOPROTO the protocol version must be 2 or 3")
        if len(args) > 1:
            wrong = error_of("ERR wrong arguments; use HELLO 3 AUTH user token")
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
        self._set_timer(on=True)
        self._transport.write(words)
        self._transport.close()

    def _set_timer(self, *, on: bool) -> None:
        """Start the timer for the client, unless it runs; or stop it."""
        if not on and self._timer is not None:
            self._timer.cancel()
            self._timer = None
        elif on and self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._timeout_s, self._transport.abort)


class RespServer:
    """The Redis endpoint. ``await start()``, later ``await stop()``."""

    def __init__(self, state: State) -> None:
        self._commands = Commands(state.namespaces, state.guard)
        self._settings = state.settings
        self._open: set[_Connection] = set()
        self._acceptor: Acceptor | None = None

    async def start(self, listener: socket.socket | None = None) -> None:
        """Serve on a listening socket, or on the address of the settings. Raises OSError."""
        settings, timeout_s = self._settings, self._settings.client_timeout_us / 1e6
        if listener is None:
            family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
            address = settings.host, settings.resp_port or 0
            listener = socket.create_server(address, family=family)
        self._listener = listener
        self._acceptor = Acceptor(
            listener,
            lambda: _Connection(self._commands, self._open, timeout_s),
            None if settings.tls is None else settings.tls.context(),
            timeout_s,
        )

    def reload(self, tls: SSLContext | None) -> None:
        """Use another certificate for new connections."""
        if self._acceptor is not None and (tls is None) == (self._acceptor.tls is None):
            self._acceptor.tls = tls

    async def stop(self) -> None:
        """Accept no more connections, answer pending commands, and close all connections."""
        if self._acceptor is None:
            return
        self._acceptor.stop()
        self._listener.close()
        begun = [task for one in list(self._open) if (task := one.finish()) is not None]
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*begun, return_exceptions=True)
