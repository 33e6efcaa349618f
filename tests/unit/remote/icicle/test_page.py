"""The examples of docs/how-to/icicle.md, each run as it stands on the page, on a real server.

Only the server's address is another one. Where a language is not on hand its test says so.
"""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from frazil.remote.icicle.server import icicle_script
from tests.house import docblocks
from tests.needs import needs
from tests.servers.icicle import Caller
from tests.servers.redis import FLAVOURS, Server
from tests.tools.verbs import ICICLE

PAGE = Path(__file__).resolve().parents[4] / "docs" / "how-to" / "icicle.md"
BLOCKS = [block for block in docblocks.blocks(PAGE) if "redis-a" in block.text]


@pytest.fixture(params=FLAVOURS)
def server(request):
    with Server(request.param) as server:
        yield server


def only(kind):
    (block,) = (block for block in BLOCKS if block.kind == kind)
    return block


def printed(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [int(line) for line in done.stdout.split()]


def are_good(ids, count):
    assert len(ids) == len(set(ids)) == count
    assert ids == sorted(ids)
    assert {ICICLE.unpack(n)["node"] for n in ids} == {1}


def test_redis_cli(server, tmp_path):
    needs("redis-cli", "the examples of docs/how-to/icicle.md")
    consoles = [block for block in BLOCKS if block.kind == "console"]
    assert len(consoles) == 2
    for block in consoles:
        text = block.text.replace("redis-cli -h redis-a", f"redis-cli -p {server.port}")
        text = text.replace("icicle://redis-a", f"icicle://127.0.0.1:{server.port}")
        docblocks.run_console(replace(block, text=text), tmp_path)


@pytest.mark.parametrize(
    ("kind", "file", "command"),
    [("js", "ids.mjs", "node"), pytest.param("java", "Ids.java", "java", marks=pytest.mark.long)],
)
def test_program(server, tmp_path, kind, file, command):
    needs(command, "an example of docs/how-to/icicle.md")
    Caller(server, "default").init(1)
    (tmp_path / "icicle.lua").write_text(icicle_script().source, encoding="utf-8")
    (tmp_path / file).write_text(only(kind).text, encoding="utf-8")
    are_good(printed([command, file, "127.0.0.1", str(server.port), "5000"], tmp_path), 5000)
    server.do("SCRIPT", "FLUSH")
    are_good(printed([command, file, "127.0.0.1", str(server.port), "3"], tmp_path), 3)


def test_limits_and_codes_are_the_scripts():
    source, page = icicle_script().source, PAGE.read_text(encoding="utf-8")
    codes = {part.split("'")[1] for part in source.split("refused(")[2:]}
    assert codes - {"INFO"} == {code for code in codes if f"`{code}`" in page}
    assert "4,096,000" in page
    assert "MOST_LEAD_US = 4096, 1023, 4096000, 1000000" in source
