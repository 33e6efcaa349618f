"""What holds for every store of which all registries of a process share one connection.

The module of a store has the fixtures: ``wire``, a Trickle to the server, and ``url``, through it.
"""

import secrets
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import frazil
from frazil.claims.claim import LastSeen
from frazil.errors import ConfigError, RegistryUnavailable
from frazil.registries import connect
from tests.tools.descriptors import descriptors_to
from tests.tools.forks import child
from tests.tools.verbs import ONE_RECORD, begin, grant, mint, release, renew
from tests.tools.waiting import until


def open_some(url, count):
    """Registries of namespaces that are set up."""
    made = [connect(url, f"{secrets.token_hex(4)}-{i}", ONE_RECORD) for i in range(count)]
    for each in made:
        begin(each)
    return made


class OneConnection:
    """``patience``: where the store's module has the time limit of a request."""

    patience: str

    @pytest.fixture
    def generators(self, url, wire):
        """``generators(count)``: of as many namespaces; what set them up is closed."""

        def opened(count):
            names = [secrets.token_hex(4) for _ in range(count)]
            for name in names:
                frazil.init(url, namespace=name, new=True)
            until(lambda: wire.connections == 0, "the end of what init opened")
            return [frazil.open(url, namespace=name) for name in names]

        return opened

    def test_generators_of_many_namespaces_have_one(self, generators, wire):
        ids, before = generators(20), wire.opened
        assert len([each() for each in ids]) == 20
        assert (wire.connections, wire.opened) == (1, before + 1)
        for each in ids[:-1]:
            each.close()
        assert wire.connections == 1
        ids[-1].close()
        until(lambda: wire.connections == 0, "the end of the connection")

    def test_a_first_id_of_another_namespace_costs_only_its_claim(self, generators, wire):
        one, other = generators(2)
        with one, other:
            one()
            opened, turns = wire.opened, wire.turns
            other()
            assert wire.opened == opened
            assert wire.turns - turns <= 5  # etcd's three, and a renewal of each

    def test_generators_go_on_after_a_loss(self, generators, wire):
        ids = generators(5)
        made = [(i, each()) for i, each in enumerate(ids)]
        wire.cut()
        time.sleep(0.2)  # their claims of 100 ms end
        made += [(i, each()) for i, each in enumerate(ids)]
        assert len(set(made)) == 10
        until(lambda: wire.connections == 1, "one connection")
        for each in ids:
            each.close()
        until(lambda: wire.connections == 0, "the end of the connection")

    def test_a_reply_that_trickles_is_given_up(self, url, wire, monkeypatch):
        """A limit for each read is none, if each read finds a byte."""
        (registry,) = open_some(url, 1)
        before = mint(registry).seen.revision
        with wire.trickling(0.05), monkeypatch.context() as patch:
            patch.setattr(self.patience, 0.3)
            with pytest.raises(RegistryUnavailable):
                mint(registry)
        assert mint(registry).seen.revision > before
        registry.close()

    def test_a_child_has_no_copy_of_a_connection_in_use(self, url, wire):
        """Else it could end its parent's step, and the server would not notice the parent's end."""
        (registry,) = open_some(url, 1)
        with registry.step() as (record, _), registry._links.taken():
            record.revision += 1
            assert descriptors_to(wire.port)
            assert child(lambda: not descriptors_to(wire.port)) == 0
            with ThreadPoolExecutor(1) as pool:
                assert pool.submit(child, lambda: not descriptors_to(wire.port)).result() == 0
        assert mint(registry).seen.revision == 2
        registry.close()

    def test_a_child_has_a_connection_of_its_own(self, url, wire):
        """It closes that one, and its parent continues with the old one."""
        some = open_some(url, 2)
        opened = wire.opened

        def mints():
            found = [mint(each).seen.revision for each in some]
            for each in some:
                each.close()
            return found == [1, 1]

        assert child(mints) == 0
        assert wire.opened == opened + 1
        assert [mint(each).seen.revision for each in some] == [2, 2]
        assert wire.opened == opened + 1
        for each in some:
            each.close()


def strike(*_):
    raise KeyboardInterrupt


class OneSession(OneConnection):
    """The same of a database, of which ``calm`` is the server; the user may only use ``table``.

    user: as the database writes it. places: inside a verb, where it is interrupted. idle_s: for
    how long a transaction may be idle; late: how many verbs fail before another one has the row.
    """

    table: str
    user = "app"
    places: tuple[str, ...]
    idle_s: int
    late = 0

    def test_a_user_who_may_only_use_the_table(self, url):
        (registry,) = open_some(url, 1)
        claim = grant(registry, 100)
        longer = renew(registry, claim, 10)
        assert isinstance(release(registry, longer, longer.start + 1), LastSeen)
        assert [h.slot for h in registry.holdings()] == [claim.slot]
        assert {fact.verdict for fact in registry.examine().facts} == {"good"}

    def test_a_right_that_is_missing(self, url, calm):
        (registry,) = open_some(url, 1)
        calm.sql(f"REVOKE UPDATE ON {self.table} FROM {self.user}")
        with pytest.raises(ConfigError, match="SELECT, INSERT and UPDATE"):
            mint(registry)

    def test_a_frozen_member_is_rolled_back(self, url):
        (sleeper,) = open_some(url, 1)
        other = connect(url, sleeper.namespace, ONE_RECORD)
        locked = threading.Event()

        def sleep():
            with sleeper.step() as (record, _):
                record.revision += 1000
                locked.set()
                time.sleep(self.idle_s + 2.5)

        with ThreadPoolExecutor(1) as pool:
            asleep = pool.submit(sleep)
            locked.wait(10)
            for _ in range(self.late):
                with pytest.raises(RegistryUnavailable, match="locked"):
                    mint(other)
            assert mint(other).seen.revision == 1
            with pytest.raises(RegistryUnavailable):
                asleep.result()
        assert mint(sleeper).seen.revision == 2

    def test_a_transaction_that_was_left_open_is_of_no_other_verb(self, url, calm, monkeypatch):
        for place in self.places:
            broken, other = open_some(url, 2)
            with monkeypatch.context() as patch:
                patch.setattr(*([place] if "." in place else [broken, place]), strike)
                with pytest.raises(KeyboardInterrupt):
                    mint(broken)
            with other.step() as (record, _):
                record.revision += 1
                row = f"SELECT revision FROM {self.table} WHERE name = '{broken.namespace}'"
                assert list(calm.sql(f"{row} FOR UPDATE NOWAIT")) == [(0,)]
            assert mint(other).seen.revision == 2
            self.ends_clean(other)
            assert mint(broken).seen.revision == 1

    def ends_clean(self, registry):
        """Nothing of the other verb is left in the session."""
