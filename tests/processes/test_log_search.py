"""From an ID to the process that made it: the search that ``frazil inspect`` prints, in real logs.

Twenty processes share 16 node numbers, each opens a generator again and again, and some are killed.
So a node number has many owners, one after another.
"""

import random
import re
import subprocess
import sys

import pytest

import frazil
from tests.needs import needs
from tests.servers.redis import Server

SCHEME = "sign:1=0 time:41 node:4 sequence:18 @1ms since 2025-01-01T00:00:00Z"
PROCESSES = 20
MAKER = """
import logging, os, sys, time
import frazil

url, scheme, name = sys.argv[1:]
logging.basicConfig(
    level=logging.INFO, filename=f"{name}.log", format="%(asctime)s %(levelname)s %(message)s"
)
with open(f"{name}.ids", "w") as made:
    for number in range(4):
        with frazil.open(url, scheme, timeout=60) as ids:
            for _ in range(5):
                print(ids(), os.getpid(), file=made, flush=True)
                time.sleep(0.05)
            if name.endswith("7") and number == 2:
                os.kill(os.getpid(), 9)
"""


def test_the_search_finds_the_process(tmp_path):
    for tool in ("grep", "awk"):
        needs(tool, "the search in the logs")
    with Server() as redis:
        url = f"{redis.url}?horizon=1s"
        run(["init", "--new", "--scheme", SCHEME, url])
        makers = [
            subprocess.Popen(
                [sys.executable, "-c", MAKER, url, SCHEME, f"app-{number}"], cwd=tmp_path
            )
            for number in range(PROCESSES)
        ]
        codes = [maker.wait(120) for maker in makers]
    assert sorted(set(codes)) == [-9, 0]
    texts = [file.read_text() for file in tmp_path.glob("*.ids")]
    lines = [line.split() for text in texts for line in text.splitlines()]
    makers_of = {int(number): pid for number, pid in lines}
    assert len(makers_of) == len(lines) > 300
    scheme = frazil.scheme(SCHEME)
    owners = {(scheme.unpack(number)["node"], pid) for number, pid in makers_of.items()}
    assert len(owners) > PROCESSES
    for number in random.Random(7).sample(sorted(makers_of), 12):
        said = run(["inspect", "--scheme", SCHEME, str(number)])
        search = said.partition("in logs of the level INFO:\n")[2]
        found = subprocess.run(
            ["sh", "-c", search], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout
        assert re.findall(r"process \S+:(\d+)", found) == [makers_of[number]]


def run(arguments):
    command = [sys.executable, "-m", "frazil", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
