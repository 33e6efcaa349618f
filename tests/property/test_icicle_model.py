"""``icicle.lua`` answers as the model of it does, and keeps the same, on every schedule.

And the model repeats no ID, under any clock, any loss, any restored state.
"""

import copy
import random
from secrets import token_hex

import pytest
import redis
from hypothesis import given, settings
from hypothesis import strategies as st

from frazil.remote.icicle.server import icicle_script
from tests.property import icicle_model
from tests.property.icicle_model import EPOCH_US, LAYOUT, Model, Refused

BEGIN_US = 1_800_000_000_000_000
S, HOUR = 1_000_000, 3_600_000_000
NUMBERS = ("shard", "tick", "next", "guard", "last", "offset", "top")
CLOCK = "local clock = redis.call('TIME')"
INCARNATION = "local plain_length, connected = #incarnation, 0"


def told(source):
    """The script with clock and incarnation from its last arguments."""
    assert source.count(CLOCK) == source.count(INCARNATION) == 1
    source = source.replace(CLOCK, "local clock = { 0, ARGV[12] }")
    return source.replace(INCARNATION, f"incarnation = 'i' .. ARGV[13]\n{INCARNATION}")


class Pair:
    """A namespace twice: the model's, and the script's in a server. Both are asked alike."""

    def __init__(self, server, us=BEGIN_US):
        self.client, self.source = server.client(), told(icicle_script().source)
        self.key = f"frazil:icicle:{{{token_hex(6)}}}"
        self.model, self.us, self.boots = Model(), us, 0
        self.kept = []

    def ask(
        self,
        verb="issue",
        count=None,
        lead=0,
        shard=None,
        seen=None,
        apart_us=None,
        new=0,
        pool="",
        continued=None,
    ):
        """What both answer: numbers, or the code of a refusal."""
        witness = None if apart_us is None else self.us + apart_us
        asked = count, lead, shard, seen, witness
        model = copy.deepcopy(self.model)
        try:
            expected = model.ask(
                verb, *asked, new, pool, continued, reading_us=self.us, incarnation=f"i{self.boots}"
            )
        except Refused as refused:
            expected = str(refused)
        else:
            self.model = model
        words = ["" if value is None else value for value in asked]
        about = [verb, "nonce", *words, 0, new, pool, "" if continued is None else continued]
        about += [self.us, self.boots]
        if isinstance(expected, str):
            with pytest.raises(redis.ResponseError, match=f"ICICLE {expected}: "):
                self.client.eval(self.source, 1, self.key, *about)
        else:
            head = [{"issue": "ids"}.get(verb, verb), "nonce", f"i{self.boots}"]
            reply = self.client.eval(self.source, 1, self.key, *about)
            assert [part.decode() for part in reply] == [*head, *map(str, expected)]
        assert self.client.hgetall(self.key) == self.state()
        return expected

    def state(self):
        """The hash that the server has to have."""
        model = self.model
        if model.layout is None:
            return {}
        told = {"layout": LAYOUT, "incarnation": model.incarnation}
        told |= {name: getattr(model, name) for name in NUMBERS}
        told |= {"pool": model.pool} if model.pool else {}
        return {name.encode(): str(value).encode() for name, value in told.items()}

    # Mishaps.

    def restart(self):
        self.boots += 1

    def forget(self):
        self.model = Model()
        self.client.delete(self.key)

    def keep(self):
        self.kept.append(copy.deepcopy(self.model))

    def restore(self):
        if self.kept:
            self.model = copy.deepcopy(self.kept[0])
            self.client.delete(self.key)
            if self.model.layout:
                self.client.hset(self.key, mapping=self.state())


COUNTS = [None, 0, 1, 2, 4095, 4096, 4097, 20_000, 4_096_000, 4_096_001]
LEADS = [None, 0, 1, 999, 1000, 1001, 20_000, S, S + 1]
STEPS_US = [0, 1, 999, 1000, 50_000, 3 * S, 59 * S, 60 * S, 60 * S + 1, 3600 * S]
SHARDS = [None, None, None, 0, 5, 5, 1023, 1024]
APART_US = [None, None, 0, 10 * S, 10 * S + 1, -10 * S, -10 * S - 1]


def step(pair, dice):
    """One thing that happens to a server."""
    kind = dice.choices(["issue", "time", "back", "other", "mishap"], [50, 30, 5, 8, 4])[0]
    if kind == "time":
        pair.us += dice.choice(STEPS_US)
    elif kind == "back":
        pair.us = max(0, pair.us - dice.choice(STEPS_US))
    elif kind == "mishap":
        getattr(pair, dice.choice(["restart", "forget", "keep", "restore"]))()
    elif kind == "other":
        verb, new = dice.choice([("look", 0), ("init", 0), ("init", 1)])
        pair.ask(verb, None, 0, dice.choice(SHARDS), new=new, pool=dice.choice(["", "a", "b"]))
    else:
        seen = dice.choice([None, pair.model.top, pair.model.top + dice.choice([-1, 1, 9 * S])])
        odd = dice.random() < 0.1
        pair.ask(
            "issue",
            dice.choice(COUNTS) if odd else dice.randint(1, 9000),
            dice.choice(LEADS),
            dice.choice(SHARDS) if odd else None,
            None if seen is None else max(0, seen),
            dice.choice(APART_US),
            continued=seen and dice.choice([None, max(0, seen) + dice.choice([0, 1, 7 * S])]),
        )


@settings(max_examples=settings.default.max_examples * 3 // 5)
@given(seed=st.integers(0, 2**32), begin_us=st.sampled_from([BEGIN_US, EPOCH_US - 2]))
def test_the_script_answers_as_the_model_does(server, seed, begin_us):
    pair, dice = Pair(server, begin_us), random.Random(seed)
    pair.ask("init", None, 0, dice.choice([0, 5, 1023]), new=dice.choice([0, 1]))
    for _ in range(40):
        step(pair, dice)
    pair.client.delete(pair.key)


@pytest.mark.parametrize("late_us", [-1, 0, 999, 1000, 60 * S])
def test_the_end_of_the_layout(server, late_us):
    pair = Pair(server, EPOCH_US + ((1 << 41) - 1) * 1000 + late_us)
    pair.ask("init", None, 0, 7, new=1)
    for lead in (0, 1000, S):
        pair.ask("issue", 5000, lead)
        pair.ask("issue", 1, lead)
    pair.us += 1000
    pair.ask("issue", 1)


@pytest.mark.parametrize("shard", [0, 243, 244, 245, 488, 489, 1023])
def test_the_first_tick_of_all(server, shard):
    """IDs below a million, of a million, and above."""
    pair = Pair(server, EPOCH_US)
    pair.ask("init", None, 0, shard, new=1)
    for count in (1, 575, 1, 1, 2000, 2000, 100):
        pair.ask("issue", count, 1000)


@pytest.mark.parametrize("over_us", [0, 1])
@pytest.mark.parametrize("apart_us", APART_US)
def test_a_jump_and_its_witness(server, over_us, apart_us):
    pair = Pair(server)
    pair.ask("init", None, 0, 7, new=1)
    pair.us += 60 * S + over_us
    refused = pair.ask("issue", 1, apart_us=apart_us) == "CLOCK"
    assert refused == (over_us == 1 and abs(apart_us or 0) > 10 * S)


@pytest.mark.parametrize(
    ("back_us", "on_us"),
    [(122 * S, 61 * S), (122 * S - 1, 61 * S), (150 * S, 61 * S), (100 * S, 60 * S)],
)
def test_a_clock_that_is_set_right(server, back_us, on_us):
    pair = Pair(server)
    pair.ask("init", None, 0, 7, new=1)
    pair.us -= back_us
    pair.ask("issue", 1)
    assert pair.model.offset == back_us
    pair.us += on_us
    pair.ask("issue", 1)
    pair.ask("look")


@pytest.mark.parametrize("shard", [None, 0, 5, 1023])
def test_a_lost_shard_is_restored_by_a_caller_that_knows_it(server, shard):
    pair = Pair(server)
    answer = pair.ask("issue", 1, shard=shard)
    assert (answer == "UNSET") == (shard is None)


@pytest.mark.parametrize("shard", [0, 6, 8, 1023])
def test_a_shard_that_is_another(server, shard):
    pair = Pair(server)
    pair.ask("init", None, 0, 7, new=1)
    assert pair.ask("issue", 1, shard=shard) == "TAKEN"
    assert pair.ask("init", None, 0, shard) == "TAKEN"
    assert pair.ask("look", shard=shard) != "TAKEN"


@pytest.mark.parametrize("number", [2**53, 2**53 + 2])
@pytest.mark.parametrize("name", ["seen", "witness"])
def test_numbers_that_lua_cannot_count(server, number, name):
    pair = Pair(server)
    pair.ask("init", None, 0, 7, new=1)
    about = {"seen": number} if name == "seen" else {"apart_us": number - pair.us}
    answer = pair.ask("issue", 1, **about)
    assert (answer == "NUMBER") == (number > 2**53)


class History:
    """One server's life, by the model. Its callers remember what they were told."""

    def __init__(self, model=Model):
        self.kind, self.model, self.kept = model, model(), []
        self.us, self.boots, self.seen_us, self.last = BEGIN_US, 0, 0, -1
        self.ask("init", new=1)

    def ask(self, verb, count=1, lead_us=0, new=0):
        asked = verb, count, lead_us, 6, self.seen_us, None, new, ""
        reply = self.model.ask(*asked, reading_us=self.us, incarnation=f"i{self.boots}")
        self.seen_us = max(self.seen_us, reply[1])
        return reply

    def issue(self, count=1, lead_us=0):
        _, _, wait_us, *spans = self.ask("issue", count, lead_us)
        for first, number in zip(spans[::2], spans[1::2], strict=True):
            cell = first >> 22 << 12 | first & 4095
            assert cell > self.last, "an ID came twice, or out of order"
            self.last = cell + number - 1
            assert (first & 4095) + number <= 4096
            assert first >> 12 & 1023 == 6
            assert (first >> 22) * 1000 + EPOCH_US <= self.us + self.model.offset + lead_us
        assert sum(spans[1::2]) == count or (sum(spans[1::2]) < count and wait_us > 0)

    def restart(self, model=None):
        self.boots += 1
        self.model = self.model if model is None else copy.deepcopy(model)

    def live(self, dice):
        """Thirty things that happen at random."""
        for _ in range(30):
            kind = dice.choice(["issue", "time", "clock", "copy", "keeps", "empty", "older"])
            if kind == "issue":
                self.issue(dice.randint(1, 20_000), dice.randint(0, S))
            elif kind in ("time", "clock"):
                self.us += dice.randint(0, 3 * S) if kind == "time" else dice.randint(-HOUR, HOUR)
            elif kind == "copy":
                self.kept.append(copy.deepcopy(self.model))
            else:
                olds = {"keeps": [None], "empty": [self.kind()], "older": self.kept or [None]}
                self.restart(dice.choice(olds[kind]))


@settings(max_examples=settings.default.max_examples * 5)
@given(seed=st.integers(0, 2**32))
def test_no_history_repeats_an_id(seed):
    History().live(random.Random(seed))


class BelievesTheClock(Model):
    """The tick is that of the clock, whatever was issued."""

    def _give(self, *asked):
        self.tick = 0
        return super()._give(*asked)


class Careless(Model):
    """After a loss the guard is what the server's clock shows, whatever callers saw."""

    def _give(self, verb, count, lead, shard, seen, known_us, *rest):
        reply = super()._give(verb, count, lead, shard, seen, 0, *rest)
        self.top = max(self.top, known_us)
        return reply


@pytest.mark.parametrize("model", [Model, BelievesTheClock])
def test_a_broken_model_is_found(monkeypatch, model):
    if model is Model:
        monkeypatch.setattr(icicle_model, "HORIZON_US", -(10**15))  # so there is no guard
    histories = (History(model).live(random.Random(seed)) for seed in range(1000))
    with pytest.raises(AssertionError, match="came twice"):
        list(histories)


@pytest.mark.parametrize("model", [Model, Careless])
def test_replies_that_callers_saw_are_kept(model):
    """The one history that chance seldom finds: the very cell again, after the guard."""
    history = History(model)
    history.issue()
    history.us -= 10 * S
    history.restart(model())
    history.issue()
    history.us += 10 * S
    if model is Model:
        history.issue()
        return
    with pytest.raises(AssertionError, match="came twice"):
        history.issue()


def test_a_clock_that_is_set_right_leaves_nothing_in_the_future():
    """A host without a battery boots in 1970, and twice would be enough to end the layout."""
    history = History()
    for _ in range(3):
        history.issue()
        history.us -= BEGIN_US
        history.issue()
        history.us += BEGIN_US + S
        history.issue()
        assert history.model.offset == 0
