"""The overview: what the console shows of all namespaces, workers and tokens."""

import os
import signal
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

import frazil
from frazil.service.alarms import PARTS_MOST, History, total
from frazil.service.tokens import hash_of
from tests.servers.redis import Server, until
from tests.tools.proxy import Proxy
from tests.unit.service.conftest import token

PAGES = "https://github.com/frazil/frazil/blob/main/docs/how-to/"
A_SECOND = timedelta(seconds=1)


def overview(service, token=""):
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    reply = service.client.get("/v1/overview", headers=headers)
    assert reply.status_code == 200, reply.text
    return reply.json()


def first(service):
    return overview(service)["overview"][0]


def level_of(service, level, **more):
    return until(lambda: (one := first(service))["level"] == level and one, level, **more)


def alarm_of(service, level, why, holders=()):
    """An alarm; a service that a busy machine stops for a while has another one besides.

    holders: generators that hold a claim; one that a busy machine loses comes with the next ID.
    """

    def found():
        for ids in holders:
            ids()
        one = first(service)
        return one["level"] == level and {one["why"]: one for one in one["alarms"]}.get(why)

    return until(found, why)


moment = datetime.fromisoformat


def test_an_outage_is_red_with_its_reason_its_begin_and_its_page(start, tmp_path):
    with Server() as redis, Proxy(redis.port) as wire:
        service = start(
            f'[namespaces.a]\nregistry = "sqlite:///{tmp_path}/a.db"\n[namespaces.b]\n'
            f'registry = "redis://127.0.0.1:{wire.port}?timeout=300ms&horizon=3s"\n'
        )
        until(lambda: {one["level"] for one in overview(service)["overview"]} == {"green"}, "green")
        until(lambda: overview(service)["overview"][1]["claims"]["members"] == 1, "a claim")
        a, b = overview(service)["overview"]
        assert (a["namespace"], b["namespace"]) == ("a", "b")
        assert (a["alarms"], b["alarms"], b["claims"]["fresh"]) == ([], [], True)
        began = datetime.now(UTC) - A_SECOND
        with wire.refusing():
            wire.cut()
            bad = level_of(service, "red")
            assert bad["namespace"] == "b"  # the worst first
            (alarm,) = bad["alarms"]
            assert "does not answer" in alarm["why"]
            assert alarm["page"] == f"{PAGES}alarms/store-away.md"
            assert alarm["of_workers"] == [0]
            assert began < moment(alarm["since"]) < datetime.now(UTC)
            (worker,) = bad["workers"]
            assert f":{wire.port}" in worker["last_error"]
            assert began < moment(worker["last_error_at"]) < datetime.now(UTC)
            assert worker["renew_failures"] >= 1
            old = until(
                lambda: not (one := first(service)["claims"])["fresh"] and one, "an old read"
            )
            assert (old["members"], moment(old["read"]) < datetime.now(UTC) - 4 * A_SECOND) == (
                1,
                True,
            )
            asked = datetime.now(UTC)
            later = overview(service)
            assert moment(later["as_of"]) > asked - A_SECOND
            assert [one["level"] for one in later["overview"]] == ["red", "green"]
            since = moment(later["overview"][0]["alarms"][0]["since"])
            assert abs(since - moment(alarm["since"])) < 2 * A_SECOND
        b = level_of(service, "amber", patience_s=30)
        assert "did not answer" in b["alarms"][0]["why"]  # for ten minutes
        until(lambda: first(service)["claims"]["fresh"], "a new read", patience_s=30)
        assert b["workers"][0]["last_error_at"]  # what happened stays


def test_an_answer_does_not_wait_for_a_store_that_hangs(start):
    with Server() as redis:
        url = f"{redis.url}?horizon=60s&timeout=10min"
        service = start(f'[namespaces.a]\nregistry = "{url}"\n')
        service.client.get("/v1/a/claims")
        redis.freeze()
        until(lambda: first(service)["claims"]["fresh"] is False, "a record that is old")
        redis.thaw()


def test_of_all_workers_and_one_that_stands_still(start, tmp_path):
    config = f'[namespaces.a]\nregistry = "sqlite:///{tmp_path}/a.db"\n'
    service = start(config, "--workers", "2")
    until(lambda: len(first(service)["workers"]) == 2, "both workers")
    level_of(service, "green")
    for _ in range(40):
        with frazil.open(f"{service.url}/a") as ids:
            ids.take(25)
    until(lambda: sum(one["issued"] for one in first(service)["workers"]) == 1000, "a sum")
    until(lambda: sum(first(service)["issued_parts"]) == 1000, "a history")
    found = first(service)
    assert [one["worker"] for one in found["workers"]] == [0, 1]
    pids = [one["process"] for one in found["workers"]]
    assert len({*pids, service.process.pid}) == 3
    mine = pids.index(service.client.get("/v1/a/status").json()["process"])  # on this connection
    other = 1 - mine
    os.kill(pids[other], signal.SIGSTOP)
    try:
        silent = until(
            lambda: (
                (one := first(service))["level"] == "unknown" and one["alarms"][0]["since"] and one
            ),
            "a silent worker",
            patience_s=20,
        )
        assert silent["alarms"][0]["why"] == f"worker {other} does not report"
        assert [one["silent"] for one in silent["workers"]] == [other == 0, other == 1]
        assert moment(silent["workers"][other]["reported"]) < datetime.now(UTC) - 4 * A_SECOND
    finally:
        os.kill(pids[other], signal.SIGCONT)
    os.kill(pids[other], signal.SIGKILL)
    until(lambda: first(service)["workers"][other]["process"] not in pids, "another worker")
    until(lambda: sum(first(service)["issued_parts"]) == 1000, "the history of the dead one")


def test_a_namespace_that_is_nearly_full(start, tmp_path):
    url, scheme = f"sqlite:///{tmp_path}/a.db", "time:41 node:3 sequence:12 @1ms since 2026-01-01"
    service = start(f'[namespaces.a]\nregistry = "{url}"\nscheme = "{scheme}"\nkeep = "1h"\n')
    level_of(service, "green")
    with ExitStack() as stack:
        holders = [
            stack.enter_context(frazil.open(url, namespace="a", scheme=scheme, keep="1h"))
            for _ in range(7)
        ]
        full = alarm_of(service, "amber", "7 of 8 node numbers are held", holders[:6])
        assert full["page"] == f"{PAGES}alarms/no-claim.md"
        alarm_of(service, "red", "8 of 8 node numbers are held", holders)


LIMITS = "ids_per_minute = 600\nexpires = 2099-01-01T00:00:00Z"
TOKENS = f"""
[namespaces.a]
[namespaces.b]
{token("boss", "admin")}
{token("shop", "issue", "inspect", places="ab", more=LIMITS)}
{token("half", "admin", places="a")}
{token("other", places="b")}
"""


def test_tokens_without_their_secrets(start):
    names = ("boss", "shop", "half", "other")
    service = start(TOKENS)
    shop = {"Authorization": "Bearer shop"}
    assert service.client.post("/v1/a/ids?n=100", headers=shop).status_code == 200
    assert service.client.get("/v1/overview", headers=shop).status_code == 403
    assert service.client.get("/v1/overview").status_code == 401
    told = overview(service, "boss")
    tokens = {one["name"]: one for one in told["tokens"]}
    assert set(tokens) == set(names)
    assert 500 <= tokens["shop"]["left"] < 600  # ten more each second
    assert tokens["shop"]["ids_per_minute"] == 600
    assert tokens["shop"]["expires"] == "2099-01-01T00:00:00Z"
    assert tokens["shop"]["token_namespaces"] == ["a", "b"]
    assert (tokens["boss"]["left"], tokens["boss"]["expires"]) == (None, None)
    for name in names:
        assert hash_of(name).removeprefix("sha256:") not in str(told)
    mine = overview(service, "half")
    assert [one["namespace"] for one in mine["overview"]] == ["a"]
    assert [(one["name"], one["token_namespaces"]) for one in mine["tokens"]] == [
        ("boss", ["*"]),
        ("shop", ["a"]),
        ("half", ["a"]),
    ]


def test_replies_and_errors_of_http(start):
    service = start()
    assert service.client.get("/v1/none/id").status_code == 404
    told = overview(service)
    replies = {(one["door"], one["status"]): one["count"] for one in told["replies"]}
    assert replies["other", 404] == 1
    assert sum(told["http_errors"]) == 1
    assert told["version"] == frazil.__version__
    assert moment(told["started"]) < moment(told["as_of"])


def test_a_history_is_short_and_loses_no_count():
    history = History()
    for second in range(20_000):
        history.add(second, {"issued": 3})
        assert len(history.rows["issued"]) <= PARTS_MOST
    assert sum(history.rows["issued"]) == 60_000
    assert history.part_s == 512
    assert set(history.rows["issued"][:-1]) == {3 * 512}


def test_the_sum_of_histories_of_one_start():
    early, late = History(), History()
    early.add(1, {"issued": 5})
    late.add(300, {"issued": 7})
    late.add(301, {"issued": 1, "failures": 2})
    both = total([early, late], 301)
    assert both.part_s == 8
    assert both.rows["issued"] == [5, *[0] * 36, 8]
    assert both.rows["failures"] == [*[0] * 37, 2]
    assert early.rows["issued"] == [5]
