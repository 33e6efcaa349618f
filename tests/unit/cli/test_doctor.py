"""``frazil doctor`` on real stores: facts, events, and that it changes nothing."""

import json
import shlex
from pathlib import Path

import pytest

import frazil
from frazil.claims.claim import LastSeen
from frazil.generator.verb_requests import ask_of
from frazil.registries import connect
from frazil.system import clock
from tests.servers import etcd, mariadb, postgres
from tests.servers.redis import Server, free_port


def told(result):
    found = json.loads(result.stdout[: result.stdout.rindex("]") + 1])
    return {each["about"]: each for each in found}


def test_file(call, own_state_directory):
    result = call("doctor")
    assert result.exit_code == 0, "that a second host has a file of its own is no fault of this"
    assert result.stdout.startswith("sqlite: SQLite")
    for text in ("SQLite", "round trip", "namespace", "a second host", "may repeat"):
        assert text in result.stdout
    assert not own_state_directory.exists()


@pytest.mark.parametrize("url", ["sqlite:{}/claims.db", "static:7?state={}/seven.db"])
def test_a_file_that_a_wrong_clock_moved_ahead(call, tmp_path, monkeypatch, url):
    url, right = url.format(tmp_path), clock.wall_us
    call("init", url, "--new")
    assert told(call("doctor", url, "--json"))["timestamps"]["found"] == "follow the clock"
    with monkeypatch.context() as wrong:
        wrong.setattr(clock, "wall_us", lambda: right() + 5 * 365 * 86_400_000_000)
        assert call("mint", "-u", url).exit_code == 0
    result = call("doctor", url, "--json")
    assert result.exit_code == 1
    found = told(result)["timestamps"]
    assert (found["verdict"], found["found"]) == ("bad", "1,825.0 days ahead of the clock")
    assert "alarms/clock.md" in found["meaning"]


def test_memory_is_refused(refused):
    assert "keeps its claims in the memory of each process" in refused(2, "doctor", "memory:")


def test_server_without_persistence(call, server):
    server.do("FLUSHALL")  # a worker may have run others here before
    result = call("doctor", server.url, "--json")
    assert result.exit_code == 0
    facts = told(result)
    assert facts["persistence"]["found"] == "appendonly no"
    assert facts["persistence"]["verdict"] == "note"
    assert facts["the server restarts, with or without its data"]["found"] == "late"
    assert "'default' is new" in facts["namespace"]["found"]
    assert "has all rights that members need" in facts["rights"]["found"]
    assert server.client().dbsize() == 0
    shown = call("doctor", server.url).stdout
    assert server.flavour.capitalize() in shown
    assert "Events and their outcome" in shown


def test_counter_on_a_server_without_persistence(call, server):
    result = call("doctor", server.url, "-s", "tickets", "--json")
    assert result.exit_code == 1
    facts = told(result)
    assert facts["persistence"]["verdict"] == "bad"
    assert f"frazil init {server.url} --scheme tickets --start N" in facts["namespace"]["meaning"]


def test_try_takes_and_releases_a_claim(call, server):
    call("init", server.url, "--namespace", "tried", "--new")
    found = told(call("doctor", server.url, "--namespace", "tried", "--json"))
    assert found["a claim"]["found"] == "not tried"
    found = told(call("doctor", server.url, "--namespace", "tried", "--try", "--json"))
    assert found["a claim"]["found"].startswith("taken, renewed and released")
    (line,) = json.loads(call("claims", server.url, "--namespace", "tried", "--json").stdout)
    assert line["state"] == "free"


def test_missing_permissions(call, server):
    rights = ["+eval", "+evalsha", "+info", "+time", "+hmget", "+hgetall", "+acl"]
    server.client().acl_setuser(
        "half", enabled=True, passwords="+pw", keys=["frazil:*"], commands=rights
    )
    url = server.url.replace("//", "//half:pw@")
    result = call("doctor", url, "--json")
    assert result.exit_code == 1
    assert "may not +hset" in told(result)["rights"]["found"]


def test_replica(call, server):
    with Server(server.flavour) as replica:
        replica.replicate(server)
        split = "an old primary continues beside its successor"
        alone, confirmed = (
            call("doctor", f"{server.url}{option}", "--json") for option in ("", "?replicas=1")
        )
        assert (alone.exit_code, confirmed.exit_code) == (1, 0)
        assert told(alone)[split]["verdict"] == "bad"
        assert "?replicas=1" in told(alone)[split]["meaning"]
        assert told(confirmed)[split]["verdict"] == "good"
        refused = call("doctor", replica.url, "--json")
        assert refused.exit_code == 1
        assert told(refused)["role"]["found"] == "replica"


def test_a_full_server(call):
    with Server() as server:
        server.do("CONFIG", "SET", "maxmemory", "100mb")
        found = told(call("doctor", server.url, "--json"))["maxmemory-policy"]
        assert (found["verdict"], found["found"]) == ("good", "noeviction, limit 100.00M")
        server.do("CONFIG", "SET", "maxmemory", "1kb")
        result = call("doctor", server.url, "--json")
        assert result.exit_code == 1
        assert "no claim can be stored" in told(result)["maxmemory-policy"]["meaning"]


def test_a_clock_that_is_refused(call):
    with Server(faked=True) as server:
        call("init", server.url, "--new")
        server.step_clock(3600)
        result = call("doctor", server.url, "--json")
        assert result.exit_code == 1
        assert told(result)["clock"]["found"] == "3600.0 s ahead of this host's"


def test_record_with_another_layout(call, server):
    scheme = frazil.scheme("sonyflake")
    connect(server.url, "other", scheme).initialise(ask_of(LastSeen()), 0)
    found = told(call("doctor", server.url, "--namespace", "other", "--json"))
    assert str(scheme.layout) in found["namespace"]["found"]


def test_server_does_not_answer(refused):
    assert "check that it runs" in refused(3, "doctor", f"redis://127.0.0.1:{free_port()}")


def test_three_servers_and_one_does_not_answer(call):
    with Server() as first, Server() as second, Server() as third:
        url = f"redis://{','.join(s.url.partition('//')[2] for s in (first, second, third))}"
        third.kill()
        found = told(call("doctor", f"{url}?timeout=300ms", "--json"))
        assert found["store 3"]["found"] == "unavailable"
        assert found["persistence (1)"]["found"] == "appendonly no"
        third.start()


def test_postgres(call):
    with postgres.postgres() as server:
        result = call("doctor", server.url(), "--json")
        assert result.exit_code == 1, "a store without its table issues no ID"
        new = told(result)
        assert "frazil_namespace does not exist" in new["table"]["found"]
        assert new["table"]["meaning"] == f"run: frazil init {server.url()}"
        assert new["namespace"]["meaning"] == "it needs the table first"
        assert new["in SQL"]["meaning"] == f"frazil init {server.url()} --sql makes it"
        assert call("claims", server.url()).stdout.startswith(f"{server.url()} has no namespace")
        call("init", server.url(), "--new")
        result = call("doctor", server.url(), "--try", "--json")
        assert result.exit_code == 0
        found = told(result)
        assert found["a claim"]["verdict"] == found["rights"]["verdict"] == "good"
        assert "synchronous_commit on" in found["persistence"]["found"]
        assert found["clock"]["verdict"] == found["timestamps"]["verdict"] == "good"
        server.sql("UPDATE frazil.frazil_namespace SET offset_us = 864000000000")
        moved = told(call("doctor", server.url(), "--json"))
        assert (moved["clock"]["verdict"], moved["timestamps"]["verdict"]) == ("good", "bad")
        assert moved["timestamps"]["found"] == "10.0 days ahead of the clock"
        server.sql("UPDATE frazil.frazil_namespace SET offset_us = 0")
        server.sql("CREATE ROLE reader LOGIN")
        server.sql("GRANT SELECT ON frazil.frazil_namespace TO reader")
        result = call("doctor", server.url("reader"), "--json")
        assert result.exit_code != 0


def test_the_commands_for_a_missing_table_work(call):
    """A role without the right to create tables gets the command of the database's owner."""
    with postgres.postgres() as server:
        server.sql("CREATE ROLE app LOGIN")
        server.sql("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
        url, words = server.url("app"), ("--namespace", "big orders")
        step = told(call("doctor", url, *words, "--json"))["table"]["meaning"]
        assert "app may not create it; the owner of the database, postgres, runs" in step
        assert "the owner of the database, postgres, runs: psql postgres -f /" in step
        refused = " ".join(call("init", url, "--new").output.split())
        assert "permission denied" in refused
        minted = " ".join(call("mint", "-u", url, *words).output.split())
        assert f"frazil init {url} --namespace 'big orders', or" in minted
        _, _, _, script, _, grant = shlex.split(step.partition("runs: ")[2])
        server.sql(Path(script).read_text())
        server.sql(grant)
        assert call("init", url, "--new", *words).exit_code == 0
        assert call("mint", "-u", url, *words).exit_code == 0
        assert call("doctor", url, *words).exit_code == 0


def test_mysql(call):
    with mariadb.mariadb() as server:
        result = call("doctor", server.url(), "--namespace", "orders", "--json")
        assert result.exit_code == 1
        found = told(result)
        init = f"frazil init {server.url()} --namespace orders"
        assert found["table"]["meaning"].startswith(f"run: {init}; ")
        script = found["table"]["meaning"].partition("runs: mysql app < ")[2]
        assert Path(script).is_absolute()
        assert Path(script).is_file()
        assert found["namespace"]["meaning"] == "it needs the table first"
        minted = " ".join(call("mint", "-u", server.url(), "--namespace", "orders").output.split())
        assert f"{init}, or as an administrator: mysql app < {script}" in minted
        assert call(*shlex.split(init)[1:], "--new").exit_code == 0
        assert call("doctor", server.url(), "--namespace", "orders").exit_code == 0


@pytest.mark.long
def test_etcd(call):
    with etcd.etcd(3) as cluster:
        call("init", cluster.url, "--new")
        result = call("doctor", cluster.url, "--try", "--json")
        assert result.exit_code == 0, result.output
        found = told(result)
        assert found["members"]["found"] == "3, of which 1 may fail"
        assert found["a claim"]["verdict"] == "good"
        assert "3 members" in call("doctor", cluster.url).stdout


@pytest.mark.long
def test_events_that_may_repeat_ids_are_shown(call, server):
    """For counters, with the next step."""
    timed = told(call("doctor", server.url, "--json"))
    counter = told(call("doctor", server.url, "-s", "tickets", "--json"))
    about = "SWAPDB, RESTORE of the key, or another writer"
    assert timed[about]["found"] == counter[about]["found"] == "may repeat"
    assert timed[about]["meaning"].endswith("DEL the key")
    assert counter[about]["meaning"].endswith("frazil init --start N --forward")
    with etcd.etcd(1) as cluster:
        timed = told(call("doctor", cluster.url, "--json"))
        counter = told(call("doctor", cluster.url, "-s", "tickets", "--json"))
    about = "the cluster is restored from a snapshot"
    assert timed[about]["found"] == "late"
    assert "values given since then repeat if no member is running" in counter[about]["meaning"]
    assert counter[about]["meaning"].endswith("frazil init --start N --forward")
