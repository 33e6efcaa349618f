"""The etcd registry against a real cluster: URLs, lost replies, restores, clocks, many slots."""

import secrets
import shutil
import socket
import subprocess
import time
from base64 import b64encode
from types import SimpleNamespace

import pytest

import frazil
from frazil.claims.claim import Claim, LastSeen, Lost, Wait
from frazil.claims.record import Record
from frazil.claims.slots import Slot
from frazil.errors import ClockError, ConfigError, RegistryUnavailable
from frazil.generator.verb_requests import ask_of
from frazil.registries import connect
from frazil.registries.etcd import registry as etcd
from frazil.registries.etcd.link import Link, Unanswered
from frazil.system import clock
from frazil.system.clock import boot_ns
from tests.needs import needs
from tests.servers import etcd as servers
from tests.servers.database import free_port
from tests.tools.verbs import ONE_RECORD, grant, mint, new, renew

SHELVES = frazil.scheme("sign:1=0 time:41 node:16 sequence:6 @1ms since 2016-02-18")
TWO_SHELVES = frazil.scheme("sign:1=0 time:41 node:9 sequence:13 @1ms since 2016-02-18")


@pytest.fixture
def name(request):
    return f"{request.node.name}-{secrets.token_hex(4)}"


class TestUrl:
    @pytest.mark.parametrize(
        ("hosts", "endpoints"),
        [
            ("a", [("a", 2379)]),
            ("a:1,b:2,c", [("a", 1), ("b", 2), ("c", 2379)]),
            ("[::1]:7,10.0.0.1", [("::1", 7), ("10.0.0.1", 2379)]),
        ],
    )
    def test_endpoints(self, hosts, endpoints):
        registry = connect(f"etcd://{hosts}?horizon=2s", "x", ONE_RECORD)
        assert sorted(registry._endpoints) == sorted(endpoints)


class TestRequests:
    def test_a_key_that_another_member_wrote_is_read_before_it_is_written(
        self, cluster, name, monkeypatch
    ):
        """Until it finds that nobody else did: a transaction that fails costs more than to read."""
        ours, other = new(cluster.url, name), connect(cluster.url, name, ONE_RECORD)
        sent, send = [], ours._send
        monkeypatch.setattr(ours, "_send", lambda *each: sent.append(1) or send(*each))
        counts = []
        for turn in (ours, ours, other, ours, other, ours, ours, ours):
            sent.clear()
            mint(turn)
            counts.append((len(sent), ours.key().alone))
        alone = [(1, True)]
        assert counts[:3] == [*alone * 2, (0, True)]
        assert counts[3:] == [(2, False), (0, False), (1, False), *alone * 2]

    def test_what_was_not_sent_is_told_from_what_was_not_answered(self, monkeypatch):
        monkeypatch.setattr("frazil.registries.etcd.link._TIMEOUT_S", 0.2)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            said = {}
            for port in free_port(), silent.getsockname()[1]:
                link = Link("etcd:", [("127.0.0.1", port)], None, None)
                with pytest.raises(Unanswered) as caught:
                    link.post("kv/txn", {}, dict)
                said[caught.value.sent] = str(caught.value).partition(": ")[2]
        assert said == {False: "[Errno 111] Connection refused", True: "no answer in time"}

    def test_a_value_at_the_same_revision_that_is_another_is_seen(self, cluster, name):
        registry, other = new(cluster.url, name), connect(cluster.url, name, ONE_RECORD)
        mint(other)
        mint(registry)
        state = registry.key().state
        changed = bytes(reversed(state.mark)) + state.value[len(state.mark) :]
        registry.key().state = etcd.replace(state, value=changed)
        assert mint(registry).seen.revision == 3
        assert len(mint(other).seen.sid) == 16

    def test_an_abandoned_ticket_is_skipped(self, cluster, name):
        registry, other = new(cluster.url, name), connect(cluster.url, name, ONE_RECORD)
        for _ in range(3):
            cluster.members[0].ask("kv/put", {"key": registry.key().queue, "value": ""})
        for _ in range(3):
            mint(registry)
            mint(other)
        assert mint(registry).seen.revision == 7


class TestShelves:
    """A namespace with two keys, and members with claims of the second one."""

    @pytest.fixture
    def member(self, cluster, name):
        registry = new(cluster.url, name, TWO_SHELVES)
        claim = grant(registry)
        while claim.seen.shelf == 0:
            claim = grant(registry)
        return registry, claim

    @pytest.mark.parametrize("how", ["lost", "put back"])
    def test_what_becomes_of_the_first_shelf_is_noticed_on_the_second(self, cluster, member, how):
        """Nothing was read since: the step that writes the second one finds the first changed."""
        (registry, claim), server = member, cluster.members[0]
        first = {"key": registry.key(0).name}
        early = server.ask("kv/range", first)["kvs"][0]["value"]
        if how == "put back":
            mint(registry, 4000)
            server.ask("kv/put", first | {"value": early})
        else:
            server.ask("kv/deleterange", first)
        assert isinstance(renew(registry, claim), Lost)
        assert isinstance(grant(registry), Wait)
        with registry.step() as (record, incarnation):
            assert record.incarnation == incarnation

    def test_a_step_on_all_notices_the_first_shelf_although_it_writes_another(
        self, cluster, member
    ):
        seen = []

        def verb(record, _reading_us, incarnation):
            seen.append(record.incarnation == incarnation)
            cluster.members[0].ask("kv/deleterange", {"key": registry.key(0).name})
            record.revision += 1

        registry, _ = member
        registry.perform(verb, None, 1)
        assert seen == [True, False]

    def test_a_namespace_is_not_new_if_a_shelf_appears_meanwhile(self, cluster, name, monkeypatch):
        shelves, ask = new(cluster.url, name, SHELVES), cluster.members[0].ask
        key = shelves.key(40)
        value = b64encode(key.state.value).decode()
        for shelf in range(shelves.count):
            ask("kv/deleterange", {"key": shelves.key(shelf).name})
        post = Link.post

        def put_before_a_write(link, path, body, *more):
            if "compare" in body:
                ask("kv/put", {"key": key.name, "value": value})
            return post(link, path, body, *more)

        monkeypatch.setattr(Link, "post", put_before_a_write)
        with pytest.raises(ConfigError, match="already has a record"):
            new(cluster.url, name)
        assert connect(cluster.url, name, ONE_RECORD).look() is None

    @pytest.mark.parametrize("left", [1, 40])
    def test_a_namespace_is_not_new_if_a_shelf_is_left(self, cluster, name, left):
        registry = new(cluster.url, name, SHELVES)
        for shelf in set(range(registry.count)) - {left}:
            cluster.members[0].ask("kv/deleterange", {"key": registry.key(shelf).name})
        for scheme in SHELVES, TWO_SHELVES, ONE_RECORD:
            with pytest.raises(ConfigError, match=r"already has a record|has the layout"):
                new(cluster.url, name, scheme)


class TestClock:
    @pytest.mark.parametrize("gains_us", [0, 1_400_000])
    def test_a_fast_member_leads_the_others_by_a_second_at_most(
        self, cluster, name, monkeypatch, gains_us
    ):
        ahead_us = [0]
        fake = SimpleNamespace(wall_us=lambda: clock.wall_us() + ahead_us[0])
        monkeypatch.setattr(etcd, "clock", fake)
        fast, slow = new(cluster.url, name), connect(cluster.url, name, ONE_RECORD)
        plain = Record()
        readings = []
        for turn in range(40):
            for registry, ahead_us[0] in ((fast, 3_000_000 + turn * gains_us), (slow, 0)):
                readings.append(mint(registry).now_us)
                reading_us = fake.wall_us()
                plain._read_clock(slow.terms, ask_of(LastSeen()), reading_us)
        assert readings == sorted(readings)
        assert readings[-1] <= clock.wall_us() + 1_000_000
        assert plain.top_us > clock.wall_us() + 30_000_000  # had each been the store's clock

    @pytest.mark.parametrize("hours", [-1, 1])
    def test_a_first_reading_needs_etcds_date(self, cluster, name, monkeypatch, hours):
        wrong = SimpleNamespace(
            wall_us=lambda: clock.wall_us() + hours * 3_600_000_000, moment_text=clock.moment_text
        )
        monkeypatch.setattr(etcd, "clock", wrong)
        with pytest.raises(ClockError, match="etcd's clock"):
            grant(connect(cluster.url, name, ONE_RECORD), 5)


class TestMany:
    def test_uniqueid_with_all_generators_of_all_clusters(self, cluster, name):
        """32,768 slots, in one step; etcd takes no request over 1.5 MiB."""
        schemes = [frazil.scheme("uniqueid-spread", fields={"cluster": c}) for c in range(16)]
        first = new(cluster.url, name, schemes[0])
        now = first.terms.tick_at(clock.wall_us())
        with first.step() as (record, _):
            record.revision += 1
            for n in range(16 * 2048):
                slot = Slot(
                    now + n % 4000, now, secrets.token_hex(8), f"web-{n % 500}.example:{n % 9}"
                )
                record.slots.put(n, slot)
        assert sum(len(first.key(n).state.value) for n in range(first.count)) < 1_400_000
        for scheme in schemes[::5]:
            registry = connect(cluster.url, name, scheme)
            assert mint(registry).slot in registry.terms.slots


@pytest.mark.long
class TestUsers:
    @pytest.fixture
    def guarded(self):
        with servers.etcd(1) as cluster:
            member = cluster.members[0]
            member.ask("auth/user/add", {"name": "root", "password": "master"})
            member.ask("auth/user/grant", {"user": "root", "role": "root"})
            member.ask("auth/user/add", {"name": "app", "password": "p@ss"})
            member.ask("auth/role/add", {"name": "ids"})
            permission = {
                "permType": "READWRITE",
                "key": "ZnJhemlsLw==",
                "range_end": "ZnJhemlsMA==",
            }
            member.ask("auth/role/grant", {"name": "ids", "perm": permission})
            member.ask("auth/user/grant", {"user": "app", "role": "ids"})
            member.ask("auth/user/add", {"name": "other", "password": "x"})
            member.ask("auth/enable")
            yield cluster

    def test_users(self, guarded):
        hosts = guarded.url[7:]
        registry = new(f"etcd://app:p%40ss@{hosts}", "x")
        assert isinstance(mint(registry), Claim)
        guarded.members[0].kill9()  # and with it the token
        guarded.restart(guarded.members[0])
        time.sleep(1)
        assert isinstance(mint(registry), Claim)
        for who, advice in (
            ("", "etcd://user:password@host"),
            ("app:wrong@", "right user and password"),
            ("other:x@", "grant-permission"),
        ):
            with pytest.raises(ConfigError, match=advice) as caught:
                mint(connect(f"etcd://{who}{hosts}", "x", ONE_RECORD))
            assert "wrong" not in str(caught.value)

    def test_a_user_where_there_are_none(self, cluster):
        with pytest.raises(ConfigError, match="remove the user"):
            mint(connect(f"etcd://app:x@{cluster.url[7:]}", "x", ONE_RECORD))


def test_it_is_known_when_the_clock_was_read(cluster, name):
    registry = new(cluster.url, name)
    sent_ns = boot_ns()
    grant(registry, 1)
    assert sent_ns < registry.read_ns < boot_ns()


@pytest.mark.long
def test_tls(tmp_path):
    if shutil.which("openssl") is None:
        needs("openssl", "etcd over TLS")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    command += ["-keyout", str(key), "-out", str(cert)]
    subprocess.run(command, check=True, capture_output=True)
    with servers.etcd(1, tls=(cert, key)) as cluster:
        registry = new(f"{cluster.url}?ca={cert}", "x")
        assert isinstance(mint(registry), Claim)
        assert registry._index > 0
        with pytest.raises(RegistryUnavailable, match="certificate"):
            mint(connect(cluster.url, "x", ONE_RECORD))
