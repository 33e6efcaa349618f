"""What a caller is told when no claim is to be had, and that IDs go on by themselves."""

import re
import threading
import time
import weakref

import pytest

import frazil
from frazil.claims.claim import LastSeen, Wait
from frazil.errors import ConfigError, PoolExhausted, RegistryUnavailable
from frazil.generator import complaints
from frazil.generator.timed_policy import TimedPolicy
from frazil.registries import memory
from frazil.registries.memory import MemoryRegistry
from tests.servers.redis import Server, free_port
from tests.tools.verbs import begin, drive
from tests.tools.waiting import refusal, until
from tests.unit.generator.test_keeper import raising

WIDE = "sign:1=0 time:39 node:4 sequence:20 @1ms since 2025-01-01T00:00:00Z"


def opened(url, scheme=WIDE, **options):
    return frazil.open(url, scheme, **{"lead": "1s"} | options)


def until_it_stops(ids):
    """The error with which it stops."""
    while True:
        try:
            ids()
        except RegistryUnavailable as error:
            return error


def soon(ids):
    """The next ID, when there is one again."""
    ids.ready("60s")
    return ids()


@pytest.fixture
def away(monkeypatch):
    class Away:
        down = False

    original = MemoryRegistry.step

    def step(self):
        if Away.down:
            raise RegistryUnavailable("gone", url=self.url, outcome_known=True)
        return original(self)

    monkeypatch.setattr(MemoryRegistry, "step", step)
    return Away


def test_the_claim_is_used_to_its_end_and_then_an_error_says_since_when(url, away):
    with opened(url, timeout="1s") as ids:
        ids()
        away.down = True
        caught = until_it_stops(ids)
        assert re.search("no claim since .*gone", str(caught))
        assert caught.outcome_known
        away.down = False
        assert soon(ids)


def test_a_generator_dropped_while_its_store_is_away_is_freed(url, away):
    """The error that the keeper remembers holds no frame, and so no walk."""
    away.down = True
    ids = opened(url, timeout="100ms")
    with pytest.raises(RegistryUnavailable):
        ids()
    walk, keeper = weakref.ref(ids._walk), ids._walk.keeper
    assert keeper.policy.trouble is not None
    del ids
    until(lambda: walk() is None, "the end of the walk")


def test_the_registry_answers_again_while_the_error_is_made(url):
    """The keeper's thread forgets its trouble between two words of the sentence."""
    told = [RegistryUnavailable("gone", url="memory:", outcome_known=True)]

    class Forgetful(TimedPolicy):
        trouble = property(lambda _: told.pop() if told else None, lambda _, __: None)

    with opened(url) as ids:
        ids._walk.keeper.policy.__class__ = Forgetful
        assert re.search("no claim since .*gone", str(ids._walk.keeper.policy.complaint(1.0)))


def test_the_error_of_a_silent_registry(url, monkeypatch):
    answers = threading.Event()
    original = MemoryRegistry.step
    with opened(url, timeout="100ms") as ids:
        monkeypatch.setattr(
            MemoryRegistry, "step", lambda self: answers.wait(30) and original(self)
        )
        with pytest.raises(RegistryUnavailable, match="not answered") as caught:
            ids()
        assert not caught.value.outcome_known
        answers.set()
        assert soon(ids)


def test_a_silent_registry_is_not_called_new(url, monkeypatch):
    """It says to wait, and is away when it is asked why."""
    with opened(url) as ids:
        keeper = ids._walk.keeper
        monkeypatch.setattr(keeper.registry, "grant", lambda *_: Wait(1, LastSeen(), guarded=True))
        with monkeypatch.context() as changed:
            gone = RegistryUnavailable("gone", url="memory:", outcome_known=True)
            changed.setattr(keeper.registry, "look", raising(gone))
            drive(keeper.policy._grant(ids, 100), keeper.registry)
        assert isinstance(keeper.policy.complaint(1.0), RegistryUnavailable)
        drive(keeper.policy._grant(ids, 100), keeper.registry)
        drive(keeper.policy._grant(ids, 100), keeper.registry)
        assert "nothing was ever granted" in str(keeper.policy.complaint(1.0))


def test_minting_waits_for_a_registry_that_is_away():
    """As a generator does, until the timeout."""
    with Server() as server:
        server.kill()
        late = threading.Timer(0.5, server.start)
        late.start()
        try:
            assert frazil.mint(2, server.url, WIDE, timeout=60)
        finally:
            late.join()


def test_minting_gives_up_at_its_timeout():
    with pytest.raises(RegistryUnavailable):
        frazil.mint(1, f"redis://127.0.0.1:{free_port()}", WIDE, timeout="300ms")


def test_the_error_after_a_loss(url):
    """Of a process that is new, and of one that had claims before and knows when."""
    url += "?horizon=10min"
    with frazil.open(url, WIDE) as ids:
        ids()
        memory._records[ids._walk.registry._key].incarnation = "another"
        with frazil.open(url, WIDE, timeout="300ms") as late:
            error = refusal(late)
            told = r": the store lost its claims; IDs continue in 6\d\d\.\d s; no ID"
            assert re.search(told, str(error))
            assert error.page.endswith("alarms/store-lost.md")
            assert error.__notes__ == [f"See {error.page}"]
            assert error.again().page == error.page
            assert 600 < error.retry_after_s <= 675
            why = late.status().why_unready()
            assert "node number" not in why
            assert "the store lost its claims; IDs continue in 6" in why
        policy = ids._walk.keeper.policy
        drive(policy._grant(ids._walk, 100), ids._walk.registry)
        ids._walk.leave()
        told = policy.complaint(1.0)
        assert re.search(r"lost its claims at 20\S+:\d\dZ; IDs continue in 6", str(told))
        assert told.lost_us == pytest.approx(time.time() * 1e6, abs=60e6)


def test_the_error_for_a_claim_that_is_further_ahead_than_the_timeout(url):
    url += "?horizon=10min"
    alone = "sign:1=0 time:41 sequence:22 @1ms since 2025-01-01T00:00:00Z"
    with opened(url, alone) as holder, opened(url, alone, timeout="4min", lead=0) as late:
        holder()
        record = memory._records[holder._walk.registry._key]
        slot = record.slots.get(0)
        record.slots.put(0, type(slot)(slot.until + 500_000, slot.start, slot.token))
        began_s = time.monotonic()
        with pytest.raises(PoolExhausted) as caught:
            late()
        assert time.monotonic() - began_s < 120
    text = str(caught.value)
    assert re.search(
        r"is possible in [45]\d\d\.\d s, later than timeout= allows, so this call", text
    )
    assert "ahead of the clock" in text
    assert "within" not in text


def test_the_error_of_a_first_use(tmp_path):
    """Also for those who come second, while nothing was given yet."""
    slow = "time:32 node:4 sequence:20 @10s since 2025-01-01T00:00:00Z"
    url = f"sqlite:{tmp_path}/claims.db"
    left_s = 10 - time.time() % 10
    if left_s < 5:  # a tick that begins in between brings a claim
        time.sleep(left_s)
    with opened(url, slow, timeout="300ms", lead=0) as one:
        for ids in (one, opened(url, slow, timeout="300ms", lead=0)):
            told = str(refusal(ids))
            assert "nothing was ever granted" in told
            assert re.search(r"looks the same; IDs continue in [45]\d\.\d s; if", told)
            assert "node numbers" not in told
            ids.close()
    with opened(url, slow, namespace="other", timeout=60) as ids:
        begin(ids._walk.registry)
        assert ids()


def test_a_subinterpreter_without_threads_is_named():
    """That is Python's text; a limit of the system has another one."""
    said = "thread is not supported for isolated subinterpreters"
    assert "in the main interpreter" in str(complaints.no_thread("memory:", RuntimeError(said)))
    assert "ulimit -u" in str(
        complaints.no_thread("memory:", RuntimeError("can't start new thread"))
    )


@pytest.mark.parametrize("forward", [False, True])
def test_a_counter_continues_in_the_programs_that_knew_the_lost_one(tmp_path, forward):
    """Once a person has said where, and said it high enough."""
    url, path = f"sqlite:{tmp_path}/claims.db", tmp_path / "claims.db"
    frazil.init(url, "tickets", start=1)
    older = path.read_bytes()
    with frazil.open(url, "tickets", block=10) as ids:
        given = ids.take(15)
        for left in tmp_path.glob("claims.db*"):
            left.unlink()
        if forward:
            path.write_bytes(older)
        with pytest.raises(ConfigError, match=r"highest value in use \(at least 2\d\) and run"):
            ids.take(10)
        frazil.init(url, "tickets", start=19, forward=forward)
        with pytest.raises(ConfigError, match="--forward"):
            ids.take(10)
        with frazil.open(url, "tickets") as other, pytest.raises(ConfigError, match="--forward"):
            other()
        frazil.init(url, "tickets", start=40, forward=True)
        given += ids.take(20)
    assert given[-1] >= 40
    assert len(set(given)) == 35
