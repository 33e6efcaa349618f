"""Layouts without time: runs and counters, their blocks, and the next block ahead of need."""

import threading
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

import frazil
from frazil.errors import ConfigError, LayoutExhausted, RegistryUnavailable
from frazil.generator.request import walk_arguments
from frazil.registries import connect
from frazil.registries.memory import MemoryRegistry
from tests.tools import waiting
from tests.tools.verbs import begin
from tests.unit.walk.test_walk import Toy, manual_identity, module

__all__ = ["module"]

SMALL = "sign:1=0 sequence:8"
NODES = "node:2 sequence:4"


def begun(url, scheme="tickets", start=1, **options):
    """A generator on a counter that is new."""
    registry = connect(url, "default", frazil.scheme(scheme))
    begin(registry, start)
    return frazil.open(url, scheme, **options)


@contextmanager
def gated(monkeypatch, url):
    """Hold each verb that asks the store at ``url`` for more, until the test lets it pass.

    Generators of other tests may ask their own stores.
    """
    gate, asked = threading.Event(), threading.Semaphore(0)
    originals = {name: getattr(MemoryRegistry, name) for name in ("grant", "renew")}

    def held(name):
        def verb(self, *arguments):
            if self.url == url:
                asked.release()
                assert gate.wait(20)
            return originals[name](self, *arguments)

        return verb

    for name in originals:
        monkeypatch.setattr(MemoryRegistry, name, held(name))
    yield gate, asked
    gate.set()


class TestTickets:
    def test_one_two_three(self, url):
        with begun(url) as ids:
            assert [ids(), next(ids), *ids.take(3)] == [1, 2, 3, 4, 5]
            assert [int(n) for n in ids.array(3000)] == list(range(6, 3006))
            assert ids.text() == "3006"
            assert ids.take(10_000) == list(range(3007, 13_007))

    @pytest.mark.parametrize("block", [1, 2, 3, 7, 1000, 5000, 1 << 20])
    def test_blocks_of_a_chosen_size(self, url, block):
        with begun(url, block=block, start=4090) as ids:
            count = min(5 * block, 10_000)
            assert ids.take(count) == list(range(4090, 4090 + count))

    def test_strict_follows_the_order_of_the_calls_across_members(self, url):
        with begun(url, block=1) as a, frazil.open(url, "tickets", block=1) as b:
            assert [ids() for _ in range(20) for ids in (a, b)] == list(range(1, 41))
            assert a.take(5) + b.take(5) == list(range(41, 51))

    def test_strict_takes_nothing_ahead(self, url):
        with begun(url, block=1) as ids:
            ids.take(7)
            assert ids._walk.registry.holdings()[0].until == 8

    @pytest.mark.parametrize("drawn", [1, 5, 500, 999, 1000, 1001, 4095, 4096, 5000])
    def test_close_gives_back_exactly_the_unused_rest(self, url, drawn):
        with begun(url) as ids:
            first = [ids() for _ in range(drawn // 2)] + ids.take(drawn - drawn // 2)
        with frazil.open(url, "tickets") as ids:
            assert [*first, ids()] == list(range(1, drawn + 2))

    def test_mint_counts_too(self, url):
        begun(url)
        assert frazil.mint(5, url, "tickets") == [1, 2, 3, 4, 5]
        assert frazil.mint(10_000, url, "tickets") == list(range(6, 10_006))

    @pytest.mark.parametrize("name", ["sqlite", "static"])
    def test_on_files(self, name, tmp_path):
        at = f"sqlite://{tmp_path}/c.db" if name == "sqlite" else f"static:0?state={tmp_path}/c.db"
        with begun(at, block=50) as ids:
            assert ids.take(333) == list(range(1, 334))
        with frazil.open(at, "tickets") as ids:
            assert ids() == 334

    def test_a_shuffled_counter(self, url):
        scheme = frazil.scheme("tickets", shuffle="seed:v1:tickets")
        with begun(url, scheme, block=3000) as ids:
            numbers = ids.take(9000)
            assert [ids.scheme.unpack(n)["sequence"] for n in numbers] == list(range(1, 9001))

    @pytest.mark.parametrize(("scheme", "block", "count"), [(SMALL, 100, 256), (NODES, 10, 64)])
    def test_the_end_of_a_counter(self, url, scheme, block, count):
        """Nodes are counted out one after the other."""
        with begun(url, scheme, start=0, block=block) as ids:
            made = ids.take(count)
            assert sorted(made) == list(range(count))
            assert scheme == NODES or made == sorted(made)
            with pytest.raises(LayoutExhausted, match="counter"):
                ids()


class TestAhead:
    """The next block is there before it is needed, and no caller waits for it."""

    def test_asked_for_at_half_and_made_longer(self, url, monkeypatch):
        with begun(url, block=100) as ids:
            ids.take(50)
            assert ids._walk.keeper.policy.claim.until == 101
            with gated(monkeypatch, url) as (gate, asked):
                assert ids._walk.take_ready(1) == [51]
                assert asked.acquire(timeout=20)
                assert ids._walk.take_ready(49) == list(range(52, 101))  # nobody waits meanwhile
                assert not asked.acquire(timeout=0.2)  # and it is asked once
                gate.set()
            waiting.until(lambda: ids._walk.until == 201, "the next block")
            assert ids._walk.take_ready(51) == list(range(101, 152))
            waiting.until(lambda: ids._walk.until == 301, "the block after it")  # and once more

    def test_another_block_is_queued_after_another_members_block(self, url):
        with begun(url, block=100) as ids, frazil.open(url, "tickets", block=100) as other:
            ids.take(50)
            assert other() == 101
            assert ids._walk.take_ready(1) == [51]
            waiting.until(lambda: ids._walk.queued, "a queued claim")
            assert ids._walk.take_ready(100) == [*range(52, 101), *range(201, 252)]
            assert ids.take(1000)[-1] > 1000

    def test_a_registry_that_was_away_is_asked_again_by_itself(self, url, monkeypatch):
        with begun(url, block=100) as ids:
            ids.take(50)
            step, down = MemoryRegistry.step, [True]

            def broken(self):
                if down[0]:
                    raise RegistryUnavailable("gone", url=self.url, outcome_known=True)
                return step(self)

            monkeypatch.setattr(MemoryRegistry, "step", broken)
            assert ids._walk.take_ready(1) == [51]
            waiting.until(lambda: ids._walk.keeper.policy.trouble is not None, "the failure")
            down[0] = False
            waiting.until(lambda: ids._walk.until == 201, "the next block")

    def test_close_gives_back_the_queued_block(self, url):
        with begun(url, block=100) as ids, frazil.open(url, "tickets", block=100) as other:
            ids.take(50)
            other()
            ids._walk.take_ready(1)
            waiting.until(lambda: ids._walk.queued, "a queued claim")
        with frazil.open(url, "tickets") as ids:
            assert ids() == 201


class TestRuns:
    def test_the_next_run_is_taken_at_half(self, url):
        with begun(url, "chibrary", 7) as ids:
            ids.take(8192)
            assert ids._walk.keeper.policy.claim.until == 8
            ids.take(1)
            waiting.until(lambda: ids._walk.until == 9, "the last ticket")
            assert len(ids._walk.take_ready(8191 + 8192)) == 8191 + 8192

    def test_a_process_of_one_id_takes_one_run(self, url):
        with begun(url, "chibrary", 0) as ids:
            ids()
        assert [h.until for h in ids._walk.registry.holdings()] == [1]

    def test_call_by_call(self, url):
        with begun(url, "zero:1=0 run:10 sequence:3", 0) as ids:
            assert [ids() for _ in range(200)] == list(range(200))

    def test_random_starts_use_all_of_a_run_that_follows(self, url):
        with begun(url, "zero:1=0 run:10 sequence:3", 0, sequence_start="random") as ids:
            numbers = ids.take(100)
        assert numbers == sorted(set(numbers))
        assert numbers[-1] < 8 + 100


class TestMisuse:
    @pytest.mark.parametrize("scheme", ["chibrary", "tickets", "chibrary-40"])
    def test_the_error_for_a_missing_counter_names_the_next_step(self, url, scheme):
        with (
            frazil.open(url, scheme) as ids,
            pytest.raises(ConfigError, match="frazil init URL --start N"),
        ):
            ids()

    @pytest.mark.parametrize("block", [0, -1, 1.5, True, "7", (1 << 20) + 1])
    def test_blocks_that_cannot_be(self, url, block):
        with pytest.raises(ConfigError, match="block="):
            frazil.open(url, "tickets", block=block)

    def test_block_is_refused_for_a_layout_with_time(self, url):
        with pytest.raises(ConfigError, match="leave it out"):
            frazil.open(url, "icicle", block=5)


class TestWalk:
    """The walk without a clock, compiled and interpreted."""

    def counter(self, module, layout="tickets", shuffle=None):
        scheme = frazil.scheme(layout, shuffle=shuffle)
        return module.Walk(manual_identity(module), *walk_arguments(scheme, 0, None)), scheme

    def test_wanting_from_half_on_until_there_is_more(self, module):
        walk, _ = self.counter(module)
        walk.adopt(0, 10, 20, 0, 0, 0)
        walk.take_ready(5)
        assert not walk.wanting
        walk.poll()
        assert walk.wanting
        walk.prolong(30, 0, 0, 0)
        assert not walk.wanting
        assert walk.take_ready(9) == list(range(16, 25))
        assert not walk.wanting
        assert walk.take_ready(1) == [25]
        assert walk.wanting
        walk.queue(0, 70, 72)
        assert not walk.wanting
        assert walk.take_ready(9) == [26, 27, 28, 29, 70, 71]
        assert walk.wanting

    def test_a_prolonged_run_is_not_in_want_at_half(self, module):
        t = Toy(module, tick_ns=0)
        t.walk.adopt(1, 10, 11, 0, 0, 0)
        t.cells(1)
        t.walk.prolong(12, 0, 0, 0)
        t.cells(3)
        assert not t.walk.wanting
        assert t.cells(3) == [(11, 1, s) for s in range(3)]
        assert t.walk.wanting

    def test_a_queued_claim_ends_with_the_claim_held(self, module):
        walk, _ = self.counter(module)
        walk.queue(0, 5, 9)
        assert walk.poll().wait_ns == module.SPENT  # nothing to go on from
        walk.adopt(0, 10, 12, 0, 0, 0)
        walk.queue(0, 20, 22)
        walk.leave()
        walk.adopt(0, 30, 32, 0, 0, 0)
        assert walk.take_ready(9) == [30, 31]
        walk.finish()
        walk.queue(0, 40, 42)
        assert walk.poll().wait_ns == module.CLOSED

    def test_one_node_is_walked_forward_only(self, module):
        walk, _ = self.counter(module, "node:2 sequence:8")
        walk.adopt(1, 10, 20, 0, 0, 0)
        walk.take_ready(10)
        walk.adopt(1, 15, 25, 0, 0, 0)
        assert [n & 255 for n in walk.take_ready(99)] == list(range(20, 25))
        walk.adopt(2, 5, 8, 0, 0, 0)
        assert [n & 255 for n in walk.take_ready(99)] == [5, 6, 7]


@pytest.mark.parametrize(("tick", "ticks"), [("1ms", 100), ("30ms", 3), ("100ms", 1), ("1s", 1)])
def test_a_first_claim_is_a_tenth_of_a_second_or_a_tick(url, tick, ticks):
    with frazil.open(url, f"time:40 node:8 sequence:16 @{tick} since 2025-01-01T00:00:00Z") as ids:
        assert ids._walk.keeper.policy._first_want() == ticks


@pytest.mark.parametrize("wanting", [True, False])
def test_a_counter_is_looked_after_when_called_and_in_trouble_by_itself(url, wanting):
    with begun(url) as ids:
        ids()
        keeper = ids._walk.keeper
        assert keeper.policy._next_round_s(SimpleNamespace(wanting=wanting)) is None
        keeper.policy.trouble = RegistryUnavailable("away", url=url, outcome_known=True)
        assert keeper.policy._next_round_s(SimpleNamespace(wanting=wanting)) == (
            0.001 if wanting else None
        )
