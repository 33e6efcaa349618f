"""The script of the verbs answers as ``record`` does, on every schedule of verbs and mishaps.

Both are given the same requests, the same readings of the clock and the same incarnations. The
script runs in a real server; its two ways to look at the world (TIME and INFO) are replaced by keys
that the test sets.
"""

import copy
import hashlib
import random
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import frazil
from frazil.claims import past
from frazil.claims.claim import Claim, LastSeen, LossNoticed, Lost, VerbRequest, Wait
from frazil.claims.record import Record
from frazil.errors import FrazilError
from frazil.redis_link.access import Script
from frazil.redis_link.link import Link
from frazil.registries import connect
from frazil.registries.redis.registry import claims_script

MS = 1000
YEAR_2025_US = 1_735_689_600_000_000

# Layouts, each with the moment at which its schedules begin, after its epoch or 1970; the horizon;
# what is said of a store's data.
WORLDS = {
    "two pages": ("time:41 node:6 sequence:2 @1ms since 2025-01-01T00:00:00Z", 10**12, "100ms"),
    "one slot": ("time:41 sequence:2 @1ms since 2025-01-01T00:00:00Z", 10**12, "100ms"),
    "near the end": (
        "time:10 node:2 sequence:2 @1ms since 2025-01-01T00:00:00Z",
        600 * MS,
        "100ms",
    ),
    "near the start": ("time:30 node:2 sequence:2 @1s since 2025-01-01T00:00:00Z", 5 * MS, "3s"),
    "odd epoch": ("time:50 node:2 sequence:2 @7us since 1969-12-31T23:59:59.999983Z", 0, "1ms"),
    "long ago": (
        "time:50 node:2 sequence:2 @1ms since 0001-01-01T00:00:00Z",
        YEAR_2025_US,
        "100ms",
    ),
    "deployments": (
        "time:41 site:40=0 node:1 sequence:2 @1ms since 2025-01-01T00:00:00Z",
        10**12,
        "100ms",
    ),
    "runs": ("run:30 sequence:14", 0, "5s"),
    "tickets": ("sequence:62", 0, "5s"),
    "durable tickets": ("sequence:62", 0, "5s", "durable"),
    "few tickets": ("sequence:4", 0, "5s"),
}


def manual(source):
    """The script, told the time and the incarnation by keys."""
    source, times = re.subn(r"redis\.call\('TIME'\)", "redis.call('LRANGE','time',0,-1)", source)
    source, looks = re.subn(r"redis\.call\('INFO', '\w+'\)", "redis.call('GET','info')", source)
    assert (times, looks) == (2, 5)
    return Script(source, hashlib.sha1(source.encode()).hexdigest())


class Pair:
    """The same namespace twice: a record of ours, and one in the server."""

    def __init__(self, server, layout, since_us, horizon, data=""):
        self.layout, self.horizon, self.data = layout, horizon, data
        self.server, self.client = server, server.client()
        self.us = max(frazil.scheme(layout).layout.epoch_us or 0, 0) + since_us
        self.record, self.kept, self.tokens, self.boot_us = Record(), [], 0, 0
        self.before = Record(), None
        self.run, self.history = 1, 1
        self.members = [self.member() for _ in range(3)]
        self.seen, self.claims = [LastSeen()] * 3, [None] * 3
        self.client.flushall()
        self.client.set("info", self.info())

    def member(self, horizon=None, **fields):
        url = f"{self.server.url}?horizon={horizon or self.horizon}"
        registry = connect(url, "same", frazil.scheme(self.layout, fields=fields or None))
        registry.link = Link(registry.link.access, manual(claims_script().source))
        registry._data = self.data
        return registry

    def info(self):
        told = f"run_id:{self.run:040x}\r\nmaster_replid:{self.history:040x}"
        return f"x:1\r\nrole:master\r\n{told}\r\nno:2\r\n"

    def step(self, op, who, *values):
        getattr(self, op)(who, *values)

    def pass_time(self, _, us):
        self.us += us
        self.boot_us += us

    def step_clock(self, _, us):
        self.us = max(0, self.us + us)

    def restart(self, _):
        self.run += 1

    def fail_over(self, _):
        self.history += 1

    def forget(self, _):
        self.record = Record()
        self.client.delete("frazil:{same}")

    def keep(self, _):
        self.kept.append((copy.deepcopy(self.record), self.client.dump("frazil:{same}")))

    def restore(self, _):
        if self.kept:
            self.record, dump = self.kept[0]
            self.record = copy.deepcopy(self.record)
            self.client.delete("frazil:{same}")
            if dump is not None:
                self.client.restore("frazil:{same}", 0, dump)

    def undo(self, _):
        """Lose the last verb, and nothing else."""
        self.kept.insert(0, self.before)
        self.restore(0)

    def disaster(self, who):
        """All that could tell of the loss is lost too, but the claim that is held."""
        self.forget(who)
        self.amnesia(who)
        self.step_clock(who, -500 * MS)

    def replace_member(self, who, kind):
        self.seen[who], self.claims[who] = LastSeen(), None
        if kind == "stranger":
            self.members[who] = self.member(horizon="77ms")
        elif "site:" in self.layout:
            self.members[who] = self.member(site=(1 << 40) - 1 - who)
        else:
            self.members[who] = self.member()

    # Verbs.

    def grant(self, who, want):
        self.run_verb("grant", who, want, held=None)

    def mint(self, who, ticks):
        self.run_verb("mint", who, ticks, held=None)

    def renew(self, who, further):
        if held := self.claims[who]:
            self.run_verb("renew", who, held.until + further, held=held)

    def renew_anyhow(self, who):
        self.run_verb("renew", who, 100, held=None)

    def release(self, who, share):
        if held := self.claims[who]:
            used = held.start + (held.until - held.start) * share // 10
            self.run_verb("release", who, used, held=held)
            self.claims[who] = held  # and once more, as a request that came twice

    def initialise(self, who, start):
        if start is not None and self.record.sid and start - self.record.guard > 2**52:
            start = self.record.guard + 3  # a script counts no further from where it began
        self.run_verb("initialise", who, start, held=None)

    def tick(self, ago):
        """A tick of the past, of a layout with time."""
        layout = frazil.scheme(self.layout).layout
        now_us = self.us + self.record.offset_us - (layout.epoch_us or 0)
        return max(0, now_us // (layout.tick_us or 1) - ago)

    def declare_past(self, who, ago):
        self.run_verb("declare_past", who, self.tick(ago), held=None)

    def claim_past(self, who, ago, ticks):
        start = -1 if ago is None else self.tick(ago)
        stop = 0 if ticks is None else max(start, 0) + ticks
        self.run_verb("claim_past", who, (start, stop), held=None)

    def steal(self, who):
        """Hold what another one holds, as after a copy of memory."""
        self.claims[who] = self.claims[(who + 1) % 3]

    def amnesia(self, who):
        self.seen[who] = LastSeen()

    def run_verb(self, verb, who, amount, held):
        registry = self.members[who]
        if held is not None and held.slot not in registry.terms.slots:
            return
        self.tokens += 1
        ask = VerbRequest(
            *(self.seen[who], self.us + who * 6_000_000, f"t{self.tokens}", f"m{who} x", held),
            self.boot_us,
        )
        self.before = copy.deepcopy(self.record), self.client.dump("frazil:{same}")
        expected = self.on_record(verb, registry.terms, ask, amount)
        actual = self.on_server(verb, registry, ask, amount)
        assert actual == expected
        assert registry.holdings() == self.record.holdings()
        if isinstance(actual, Claim) and actual.token:
            self.claims[who] = actual
        if isinstance(actual, Claim | Lost | Wait | LastSeen):
            self.seen[who] = ask.memory(actual, self.boot_us + 100, registry.terms)

    def on_record(self, verb, terms, ask, amount):
        record = copy.deepcopy(self.record)
        incarnation = f"{self.data}{'/' if self.data else ''}{self.run:040x}.{self.history:040x}"
        try:
            run = getattr(Record, verb, None) or getattr(past, verb)
            reply = run(record, terms, ask, self.us, incarnation, amount)
        except FrazilError as error:
            if isinstance(error, LossNoticed):
                self.record = record
            return type(error), str(error), error.facts
        self.record = record
        return reply

    def on_server(self, verb, registry, ask, amount):
        with self.client.pipeline() as pipe:
            pipe.set("info", self.info()).delete("time")
            pipe.rpush("time", self.us // 10**6, self.us % 10**6).execute()
        try:
            return getattr(registry, verb)(ask, amount)
        except FrazilError as error:
            return type(error), str(error), error.facts


CHANCES = ["restart", "fail_over", "forget", "keep", "restore", "undo", "undo", "disaster"]
FORWARD_US = [10, 700, 3 * MS, 20 * MS, 60 * MS, 150 * MS]
STEPS_US = [-1 * MS, -50 * MS, -500 * MS, -3600 * 10**6, 8 * 10**6, 61 * 10**6, 3600 * 10**6]
STARTS = [None, None, -1, 0, 5, 14, 10**15, 10**18 - 1]
PAST = [None, 0, 5, 40, 100, 3000, 70_000, 10**14]
# Each operation, how often it comes, and what it is told.
OPERATIONS = [
    ("grant", 20, lambda dice: [dice.randint(1, 150)]),
    ("mint", 8, lambda dice: [dice.randint(1, 120)]),
    ("renew", 40, lambda dice: [dice.choice([-20, 1, 20, 60, 200])]),
    ("release", 15, lambda dice: [dice.randint(-1, 11)]),
    ("pass_time", 40, lambda dice: [dice.choice(FORWARD_US)]),
    ("step_clock", 4, lambda dice: [dice.choice(STEPS_US)]),
    ("initialise", 3, lambda dice: [dice.choice(STARTS)]),
    ("declare_past", 3, lambda dice: [dice.choice([-5, 0, 50, 3000, 10**14])]),
    ("claim_past", 8, lambda dice: [dice.choice(PAST), dice.choice([None, 0, 1, 30, 200])]),
    ("replace_member", 3, lambda dice: [dice.choice(["stranger", "own", "own"])]),
    *((name, 1, lambda _: []) for name in CHANCES),
    *((name, 2, lambda _: []) for name in ("amnesia", "steal", "renew_anyhow")),
]


def schedule(seed):
    """Eighty operations: who, what, and with which values."""
    dice = random.Random(seed)
    weights = [weight for _, weight, _ in OPERATIONS]
    for name, _, values in dice.choices(OPERATIONS, weights, k=80):
        yield name, dice.randrange(3), *values(dice)


@pytest.mark.parametrize("world", WORLDS)
@settings(max_examples=settings.default.max_examples // 8)
@example(seed=209111, start=0)  # another horizon, no claim, in the wait
@example(seed=1_000_000, start=None)  # near the end, every slot is used to its end before that
@given(seed=st.integers(0, 2**32), start=st.sampled_from([None, 0, 0, 3, 10**18 - 1]))
def test_the_script_answers_as_the_record_does(server, world, seed, start):
    pair = Pair(server, *WORLDS[world])
    if start is not None:
        pair.initialise(0, start)
    for op in schedule(seed):
        pair.step(*op)


def test_a_loss_is_written_down_by_a_request_without_a_claim(server):
    pair = Pair(server, *WORLDS["durable tickets"])
    pair.initialise(0, 0)
    pair.keep(0)
    pair.grant(1, 10)
    pair.restore(0)
    pair.renew_anyhow(1)
    pair.grant(2, 10)  # this member remembers nothing, and is refused too


def test_a_pool_of_four_pages_is_filled_alike(server):
    """All 128 slots of a layout, taken, grown at random, and given away once more."""
    pair = Pair(server, *WORLDS["two pages"])
    pair.layout = "time:41 node:7 sequence:12 @1ms since 2025-01-01T00:00:00Z"
    pair.members = [pair.member() for _ in range(3)]
    pair.initialise(0, 0)
    registry, terms = pair.members[0], pair.members[0].terms
    for n in range(150):
        pair.us += 40
        ask = VerbRequest(LastSeen(), pair.us, f"t{n}", "me")
        expected = pair.on_record("grant", terms, ask, 40 + n * 7 % 40)
        assert pair.on_server("grant", registry, ask, 40 + n * 7 % 40) == expected
    assert registry.holdings() == pair.record.holdings()
    assert [h.slot for h in registry.holdings()] == list(range(128))


def test_of_many_pages_some_are_seen(server):
    """A grant takes a free slot of four pages, else an untouched one, else any free one."""
    pair = Pair(server, *WORLDS["two pages"])
    pair.layout = "time:41 node:10 sequence:12 @1ms since 2025-01-01T00:00:00Z"
    pair.members = [pair.member()]
    pair.initialise(0, 0)
    (registry,) = pair.members

    def granted(token):
        ask = VerbRequest(LastSeen(), pair.us, token, "me")
        return pair.on_server("grant", registry, ask, 100)

    def give_back(claim):
        ask = VerbRequest(claim.seen, pair.us, "back", "me", claim)
        pair.on_server("release", registry, ask, claim.start)

    claims = [granted(f"{n:016x}") for n in range(512)]
    assert [claim.slot for claim in claims] == list(range(512))
    give_back(claims[511])
    assert granted(f"{0:016x}").slot == 512  # pages 0 to 3 have no free slot
    assert granted(f"{15 << 32:016x}").slot == 511  # pages 15, 16, 0 and 1 have one
    claims += [granted(f"{n:016x}") for n in range(513, 1024)]
    assert [claim.slot for claim in claims[512:]] == list(range(513, 1024))
    give_back(claims[900])
    assert granted(f"{0:016x}").slot == claims[900].slot  # the last one that is free
