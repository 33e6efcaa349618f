"""``frazil inspect`` prints the search for the process that made an ID, in the program's logs."""

import subprocess
import sys

import frazil
from tests.servers.redis import Server

LAYOUT = "sign:1=0 time:41 node:2 sequence:20 @1ms since 2025-01-01T00:00:00Z"
MEMBER = """
import logging, sys, frazil
url, layout, log = sys.argv[1:]
logging.basicConfig(level=20, filename=log, format="%(asctime)s %(levelname)s %(message)s")
ids = frazil.open(url, layout, namespace="fleet")
for line in sys.stdin:
    print(ids(), flush=True)
"""


def started(url, log):
    return subprocess.Popen(
        [sys.executable, "-c", MEMBER, url, LAYOUT, log],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )


def made_by(member):
    member.stdin.write("\n")
    return int(member.stdout.readline()), member.pid


def fleet(url, logs):
    """Two times three processes with 4 node numbers: (ID, process) of each of two IDs of each."""
    frazil.init(url, LAYOUT, namespace="fleet", new=True)
    made = []
    for turn in range(2):
        members = [started(url, str(logs / f"{turn}-{number}.log")) for number in range(3)]
        made += [made_by(member) for _ in range(2) for member in members]
        for member in members:
            member.stdin.close()
        for member in members:
            assert member.wait(60) == 0
            member.stdout.close()
    return made


def test_from_an_id_to_its_process_by_logs_alone(tmp_path, call):
    with Server() as server:
        made = fleet(server.url, tmp_path)
    logs = "".join(log.read_text() for log in tmp_path.glob("*.log"))
    nodes = [
        line.split("node ")[1].split(",")[0] for line in logs.splitlines() if "granted" in line
    ]
    assert len(nodes) >= 6 > len(set(nodes))  # some node numbers had two processes
    for n, pid in (made[1], made[5], made[8]):
        shown = call("inspect", "--scheme", LAYOUT, str(n))
        assert shown.exit_code == 0, shown.output
        search = shown.stdout[shown.stdout.index("  grep ") :]
        found = subprocess.run(
            ["/bin/sh", "-c", search], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert found.stdout.rpartition(":")[2].strip() == str(pid), (search, found.stdout)


def test_the_search_of_a_counter_is_by_number(call):
    shown = call("inspect", "--scheme", "sign:1=0 sequence:63", "1234")
    assert "sort -n -k 5" in shown.stdout
    assert "$5 <= 1234" in shown.stdout


def test_a_text_without_a_moment_or_a_value_has_no_search(call):
    shown = call("inspect", "--scheme", "globalid", "--epoch", "1970-01-01T00:00:00Z", "1" * 18)
    assert "grep" in shown.stdout
    assert "grep" not in call("inspect", "01ARZ3NDEKTSV4RRFFQ69G5FAV").stdout
