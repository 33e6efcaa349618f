"""``frazil init``, ``claims``, ``doctor`` and ``mint`` on servers that issue IDs."""

import json
import subprocess
from contextlib import ExitStack

import pytest

from frazil.remote.icicle.server import icicle_library, icicle_script
from tests.needs import needs
from tests.servers.icicle import Caller
from tests.servers.redis import FLAVOURS, Server, free_port


@pytest.fixture(scope="module", params=FLAVOURS)
def servers(request):
    with ExitStack() as stack:
        yield [stack.enter_context(Server(request.param)) for _ in range(3)]


@pytest.fixture
def url(servers):
    for server in servers:
        server.do("FLUSHALL")
    return f"icicle://{','.join(f'127.0.0.1:{server.port}' for server in servers)}"


def one(server):
    return f"icicle://127.0.0.1:{server.port}"


def shards(call, url):
    return [each["shard"] for each in json.loads(call("claims", url, "--json").stdout)]


class TestInit:
    def test_one_server(self, call, refused, servers, url):
        result = call("init", one(servers[0]), "--shard", "5")
        assert result.exit_code == 0
        assert "has shard 5 of namespace 'default'" in result.stdout
        assert "The first ID waits 5.0 s" in result.stdout
        assert "(unchanged)" in call("init", one(servers[0]), "--shard", "5").stdout
        assert "its shard is 5 and not 6" in refused(2, "init", one(servers[0]), "--shard", "6")
        assert shards(call, one(servers[0])) == [5]

    def test_new_does_not_wait(self, call, servers, url):
        result = call("init", one(servers[0]), "--shard", "5", "--new")
        assert "The first ID does not wait" in result.stdout
        assert call("mint", "-u", one(servers[0])).exit_code == 0

    def test_pool(self, call, servers, url):
        call("init", one(servers[1]), "--shard", "1", "--new")
        assert call("init", url, "--shards", "auto", "--new").exit_code == 0
        assert shards(call, url) == [0, 1, 2]
        assert call("init", url, "--shards", "auto").stdout.count("(unchanged)") == 3

    def test_declared_pool(self, call, url):
        assert call("init", url + "?shards=7,8,9", "--new").exit_code == 0
        assert shards(call, url) == [7, 8, 9]

    def test_server_that_does_not_answer_may_have_any_shard(self, call, servers, url):
        result = call("init", f"{url},127.0.0.1:{free_port()}", "--shards", "auto")
        assert result.exit_code == 3
        assert shards(call, url) == [None, None, None]

    def test_server_missing_from_the_url_keeps_its_shard(self, call, servers, url):
        """The URL omits the first server; the third lost its data; the second stores the pool."""
        call("init", url, "--shards", "auto", "--new")
        servers[2].do("FLUSHALL")
        rest = "icicle://" + url.removeprefix("icicle://").partition(",")[2]
        assert call("init", rest, "--shards", "auto").exit_code == 0
        assert shards(call, url) == [0, 1, 2]

    def test_new_server_gets_an_unassigned_shard(self, call, servers, url):
        call("init", f"{one(servers[0])},127.0.0.1:{servers[1].port}", "--shards", "auto", "--new")
        servers[0].do("FLUSHALL")
        assert call("init", f"{one(servers[1])},127.0.0.1:{servers[2].port}", "--shards", "auto")
        assert shards(call, url) == [None, 1, 2]
        call("init", url, "--shards", "auto")
        assert shards(call, url) == [0, 1, 2]

    def test_shards_assigned_by_hand_are_not_stored(self, call, refused, servers, url):
        for shard, server in enumerate(servers):
            call("init", one(server), "--shard", str(shard), "--new")
        servers[2].do("FLUSHALL")
        rest = f"{one(servers[1])},127.0.0.1:{servers[2].port}"
        said = refused(1, "init", rest, "--shards", "auto")
        assert "got its shard by hand" in said
        assert "--shard N" in said
        assert shards(call, url) == [0, 1, None]
        assert call("init", one(servers[2]), "--shard", "2").exit_code == 0
        assert call("init", url, "--shards", "auto").exit_code == 0
        servers[2].do("FLUSHALL")
        assert call("init", rest, "--shards", "auto").exit_code == 0
        assert shards(call, url) == [0, 1, 2]

    def test_shard_of_a_lost_server_stays_unused(self, call, servers, url):
        call("init", url, "--shards", "auto", "--new")
        for server in servers[1:]:
            server.do("FLUSHALL")
        others = f"{one(servers[0])},127.0.0.1:{servers[2].port}"
        with Server(servers[0].flavour) as another:
            pool = f"{others},127.0.0.1:{another.port}"
            assert call("init", pool, "--shards", "auto").exit_code == 0
            assert shards(call, pool) == [0, 2, 3]

    @pytest.mark.parametrize("stored", ["x", "[]", '{"a": []}', '{"1": 5}'])
    def test_stored_pool_is_not_readable(self, call, refused, servers, url, stored):
        call("init", url, "--shards", "auto", "--new")
        servers[1].do("HSET", "frazil:icicle:{default}", "pool", stored)
        assert "are not frazil's" in refused(1, "init", url, "--shards", "auto")

    @pytest.mark.parametrize(
        "options",
        [
            [],
            ["--shard", "1", "--shards", "auto"],
            ["--shard", "1"],
            ["--shard", "1024"],
            ["--shards", "auto", "--start", "1"],
        ],
    )
    def test_wrong_calls(self, call, servers, url, options):
        assert call("init", url, *options).exit_code == 2
        assert shards(call, url) == [None, None, None]

    def test_shards_are_not_for_registries(self, call):
        assert "are for icicle:" in call("init", "--shard", "1").output


class TestClaims:
    def test_a_server_without_a_shard_has_a_next_step(self, call, url):
        step = call("claims", url).stdout.splitlines()[-1].split()
        assert step[0] == "frazil"
        assert call(*step[1:], "--new").exit_code == 0
        assert "frazil init" not in call("claims", url).stdout

    def test_one_server_may_not_take_the_shard_of_another(self, call, servers, url):
        text = call("claims", one(servers[0])).stdout
        assert "one that no other server has" in text
        assert call(*text.splitlines()[-1].split()[1:]).exit_code == 0

    def test_states(self, call, servers, url):
        call("init", one(servers[0]), "--shard", "3", "--new")
        call("init", one(servers[1]), "--shard", "4")
        shown = call("claims", url).stdout
        assert "issues" in shown
        assert "waits" in shown
        assert "no shard" in shown

    def test_a_server_that_does_not_answer(self, call, refused, servers, url):
        """It is an error where it is the only one."""
        away = f"127.0.0.1:{free_port()}"
        said = refused(3, "claims", f"icicle://{away}")
        assert "no answer" in said
        assert "no connection" in said
        assert json.loads(call("claims", f"icicle://{away}", "--json").stdout)[0]["error"]
        assert "no answer" in refused(0, "claims", f"{one(servers[0])},{away}")

    def test_one_shard_on_two_servers(self, refused, servers, url):
        for server in servers[:2]:
            Caller(server, "default").init(4)
        for command in (["claims", url], ["init", url, "--shards", "auto"]):
            assert "shard 4 is on" in refused(1, *command)


class TestDoctor:
    def test_pool(self, call, servers, url):
        call("init", url, "--shards", "auto", "--new")
        before = [Caller(server, "default").state() for server in servers]
        result = call("doctor", url)
        assert result.exit_code == 0, result.output
        assert result.stdout.count("round trip") == 3
        assert "callers use the other servers" in result.stdout
        assert before == [Caller(server, "default").state() for server in servers]

    def test_no_shard(self, refused, servers, url):
        said = refused(1, "doctor", one(servers[0]))
        assert "frazil init" in said
        assert "stops" in said

    def test_as_json(self, call, servers, url):
        call("init", url, "--shards", "auto", "--new")
        found = json.loads(call("doctor", url, "--json").stdout)
        assert {each["server"] for each in found} == {one(server) for server in servers}
        assert {each["verdict"] for each in found} <= {"good", "note"}


class TestMint:
    def test_no_shard(self, refused, url):
        assert "frazil init icicle://" in refused(2, "mint", "-u", url)

    def test_another_scheme(self, call, url):
        assert call("mint", "-u", url, "-s", "tsid").exit_code == 2


class TestOthers:
    def test_stamp(self, call, url, tmp_path):
        call("init", url, "--shards", "auto", "--new")
        (tmp_path / "in.csv").write_text("name\n" + "x\n" * 5000)
        out = tmp_path / "out.csv"
        assert call("stamp", str(tmp_path / "in.csv"), "-u", url, "-o", str(out)).exit_code == 0
        assert len({line.split(",")[0] for line in out.read_text().splitlines()}) == 5001

    def test_bench_names_another_tool(self, refused, url):
        assert "evidence.benchmarks.icicle" in refused(2, "bench", "-u", url)


class TestScript:
    def test_source(self, call):
        assert call("script").stdout == icicle_script().source
        assert call("script", "--library").stdout == icicle_library()

    def test_example_of_the_help(self, servers):
        needs("redis-cli", "loading the script as its help says")
        load = ["redis-cli", "-p", str(servers[0].port), "-x", "SCRIPT", "LOAD"]
        source = icicle_script().source.encode()
        told = subprocess.run(load, input=source, capture_output=True, check=True)
        assert told.stdout.decode().strip() == icicle_script().sha
