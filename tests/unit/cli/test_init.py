"""``frazil init``: a namespace is set up once, and waits without --new; counters need a start."""

import time

import pytest

from frazil import scheme
from frazil.claims.claim import Claim, LastSeen, Wait
from frazil.generator.verb_requests import ask_of
from frazil.registries import connect
from tests.servers.redis import Server


def test_namespace_is_set_up_once(call):
    result = call("init", "--new")
    assert result.exit_code == 0
    assert "Namespace 'default' of sqlite: is new, with scheme icicle" in result.stdout
    assert "sign:1=0 time:41" in result.stdout
    assert "Waiting" not in result.stdout
    for again in (call("init", "--new"), call("init")):
        assert again.exit_code == 2
        assert "already has a record" in again.output
        assert again.stdout == ""


def test_without_new_it_waits_one_horizon(call):
    begun_s = time.monotonic()
    result = call("init")
    assert time.monotonic() - begun_s > 1.0
    assert "Namespace 'default' of sqlite: is set up, with scheme icicle" in result.stdout
    assert "Waiting 1.2s, because an earlier record may be lost (--new skips this)." in (
        result.stdout
    )
    reply = connect("sqlite:", "default", scheme("icicle")).grant(ask_of(LastSeen()), 1)
    assert isinstance(reply, Claim)
    assert reply.start <= reply.seen.now_us // 1000


@pytest.fixture(scope="module")
def running():
    with Server() as one, Server() as other:
        yield one, other


@pytest.fixture
def servers(running):
    for server in running:
        server.do("FLUSHALL")
    return running


@pytest.mark.parametrize("options", [(), ("--if-missing",)])
@pytest.mark.parametrize("count", [1, 2])
def test_init_after_a_loss_repeats_no_id(call, servers, count, options):
    """Members continue inside their claims after FLUSHALL, and then ``init`` runs again."""
    url = f"redis://{','.join(f'127.0.0.1:{each.port}' for each in servers[:count])}?horizon=1s"
    icicle = scheme("icicle")
    connect(url, "default", icicle).initialise(ask_of(LastSeen()), 0)
    members = [connect(url, "default", icicle) for _ in range(4)]
    claims = [member.grant(ask_of(LastSeen()), 1000) for member in members]
    for server in servers[:count]:
        server.do("FLUSHALL")
    assert call("init", url, *options).exit_code == 0
    for _ in range(4):
        while isinstance(
            reply := connect(url, "default", icicle).mint(ask_of(LastSeen()), 5), Wait
        ):
            pass
        claims.append(reply)
    cells = {(c.slot, tick) for c in claims for tick in range(c.start, c.until)}
    assert len(cells) == sum(c.until - c.start for c in claims)


def test_lost_counter_needs_a_start(refused, servers):
    """The first value of a counter has no default, and the record is not created."""
    url, counter = servers[0].url, ("--namespace", "invoices", "-s", "tickets")
    said = refused(2, "init", url, *counter)
    assert "--start N" in said
    assert "--new" in said
    assert servers[0].client().dbsize() == 0


def test_a_password_is_not_shown(call, servers):
    place = f"127.0.0.1:{servers[0].port}"
    url = f"redis://default:secret@{place}"
    shown = [call(*words).output for words in (["claims", url], ["init", url, "--new"])]
    shown += [call("claims", url).output, call("bench", "-u", url, "--seconds", "0.01").output]
    for text in shown:
        assert f"redis://default:***@{place}" in text.replace("\n", "")
        assert "secret" not in text


def test_first_value_of_new_counters_and_runs(call):
    call("init", "-s", "tickets", "--new")
    assert call("mint", "-s", "tickets").stdout == "1\n"
    assert "is 0." in call("init", "-s", "chibrary", "--namespace", "runs", "--new").stdout


def test_run_begins_at_start(call):
    result = call("init", "-s", "chibrary", "--start", "7")
    assert "The next run is 7." in result.stdout
    inspected = call("inspect", "-s", "chibrary", call("mint", "-s", "chibrary").stdout).stdout
    assert "run        7 (" in inspected.replace("run       7", "run        7")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--start", "4"], "--start and --forward are for counters"),
        (["-s", "tickets", "--new", "--start", "4"], "use it or --start"),
        (["-s", "tickets", "--new", "--forward"], "use it or --start"),
        (["-s", "tickets"], "needs its first value"),
        (["-s", "chibrary", "--start", str(1 << 30)], "not within 0..1073741823"),
        (["-s", "tickets", "--start", "-1"], "--start"),
        (["memory:"], "use a persistent registry"),
        (["static:7?state=none"], "use a persistent registry"),
        (["redes:"], "no registry is called"),
        (["http://localhost/a"], "makes IDs and keeps no claims"),
        (["icicle://127.0.0.1", "--if-missing"], ""),
    ],
)
def test_wrong_call(args, words, call):
    result = call("init", *args)
    assert result.exit_code == 2
    assert words in result.output


def test_forward_moves_a_counter(call, refused):
    told = ("--namespace", "invoices", "-s", "tickets")
    assert "The next number is 5." in call("init", *told, "--start", "5").stdout
    assert call("mint", *told, "-n", "2").stdout == "5\n6\n"
    assert "add --forward" in refused(2, "init", *told, "--start", "100")
    assert call("init", *told, "--start", "6", "--forward").exit_code == 2
    assert call("init", *told, "--forward").exit_code == 2
    moved = call("init", *told, "--start", "100", "--forward")
    assert "moves ahead" in moved.stdout
    assert call("mint", *told).stdout == "100\n"


class TestIfMissing:
    """What an init container runs, at each start."""

    def test_it_sets_up_once_and_is_content_with_what_exists(self, call):
        first, second = call("init", "--if-missing"), call("init", "--if-missing")
        assert "Namespace 'default' of sqlite: is set up, with scheme icicle" in first.stdout
        assert "Waiting up to 1.2s, because an earlier record may be lost." in first.stdout
        assert "Waiting" not in second.stdout
        assert "Namespace 'default' of sqlite: exists, with scheme icicle" in second.stdout
        assert call("init", "--if-missing", "-s", "discord").exit_code == 2

    def test_a_counter_is_never_made(self, call, refused, servers):
        words = ("init", servers[0].url, "-s", "tickets", "--if-missing")
        assert "a program cannot know its next value" in refused(2, *words)
        call("init", servers[0].url, "-s", "tickets", "--start", "7")
        assert call(*words).exit_code == 0
        assert call("mint", "-u", servers[0].url, "-s", "tickets").stdout == "7\n"

    @pytest.mark.parametrize("other", [["--new"], ["--forward"], ["--start", "3"]])
    def test_it_declares_nothing(self, refused, other):
        assert "declares nothing" in refused(2, "init", "-s", "tickets", "--if-missing", *other)


FULL = "sign:1=0 time:20 node:4 sequence:12 @1ms since 2020-01-01T00:00:00Z"


@pytest.mark.parametrize("options", [["--new"], ["--if-missing"], []])
def test_a_full_time_field_is_refused_before_anything_is_written(refused, tmp_path, options):
    url = f"sqlite:{tmp_path}/claims.db"
    said = refused(4, "init", url, "--scheme", FULL, *options)
    assert "is full since 2020-01-01T00:17:28.576Z" in said
    assert "set up" not in said
    assert list(tmp_path.iterdir()) == []


def test_a_full_time_field_is_refused_by_a_pool(call, servers):
    result = call("init", servers[0].url.replace("redis:", "icicle:"), "--shard", "1", "-s", FULL)
    assert result.exit_code == 4
    assert servers[0].client().dbsize() == 0
