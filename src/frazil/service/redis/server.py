r"""The connections of the Redis endpoint.

Each connection is answered in order. While a command waits for its ID, or the client does not read
its replies, nothing more is read from the connection. So it holds at most one small buffer of
input, one command, and two of output. A connection is closed if there are too many, or if the
client does not complete a command, read its replies, or send a required token in time.

A buffer may hold thousands of tiny commands. A connection answers them for a third of a
millisecond; then it waits for its turn among all such connections, and one of them goes on in each
iteration of the event loop. So no number of them holds up a client that sends one command.

Clients mostly repeat one command. What answered a command for an ID answers identical ones that
follow it in one step, as far as IDs are ready; they are not parsed again.
"""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import cast

from frazil.service import logs
from frazil.service.acceptor import Acceptor, Turns
from frazil.service.problems import TITLES
from frazil.service.redis.commands import OK, Again, Answer, Commands, bulk, error_of, shown
from frazil.service.redis.parser import Parser, ProtocolError
from frazil.service.state import State
from frazil.system.clock import boot_ns

CONNECTIONS_MOST = 1_000

_INPUT = memoryview(bytearray(16_384))  # of all connections: what comes is copied at once
_FLUSH = 16_384  # bytes of replies to collect before a write
_AT_ONCE = 200  # identical commands
_SLICE_NS = 300_000
_ERROR = ord("-")
_QUEUE_MOST = 10_000  # commands of a transaction; equal ones are kept once
_DIFFERENT_MOST = 64
_ENDS = frozenset({b"EXEC", b"DISCARD"})  # a transaction
_QUEUED_BYTES_MOST = 1_024  # of one of them
# A web page can make a browser send POST to this port; lines of the body would be commands.
_FROM_A_BROWSER = frozenset({b"POST", b"HOST:"})


class _Connection(asyncio.BufferedProtocol):
    """One client."""

    def __init__(
        self, commands: Commands, open_ones: "set[_Connection]", turns: Turns, timeout_s: float
    ) -> None:
        self._commands = commands
        self._open = open_ones
        self._turns = turns
        self._timeout_s = timeout_s
        self._parser = Parser()
        self._secret = b""
        self._protocol = 2
        self._queued: list[list[bytes]] | None = None  # the commands of a transaction
        self._queued_once: dict[tuple[bytes, ...], list[bytes]] = {}
        self._queue_broken = False
        self._pending: asyncio.Task[None] | None = None
        self._reads = asyncio.Event()  # whether the client reads its replies
        self._reads.set()
        self._again: Again | None = None  # answers the last command again
        self._waits = self._paused = self._ending = False
        self._timer: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are of another class
        self._open.add(self)
        if len(self._open) > CONNECTIONS_MOST:
            self._end(error_of("ERR too many connections"))
        else:
            self._transport.set_write_buffer_limits(_FLUSH)
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

    def get_buffer(self, _size: int) -> memoryview:
        return _INPUT

    def buffer_updated(self, size: int) -> None:
        data = bytes(_INPUT[:size])
        if self._again is not None and data == self._parser.last and not self._parser:
            count, answer = self._again(1)
            if count:
                self._transport.write(answer)
                return
        if not self._ending:
            self._parser.feed(data)
            self._process()

    def pause_writing(self) -> None:
        """The client does not read its replies."""
        self._reads.clear()
        self._set_paused(paused=True)
        self._set_timer(on=True)

    def resume_writing(self) -> None:
        self._reads.set()
        self._set_timer(on=False)
        self._process()

    def finish(self) -> "asyncio.Task[None] | None":
        """Stop reading at the shutdown, and close after pending replies."""
        self._ending = True
        if self._pending is None:
            self._transport.close()
        return self._pending

    def next_turn(self) -> None:
        """Go on with the received commands."""
        self._waits = False
        self._process()

    def _process(self) -> None:
        """Answer the received commands in order, for a while or until one has to wait."""
        if self._waits or self._pending:
            return
        parser, answers, size, until_ns = self._parser, list[bytes](), 0, 0
        try:
            while parser and self._reads.is_set() and not (self._ending or self._pending):
                if not until_ns:
                    until_ns = boot_ns() + _SLICE_NS
                elif boot_ns() > until_ns:
                    self._waits = True
                    self._turns.add(self.next_turn)
                    break
                if (answer := self._answered()) is None:
                    break
                answers.append(answer)
                size += len(answer)
                if size >= _FLUSH:
                    self._transport.write(b"".join(answers))
                    answers, size = [b""], 0
        except ProtocolError as error:
            self._end(b"".join(answers) + error_of(f"ERR Protocol error: {error}"))
            return
        if size:
            self._transport.write(b"".join(answers))
        if self._ending and self._pending is None:
            self._transport.close()
            return
        unread, unknown = not self._reads.is_set(), self._unknown
        busy = unread or self._waits or self._pending is not None
        self._set_paused(paused=busy)
        if answers and not unknown:  # a command that has begun since has its own time
            self._set_timer(on=False)
        self._set_timer(on=unread if busy else unknown or len(parser) > 0)

    def _answered(self) -> bytes | None:
        """Return the replies to the next command and its repetitions, as far as they do not wait.

        None: no command is complete.
        """
        if self._again is not None and (count := self._parser.same(_AT_ONCE)):
            count, answers = self._again(count)
            if count:
                self._parser.skip(count)
                return answers
        command = self._parser.command()
        if not command:
            return None if command is None else b""
        answer = self._answer(command)
        self._again = None
        if not isinstance(answer, bytes):
            self._pending = asyncio.get_running_loop().create_task(self._finish(answer))
            return b""
        if self._queued is None and answer[0] != _ERROR:
            self._again = self._commands.again(command, self._secret)
        return answer

    async def _finish(self, answer: AsyncIterator[bytes]) -> None:
        try:
            async for part in answer:
                self._transport.write(part)
                await asyncio.sleep(0)  # long replies take turns with other connections
                await self._reads.wait()
        except ConnectionAbortedError:
            self._transport.abort()
        except Exception as error:  # noqa: BLE001 - after a bug too, the client gets a reply
            logs.bug(error)
            self._transport.write(
                error_of(f"ERR {TITLES['internal'][1]}; report it with the traceback from the log")
            )
        self._pending = None
        self._process()

    def _answer(self, command: list[bytes]) -> Answer:
        """Answer commands about the connection here, and pass on all others."""
        name = command[0].upper()
        if name in _FROM_A_BROWSER:
            raise ProtocolError("this is HTTP; the port is for Redis clients")
        if name == b"QUIT":  # inside a transaction too
            self._ending = True
            return OK
        if self._queued is not None:
            return self._queue(name, command, self._queued)
        if name in _ENDS:
            return error_of(f"ERR {name.decode()} without MULTI")
        if name == b"MULTI":
            self._queued, self._queued_once, self._queue_broken = [], {}, False
            return OK
        if name == b"AUTH":
            return self._auth(command[1:]) or OK
        if name == b"HELLO":
            return self._hello(command[1:])
        return self._commands.answer(command, self._secret)

    def _queue(self, name: bytes, command: list[bytes], queued: list[list[bytes]]) -> Answer:
        """A command between MULTI and EXEC."""
        if name in _ENDS:
            self._queued = None
            if name == b"DISCARD":
                return OK
            if self._queue_broken:
                return error_of("EXECABORT the transaction had a wrong command, so none was run")
            return self._commands.all_of(queued, self._secret)
        wrong = self._why_not_queued(name, command, len(queued))
        if wrong:
            self._queue_broken = True
            return error_of(wrong)
        queued.append(self._queued_once.setdefault(tuple(command), command))
        return b"+QUEUED\r\n"

    def _why_not_queued(self, name: bytes, command: list[bytes], count: int) -> str:
        if self._unknown:
            return "NOAUTH Authentication required: AUTH token"
        if name not in self._commands.commands:
            return f"ERR {shown(name)} is unknown, or has no place in a transaction"
        new = tuple(command) not in self._queued_once
        many = count >= _QUEUE_MOST or (new and len(self._queued_once) >= _DIFFERENT_MOST)
        if many or sum(map(len, command)) > _QUEUED_BYTES_MOST:
            return "ERR the transaction is too large; use pipelines without MULTI"
        return ""

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
        """``HELLO [2|3 [AUTH user token] [SETNAME name]]``."""
        if args and args[0] not in {b"2", b"3"}:
            return error_of("NOPROTO the protocol version must be 2 or 3")
        rest = args[1:]
        while rest:
            option = rest[0].upper()
            if option == b"AUTH" and len(rest) >= 3:
                if wrong := self._auth(rest[1:3]):
                    return wrong
                rest = rest[3:]
            elif option == b"SETNAME" and len(rest) >= 2:
                rest = rest[2:]
            else:
                return error_of("ERR wrong arguments; use HELLO 3 AUTH user token SETNAME name")
        if args:
            self._protocol = int(args[0])
        version = self._protocol
        facts = [bulk("server"), bulk("frazil"), bulk("proto"), b":%d\r\n" % version]
        facts += [bulk("mode"), bulk("standalone"), bulk("role"), bulk("master")]
        head = b"%%%d\r\n" % (len(facts) // 2) if version == 3 else b"*%d\r\n" % len(facts)
        return head + b"".join(facts)

    def _end(self, words: bytes) -> None:
        self._ending = True
        self._set_timer(on=True)
        self._transport.write(words)
        self._transport.close()

    def _set_paused(self, *, paused: bool) -> None:
        if paused is not self._paused:
            self._paused = paused
            (self._transport.pause_reading if paused else self._transport.resume_reading)()

    def _set_timer(self, *, on: bool) -> None:
        """Start the timer for the client, unless it runs; or stop it."""
        if not on and self._timer is not None:
            self._timer.cancel()
            self._timer = None
        elif on and self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._timeout_s, self._transport.abort)


class RespServer:
    """The Redis endpoint on a listening socket. Created in the event loop."""

    def __init__(self, state: State, listener: socket.socket) -> None:
        settings = state.settings
        timeout_s = settings.client_timeout_us / 1e6
        commands, turns = Commands(state.namespaces, state.guard), Turns()
        self._open: set[_Connection] = set()
        self._listener = listener
        self.acceptor = Acceptor(
            listener,
            lambda: _Connection(commands, self._open, turns, timeout_s),
            settings.tls_context(),
            timeout_s,
        )

    async def stop(self) -> None:
        """Accept no more connections, answer pending commands, and close all connections."""
        self.acceptor.stop()
        self._listener.close()
        begun = [task for one in list(self._open) if (task := one.finish()) is not None]
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*begun, return_exceptions=True)
