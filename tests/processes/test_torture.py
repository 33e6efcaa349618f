"""Each fault of ``frazil torture`` finds duplicates in a wrong generator, and none in frazil."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from frazil_torture import FAULTS, MIXED
from frazil_torture.file import WAYS
from frazil_torture.schedule import schedule
from tests.needs import needs
from tests.processes.harness import WORKERS
from tests.tools.waiting import until

START = "from frazil.cli import main; main(prog_name='frazil')"
SECONDS = 0.5  # of each fault

# Every fault, with the wrong generator in which it must find duplicates.
FOUND_IN = {
    "naive": "fork,fork-burst,c-fork,multiprocessing,copy,pickle,together,back,forward,frozen",
    "inattentive": "messages",
    "counter": "kill,earlier",
    "racing": "threads",
    "leased": "stop",
    "stored": "store-kill,store-wipe",
    "succeeded": "failover",
    "filed": "restore",
    "unsealed": "sequences",
    "relative": "chdir",
    "unsteady": "raise",
    "nested": "handler",
    "crowded": "starts",
    "homed": "hosts",
}

# The same for what a mix is made of. Without this one fault, none of these repeats in a mix.
MIXED_IN = {
    "fork": "inherited",
    "c-fork": "inherited",
    "raise": "unsteady",
    "handler": "nested",
    "chdir": "relative",
    "kill": "kept",
    "stop": "leased",
    "restore": "filed",
    "clock": "timed",
}
OWN = {"stored": "redis", "succeeded": "replica", "filed": "sqlite", "unsealed": "postgresql"}


# What the tool finds in generators that are not frazil's: a change of frazil cannot change it.
not_frazils = pytest.mark.nightly


def torture(*arguments, faults, place, seconds=None, **env):
    """Run the command. Returns its exit code and its JSON."""
    needs("libfaketime", "clocks that are set")
    seconds = SECONDS * (faults.count(",") + 1) if seconds is None else seconds
    words = ["torture", *arguments, "--faults", faults, "--seconds", str(seconds), "--json"]
    done = subprocess.run(
        [sys.executable, "-c", START, *words],
        capture_output=True,
        text=True,
        cwd=WORKERS,
        env={**os.environ, "TMPDIR": str(place), **env},
        timeout=200,
        check=False,
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def test_every_fault_is_tried_on_a_wrong_one():
    assert sorted(",".join(FOUND_IN.values()).split(",")) == sorted(FAULTS)


@not_frazils
@pytest.mark.parametrize("wrong", FOUND_IN)
def test_each_fault_finds_duplicates(wrong, place):
    lease = place / "lease"
    lease.write_text("0 0 0")
    own = ["--own", OWN[wrong]] if wrong in OWN else []
    options = ["--system", f"wrong:{wrong}", *own]
    outcome = "inverted" if wrong == "inattentive" else "repeated"
    expected = dict.fromkeys(FOUND_IN[wrong].split(","), outcome)
    for _ in range(3):  # some find their duplicates by chance, which is smaller on a busy machine
        code, told = torture(
            *options, faults=FOUND_IN[wrong], place=place, FRAZIL_TEST_LEASE=str(lease)
        )
        found = {fault["fault"]: fault["outcome"] for fault in told["faults"]}
        if found == expected:
            break
    assert found == expected, told
    assert code == 1
    assert told["duplicates"] == sum(fault["duplicates"] for fault in told["faults"])


@not_frazils
def test_a_standby_that_missed_writes_is_found(place):
    arguments = "--system", "wrong:overtaken", "--own", "standby"
    code, told = torture(*arguments, faults="failover", place=place)
    assert (code, told["faults"][0]["outcome"]) == (1, "repeated"), told


@pytest.mark.parametrize("own", ["replica", "replicas", "standby"])
def test_frazil_repeats_in_no_failover(own, place):
    """With the rules of 0.1.0 IDs repeat here, under this seed."""
    code, told = torture("--own", own, "--seed", "1", faults="failover", place=place)
    assert told["duplicates"] == 0, told
    assert [fault["outcome"] for fault in told["faults"]] == ["unique"], told
    assert code == 0


def test_every_part_of_a_mix_is_tried_on_a_wrong_one():
    assert sorted(MIXED_IN) == sorted(MIXED)


def seed_with(fault, effective=lambda _event: True):
    """The first seed whose schedule has such a fault early enough to have an effect."""
    for seed in range(1000):
        events = schedule(seed, 3, WAYS, [fault])
        if any(effective(event) and event.at < 0.7 for event in events):
            return str(seed)
    raise AssertionError(fault)


def set_back(event):
    return event.way == "step" and event.off < -0.1


@not_frazils
@pytest.mark.parametrize("fault", MIXED_IN)
def test_a_mix_finds_duplicates_by_each_of_its_faults(fault, place):
    wrong = MIXED_IN[fault]
    (place / "lease").write_text("0 0 0")
    effective = {"clock": set_back}.get(fault, lambda _event: True)
    own = ["--own", OWN[wrong]] if wrong in OWN else []
    code, told = torture(
        "--system",
        f"wrong:{wrong}",
        "--mix",
        "--seed",
        seed_with(fault, effective),
        *own,
        faults=fault,
        seconds=2,
        place=place,
        FRAZIL_TEST_LEASE=str(place / "lease"),
    )
    (row,) = told["faults"]
    assert (code, row["outcome"]) == (1, "repeated"), told


@not_frazils
def test_a_process_that_does_not_go_on_is_a_hang(place):
    code, told = torture(
        "--system",
        "wrong:stuck",
        "--mix",
        "--seed",
        seed_with("fork"),
        faults="fork",
        seconds=1,
        place=place,
    )
    (row,) = told["faults"]
    assert (code, row["outcome"]) == (1, "hung"), told
    assert any("hung: a child of a fork" in line for line in row["troubles"])


@not_frazils
@pytest.mark.parametrize(
    ("wrong", "fault", "own", "outcome", "reason"),
    [
        ("childless", "multiprocessing", "", "unseen", "p0.0 gave no ID"),
        ("dying", "stop", "", "unseen", "ended"),
        ("mortal", "multiprocessing", "", "unseen", "a child ended by itself, with 3"),
        ("dying", "kill", "", "unseen", "had ended before it was killed"),
        ("naive", "store-wipe", "redis", "unavailable", "keeps nothing in the store"),
    ],
)
def test_a_fault_that_was_not_observed_is_not_a_zero(wrong, fault, own, outcome, reason, place):
    words = ["--own", own] if own else []
    _, told = torture("--system", f"wrong:{wrong}", *words, faults=fault, place=place)
    (row,) = told["faults"]
    assert row["outcome"] == outcome, told
    assert reason in row["reason"]


def alive(place):
    """The processes whose command, environment or folder contains this path.

    A server overwrites its command and environment with a title, so its folder shows it.
    """
    found = {}
    for one in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            command = (one / "cmdline").read_bytes()
            about = command + (one / "environ").read_bytes() + os.fsencode((one / "cwd").readlink())
            if str(place).encode() in about and int(one.name) != os.getpid():
                found[int(one.name)] = command.replace(b"\0", b" ").decode(errors="replace")
    return found


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="finds processes in /proc")
@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "SIGHUP", "SIGKILL"])
def test_nothing_outlives_a_run(how, place):
    """However it ends, its workers, its server and its folders are removed."""
    words = ["torture", "--own", "redis", "--faults", "fork", "--seconds", "60"]
    with subprocess.Popen(
        [sys.executable, "-c", START, *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(place)},
        start_new_session=True,
    ) as run:
        try:
            until(lambda: list(place.glob("*/fork/p0.0.first")), "the first ID")
            assert any("worker" in command for command in alive(place).values())
            assert any("-server" in command for command in alive(place).values())
            run.send_signal(getattr(signal, how))
            run.wait(30)
            until(lambda: not alive(place), "the end of its processes")
            until(lambda: not list(place.iterdir()), "the end of its folders")
        finally:
            for pid in alive(place):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


@pytest.mark.interpreted
@pytest.mark.parametrize("own", ["sqlite", "redis"])
def test_frazil_repeats_under_no_fault(own, place):
    expected = {}
    if own == "sqlite":
        servers = "messages", "store-kill", "failover", "sequences"
        expected = dict.fromkeys(servers, "unavailable") | {"hosts": "refused"}
    faults = ",".join(FAULTS) if own == "sqlite" else "earlier,raise,messages,store-kill,store-wipe"
    for _ in range(3):  # a call of a busy machine can take as long as one that hangs
        code, told = torture("--own", own, faults=faults, place=place)
        assert told["duplicates"] == 0
        found = {fault["fault"]: fault["outcome"] for fault in told["faults"]}
        if "hung" not in found.values():
            break
    assert code == 0, found
    assert told["ids"] > 10_000
    assert found == {name: expected.get(name, "unique") for name in faults.split(",")}, told
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("fault", ["sequences", "store-wipe"])
def test_frazil_id_repeats_under_no_loss(fault, place):
    """Each in a run of its own: a database is new, and the one before may be ahead of the clock."""
    code, told = torture("--system", "frazil_id", faults=fault, place=place)
    (row,) = told["faults"]
    assert (code, row["outcome"]) == (0, "unique"), told
    assert told["ids"] > 1000
    assert list(place.iterdir()) == []


@pytest.mark.interpreted
@pytest.mark.parametrize("seed", [1, 2])
def test_frazil_repeats_in_no_mix(seed, place):
    """One seed restores the store, the other sets the clock back.

    On a busy machine a process may write nothing for so long that it counts as hung.
    """
    faults = ",".join(MIXED)
    _, told = torture("--mix", "--seed", str(seed), faults=faults, seconds=6, place=place)
    (row,) = told["faults"]
    assert row["outcome"] in ("unique", "hung"), told
    assert told["ids"] > 1000
