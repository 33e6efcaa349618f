"""The connection from one member to the store and back, and its faults.

A verb takes time: while a request or a reply is on its way, the world continues, with the member's
own threads. To the member a lost request and a lost reply look the same. A repeated request is
served again later, and its second reply is discarded.

**Reordering.** A delayed request outlives its member's timeout, and arrives after later ones of the
same member and of others. A delayed reply is on the connection before the awaited one. Every reply
names its request (a nonce, here the token). A reply to another request is discarded, with those
after it.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeAlias, TypeVar

from evidence.simulator.order import Base
from frazil.claims.claim import Claim, LastSeen, Lost, Terms, VerbRequest, Wait
from frazil.claims.record import Record
from frazil.errors import ClockError, ConfigError, FrazilError, RegistryUnavailable
from frazil.registries.shelves import AllNeeded, Reply, ShelvedRegistry, Verb

if TYPE_CHECKING:
    from evidence.simulator.process import Process

__all__ = ["Link", "SimulatedRegistry"]

Answer = TypeVar("Answer")

_TIMEOUT_US = 200_000
_USUAL_US = 2_000

# The name of the verb, the token of the request, and the answer.
Sent: TypeAlias = "tuple[str, str, object]"
# The name of a request's verb, the request, what its member knew then of the store's clock, and
# when it was sent.
About: TypeAlias = "tuple[str, VerbRequest, int, int]"


class Link:
    """The faults between a member and the store, each until a moment of true time.

    strays: the replies that came too late, on the current connection. struck: the faults that occur
    while the next request is on its way.
    """

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.until_us: dict[str, int] = {}
        self.strays: list[Sent] = []
        self.struck: list[Callable[[], None]] = []

    def ails(self, kind: str, now_us: int, chance: float = 1.0) -> bool:
        """Whether this fault affects a message that is sent now."""
        return now_us < self.until_us.get(kind, 0) and self.rng.random() < chance

    def delay_us(self, now_us: int, longest_us: int) -> int:
        """How long a message is on its way."""
        most_us = longest_us if self.ails("delay", now_us) else _USUAL_US
        return int(self.rng.random() * most_us)


class Step(NamedTuple, Generic[Answer]):
    """A verb, and the shelves that it is for; see ``ShelvedRegistry.step``."""

    verb: Callable[[Record, int, str], Answer]
    shelf: int | None
    at: int


class SimulatedRegistry(ShelvedRegistry):
    """A member's registry: the real verbs on the simulated store's records, over its link."""

    def __init__(self, process: "Process", terms: Terms) -> None:
        super().__init__("simulated:", "default", terms)
        self._count(process.world.schedule.shelves)
        self._process = process
        self._abouts: dict[str, About] = {}
        self._token = ""  # of the request whose next step is taken

    def grant(self, ask: VerbRequest, want: int) -> Claim | Wait:
        """See Registry."""
        self._ask("grant", ask)
        return super().grant(ask, want)

    def mint(self, ask: VerbRequest, ticks: int) -> Claim | Wait:
        """See Registry."""
        self._ask("mint", ask)
        return super().mint(ask, ticks)

    def renew(self, ask: VerbRequest, until: int) -> Claim | Lost:
        """See Registry."""
        self._ask("renew", ask)
        return super().renew(ask, until)

    def release(self, ask: VerbRequest, used: int) -> LastSeen | Lost:
        """See Registry."""
        self._ask("release", ask)
        return super().release(ask, used)

    def _ask(self, verb: str, ask: VerbRequest) -> None:
        about = verb, ask, self._process.knows_us, self._process.world.now_us
        self._abouts[ask.token] = about

    def _on(self, shelf: int, verb: Verb[Reply], ask: VerbRequest, *, free: bool = False) -> Reply:
        self._token = ask.token
        return super()._on(shelf, verb, ask, free=free)

    def _on_all(self, verb: Verb[Reply], ask: VerbRequest) -> Reply:
        self._token = ask.token
        return super()._on_all(verb, ask)

    def name_of(self, shelf: int) -> str:
        """The number."""
        return str(shelf)

    @contextmanager
    def locked(
        self, names: Sequence[str], beside: Sequence[str]
    ) -> Iterator[tuple[list[Record], str]]:
        """See ShelvedRegistry."""
        store, shelves = self._process.world.store, [int(name) for name in names]
        records = [store.copy(shelf) for shelf in shelves]
        yield [*records, *(store.copy(int(name)) for name in beside)], store.incarnation
        store.keep(dict(zip(shelves, records, strict=True)))

    def reading_us(self) -> int:
        """The store's clock."""
        return self._process.world.store.clock.reading_us()

    def perform(
        self, verb: Callable[[Record, int, str], Answer], shelf: int | None = None, at: int = 0
    ) -> Answer:
        """See RecordRegistry. The request is sent and served, and the reply returns."""
        process, about, step = self._process, self._abouts[self._token], Step(verb, shelf, at)
        world, link = process.world, process.link
        number, sent_us = world.store.number_request(), world.now_us
        self._strike()
        self._send(about, step, number)
        answer: Answer | None = None
        error: FrazilError | AllNeeded | None = None
        try:
            answer = self._serve(about, step, number)
        except ClockError as refused:
            world.marks.hit("witness refused")
            error = refused
        except ConfigError as refused:
            world.marks.hit("counter refused")
            error = refused
        except AllNeeded as refused:
            world.marks.hit(refused.args[0] if refused.args else "all shelves asked")
            error = refused
        except FrazilError as refused:
            error = refused
        served_us = world.now_us
        if link.ails("reply loss", world.now_us, 0.5):
            world.marks.hit("reply lost")
            self._time_out(done=error is None)
        if error is None and link.ails("reordering", world.now_us, 0.3):
            late = about[0], about[1].token, answer
            world.at(self._late_us(), partial(link.strays.append, late))
            self._time_out(done=True)
        process.spend(link.delay_us(world.now_us, world.schedule.horizon_us))
        if error is not None:
            raise error
        reply: object = self._read_stray(about) if link.strays else answer
        if about[0] != "mint":
            process.knows_us = max(process.knows_us, _now_us(reply) - sent_us)
        if isinstance(reply, Claim):
            world.ledger.adopt(process.number, about[1], reply)
            if about[0] != "mint" and self.terms.timed:
                base = Base.of(reply.now_us, sent_us, served_us, world.now_us)
                world.order.told(process.number, base)
        return reply  # type: ignore[return-value]

    def _strike(self) -> None:
        """Cause the faults that waited for a request, while it or its reply is on its way."""
        world, link = self._process.world, self._process.link
        struck, link.struck = link.struck, []
        for strike in struck:
            world.marks.hit("struck while asking")
            world.at(world.now_us + int(link.rng.random() * _USUAL_US), strike)

    def _send(self, about: About, step: "Step[Answer]", number: int) -> None:
        """Send a request. Raises RegistryUnavailable if it does not arrive in time."""
        process, world, link = self._process, self._process.world, self._process.link
        longest_us = world.schedule.horizon_us
        process.spend(link.delay_us(world.now_us, longest_us))
        if link.ails("partition", world.now_us):
            world.marks.hit("partition")
            self._time_out(done=False)
        if link.ails("loss", world.now_us, 0.5):
            world.marks.hit("request lost")
            self._time_out(done=False)
        if link.ails("reordering", world.now_us, 0.3):
            world.at(self._late_us(), partial(self._come_late, about, step, number, link.strays))
            self._time_out(done=False)
        if self._is_away(about, step):
            world.marks.hit("store down")
            self._time_out(done=False)
        if world.store.silent:
            world.marks.hit("told by a member")
        if link.ails("repeats", world.now_us, 0.5):
            later_us = world.now_us + int(link.rng.random() * longest_us)
            world.at(later_us, partial(self._again, about, step))

    def _serve(self, about: About, step: "Step[Answer]", number: int) -> Answer:
        world = self._process.world
        name, ask, knows_us, sent_us = about
        store = world.store
        before, locked = store.record, store.locked(step.shelf)
        guard, offset_us = before.guard, before.offset_us
        with self.step(step.shelf, step.at) as (record, incarnation):
            reading_us = world.store.clock.reading_us()
            answer = step.verb(record, reading_us, incarnation)
        stepped, record = record, world.store.record
        untold = world.store.waits and not world.store.losses[-1].told
        grants = name in ("grant", "mint") and isinstance(answer, Claim)
        world.store.serve(knows_us, sent_us, grants=grants)
        forgot = self.terms.timed and bool(world.store.losses)
        waits = world.store.waits
        world.ledger.verb(name, ask, before, record, answer, stepped, waits=waits, forgot=forgot)
        if untold and world.store.losses[-1].told:
            world.marks.hit("told of a loss")
        if self.terms.timed:
            world.order.verb(locked, stepped, world.now_us, store.records)
        marks = world.marks
        if record.guard > guard:
            marks.hit("guard hit")
        if record.offset_us != offset_us:
            marks.hit("offset absorbed" if record.offset_us > offset_us else "offset shrank")
        if world.store.clock.smearing:
            marks.hit("leap smeared")
        if self.terms.timed and reading_us < self.terms.epoch_us:
            marks.hit("clock from before")
        overtaken = world.store.overtaken(number, self._process.number)
        if overtaken is not None:
            marks.hit("request overtaken" if overtaken else "overtaken by others")
        self._note(name, ask, before, record, answer)
        return answer

    def _is_away(self, about: About, step: "Step[Answer]") -> bool:
        """Whether the store does not answer this request now."""
        store = self._process.world.store
        hidden = store.hides_from(about[1].seen, step.shelf)
        return hidden or self._process.world.now_us < store.down_until_us

    def _again(self, about: About, step: "Step[Answer]") -> None:
        """Serve a repeated request; its reply is discarded."""
        if self._is_away(about, step):
            return
        self._process.world.marks.hit("request repeated")
        with suppress(FrazilError, AllNeeded):
            self._serve(about, step, self._process.world.store.number_request())

    def _come_late(
        self,
        about: About,
        step: "Step[Answer]",
        number: int,
        connection: list[Sent],
    ) -> None:
        """Serve a request that its member has given up; the reply goes to the connection."""
        if self._is_away(about, step):
            return
        with suppress(FrazilError, AllNeeded):
            connection.append((about[0], about[1].token, self._serve(about, step, number)))

    def _read_stray(self, about: About) -> object:
        """Read the first reply on the connection, which is to another request."""
        process = self._process
        process.world.marks.hit("reply overtaken")
        name, token, answer = process.link.strays[0]
        process.link.strays = []
        if name == about[0] and not process.world.parts.matches_replies:
            return answer
        assert token != about[1].token
        words = "the answer was to another question"
        raise RegistryUnavailable(words, url=self.url, outcome_known=False)

    def _late_us(self) -> int:
        """A moment after a member's timeout."""
        world = self._process.world
        more_us = int(self._process.link.rng.random() * world.schedule.horizon_us)
        return world.now_us + _TIMEOUT_US + more_us

    def _note(
        self, name: str, ask: VerbRequest, before: Record, record: Record, answer: object
    ) -> None:
        """Count the marks that a verb reached."""
        world, terms = self._process.world, self.terms
        marks = world.marks
        now = terms.tick_at(record.last_us + record.offset_us) if terms.timed else terms.end
        if isinstance(answer, Wait):
            marks.hit("wait answered")
        elif isinstance(answer, Lost):
            marks.hit("claim lost" if name == "renew" else "release refused")
        elif name == "release":
            marks.hit("claim released")
        elif not terms.timed:
            marks.hit("block made longer" if name == "renew" else "block given")
        elif isinstance(answer, Claim) and name == "renew":
            if ask.held is not None and ask.held.until < now:
                marks.hit("late renewal")
            if answer.until == now + terms.horizon_ticks:
                marks.hit("horizon reached")
        elif isinstance(answer, Claim):
            theirs = before.slots.get(answer.slot)
            if theirs.token and theirs.until > now:
                marks.hit("pool full")
            if theirs.token and theirs.token != ask.token and world.is_paused(theirs.holder):
                marks.hit("stolen while paused")

    def _time_out(self, *, done: bool) -> None:
        self._process.spend(_TIMEOUT_US)
        words = "no reply came" if done else "the request did not come through"
        raise RegistryUnavailable(words, url=self.url, outcome_known=False)


def _now_us(reply: object) -> int:
    """The clock of the store in a reply."""
    seen = reply.seen if isinstance(reply, Claim | Wait | Lost) else reply
    assert isinstance(seen, LastSeen)
    return seen.now_us
