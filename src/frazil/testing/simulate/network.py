"""The way from one member to the store and back, and all that happens to requests on it.

A verb takes time: while a request or a reply is on its way, the world goes on, the member's own
threads included. A request that is lost, and a reply that is, look alike to the member. A request
that is repeated is served again later, and nobody takes the second reply: the drivers of the real
registries match replies to requests.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import TYPE_CHECKING, TypeVar

from frazil.claim import Ask, Claim, Lost, Seen, Terms, Wait
from frazil.errors import ClockError, FrazilError, RegistryUnavailable
from frazil.record import Record
from frazil.registries.base import RecordRegistry

if TYPE_CHECKING:
    from frazil.testing.simulate.process import Process

__all__ = ["Link", "SimulatedRegistry"]

Answer = TypeVar("Answer")

_TIMEOUT_US = 200_000


class Link:
    """What is wrong between a member and the store, each until a moment of true time."""

    def __init__(self, dice: Random) -> None:
        self.dice = dice
        self.until_us: dict[str, int] = {}

    def ails(self, kind: str, now_us: int, chance: float = 1.0) -> bool:
        """Whether a message that is sent now meets this fault."""
        return now_us < self.until_us.get(kind, 0) and self.dice.random() < chance

    def delay_us(self, now_us: int, longest_us: int) -> int:
        """How long a message is on its way."""
        most_us = longest_us if self.ails("delay", now_us) else 2_000
        return int(self.dice.random() * most_us)


class SimulatedRegistry(RecordRegistry):
    """A member's registry: the real verbs on the simulated store's record, over its link."""

    def __init__(self, process: "Process", terms: Terms) -> None:
        super().__init__("simulated:", "default", terms)
        self._process = process
        self._about: tuple[str, Ask] = "", Ask(Seen(), 0, "")

    def grant(self, ask: Ask, want: int) -> Claim | Wait:
        """See Registry."""
        self._about = "grant", ask
        return super().grant(ask, want)

    def mint(self, ask: Ask, ticks: int) -> Claim | Wait:
        """See Registry."""
        self._about = "mint", ask
        return super().mint(ask, ticks)

    def renew(self, ask: Ask, until: int) -> Claim | Lost:
        """See Registry."""
        self._about = "renew", ask
        return super().renew(ask, until)

    def release(self, ask: Ask, used: int) -> Seen | Lost:
        """See Registry."""
        self._about = "release", ask
        return super().release(ask, used)

    @contextmanager
    def step(self) -> Iterator[tuple[Record, str]]:
        """See RecordRegistry."""
        store = self._process.world.store
        record = store.copy()
        yield record, store.incarnation
        store.keep(record)

    def reading_us(self) -> int:
        """The store's clock."""
        return self._process.world.store.reading_us(self._about[1].seen)

    def perform(self, verb: Callable[[Record, int, str], Answer]) -> Answer:
        """See RecordRegistry. The request goes there, is served, and the reply comes back."""
        process, about = self._process, self._about
        world, link = process.world, process.link
        longest_us = world.schedule.horizon_us
        process.spend(link.delay_us(world.now_us, longest_us))
        if link.ails("partition", world.now_us):
            world.marks.hit("partition")
            self._time_out(done=False)
        if link.ails("loss", world.now_us, 0.5):
            world.marks.hit("request lost")
            self._time_out(done=False)
        if world.now_us < world.store.down_until_us or world.store.hides_from(about[1].seen):
            world.marks.hit("store down")
            self._time_out(done=False)
        if world.store.silent:
            world.marks.hit("told by a member")
        if link.ails("repeats", world.now_us, 0.5):
            later_us = world.now_us + int(link.dice.random() * longest_us)
            world.at(later_us, lambda: self._again(about, verb))
        answer: Answer | None = None
        error: FrazilError | None = None
        try:
            answer = self._serve(about, verb)
        except ClockError as refused:
            world.marks.hit("witness refused")
            error = refused
        except FrazilError as refused:
            error = refused
        if link.ails("reply loss", world.now_us, 0.5):
            world.marks.hit("reply lost")
            self._time_out(done=error is None)
        process.spend(link.delay_us(world.now_us, longest_us))
        if error is not None:
            raise error
        if isinstance(answer, Claim):
            world.ledger.adopt(process.number, answer)
        return answer  # type: ignore[return-value]

    def _serve(self, about: tuple[str, Ask], verb: Callable[[Record, int, str], Answer]) -> Answer:
        world = self._process.world
        name, ask = about
        before = world.store.record
        guard, offset_us = before.guard, before.offset_us
        with self.step() as (record, incarnation):
            answer = verb(record, world.store.reading_us(ask.seen), incarnation)
        world.ledger.verb(name, ask, before, record, answer)
        marks = world.marks
        if record.guard > guard:
            marks.hit("guard hit")
        if record.offset_us != offset_us:
            marks.hit("offset absorbed" if record.offset_us > offset_us else "offset shrank")
        self._note(name, ask, before, record, answer)
        return answer

    def _again(self, about: tuple[str, Ask], verb: Callable[[Record, int, str], object]) -> None:
        """A repeated request comes; whatever is answered goes nowhere."""
        world = self._process.world
        if world.now_us < world.store.down_until_us or world.store.hides_from(about[1].seen):
            return
        world.marks.hit("request repeated")
        try:
            self._serve(about, verb)
        except FrazilError:
            return

    def _note(self, name: str, ask: Ask, before: Record, record: Record, answer: object) -> None:
        """Count what was reached."""
        world, terms = self._process.world, self.terms
        marks = world.marks
        now = terms.tick_at(record.last_us + record.offset_us)
        if isinstance(answer, Wait):
            marks.hit("wait answered")
        elif isinstance(answer, Lost):
            marks.hit("claim lost" if name == "renew" else "release refused")
        elif name == "release":
            marks.hit("claim released")
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
