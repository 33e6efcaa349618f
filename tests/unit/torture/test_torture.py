"""The parts of torture that can be tested without a process."""

import json
import sqlite3
import time
import uuid
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

import frazil
from frazil_torture import FAULTS, Plan, Result, known
from frazil_torture.evidence import Claimed, Examiner, Found, Generated
from frazil_torture.file import WAYS, File
from frazil_torture.id_log import IdLog, bursts, complete_bytes, number_of
from frazil_torture.prefilter import Prefilter
from frazil_torture.repeats import Repeats
from frazil_torture.report import as_json
from frazil_torture.trial import Mark


def returning(given):
    return iter(given).__next__


def kept(folder, name, given, at_once=2):
    """The log of a generator that gives these IDs."""
    id_log = IdLog(folder, name, returning(given))
    left = len(given)
    while left > 0:
        id_log.burst(min(at_once, left))
        left -= at_once
    return id_log.path


@pytest.fixture
def trial(tmp_path):
    folder = tmp_path / "trial"
    folder.mkdir()
    return folder


def examined(trial, marks=(), hung=(), true_ns=0, reading=None, late_s=None):
    examiner = Examiner(Repeats(trial), true_ns, reading, late_s)
    found = examiner.examine(trial, marks, hung)
    examiner.finish()
    return found


def test_a_log_is_read_as_it_was_written(trial):
    given = [5, 1 << 63, (1 << 64) - 1, 1 << 64, (1 << 128) - 1, uuid.UUID(int=9), "17", b"\1\0"]
    path = kept(trial, "a", given)
    read = [n for burst in bursts(path) for n in burst.ids]
    assert read == [5, 1 << 63, (1 << 64) - 1, 1 << 64, (1 << 128) - 1, 9, 17, 0x10100]
    assert path.with_suffix(".first").exists()


def test_a_half_written_burst_is_left_out(trial):
    path = kept(trial, "a", [1, 2, 3, 4])
    parts = path.read_bytes()
    path.write_bytes(parts[:-1])
    assert [burst.ids for burst in bursts(path)] == [[1, 2]]
    at = complete_bytes(path)
    path.write_bytes(parts)
    assert [burst.ids for burst in bursts(path, at)] == [[3, 4]]
    assert complete_bytes(path) == len(parts)
    assert complete_bytes(path.with_name("none.ids")) == 0


def test_a_prefilter_recognises_an_id_in_bursts_of_either_width(trial):
    """An ID beyond 64 bits, or that is not an int, makes a burst wide; the others stay equal."""
    narrow = kept(trial, "a", [5, 6, 7])
    wide = kept(trial, "b", [7, 1 << 64, 8, uuid.UUID(int=6)])
    assert {burst.width for path in (narrow, wide) for burst in bursts(path)} == {8, 16}
    found = examined(trial)
    assert {key for key, _, _ in found.examples} == {6, 7}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("7", "07"),
        ("a", "\0a"),
        (b"a", b"\0a"),
        (1, 1 + (1 << 128)),
        (-1, (1 << 128) - 1),
        (1.25, 1.5),
    ],
)
def test_different_ids_are_different_numbers(one, other):
    assert number_of(one) != number_of(other)
    assert number_of(one) == number_of(one)


@pytest.mark.parametrize("most", [1 << 20, 3])
def test_a_prefilter_keeps_every_duplicate(trial, most):
    high = 1 << 64
    given = [1, 2, 3, 4, 5, 6, 3, 7, 8, 1, high + 1, high + 2, high + 1]
    path = kept(trial, "a", given)
    prefilter = Prefilter([path], len(given), most)
    assert prefilter.shares == -(-len(given) // most)
    left = [burst.ids[at] for burst in bursts(path) for at in prefilter.left(burst)]
    assert {1, 3, high + 1} <= set(left)
    assert 7 not in left


def test_duplicates_are_counted_at_their_second_occurrence(trial):
    kept(trial, "a", [10, 11, 12, 9])
    kept(trial, "b", [12, 13, 10])
    found = examined(trial)
    assert (found.ids, found.duplicates, found.disorder) == (7, 2, 2)
    assert {(key, first, again) for key, first, again in found.examples} == {
        (12, "trial/a", "trial/b"),
        (10, "trial/a", "trial/b"),
    }


def test_a_stop_is_not_a_stall(trial):
    def slow():
        time.sleep(0.05)
        return 1

    id_log = IdLog(trial, "p0", slow)
    id_log.burst(1)
    (burst,) = bursts(id_log.path)
    assert examined(trial).stall_us >= 50_000
    stop = Mark("SIGSTOP", "p0", burst.began_ns, burst.ended_ns)
    assert examined(trial, [stop]).stall_us == 0
    assert examined(trial, late_s=0.04).hung == 1
    assert examined(trial, [stop], late_s=0.04).hung == 0
    assert examined(trial, late_s=60).hung == 0


def test_slow_calls_in_a_row_are_not_one_long_call(trial):
    def slow():
        time.sleep(0.3)
        return 1

    id_log = IdLog(trial, "p0", slow)
    assert [id_log.burst(100), id_log.burst(1)] == [2, 1]


@pytest.mark.parametrize(
    ("found", "more", "outcome"),
    [
        (Found(ids=5), {}, "unique"),
        (Found(ids=5, duplicates=1), {"available": False}, "repeated"),
        (Found(ids=5), {"available": False}, "unavailable"),
        (Found(), {}, "silent"),
        (Found(ids=5, silent=["p1"]), {}, "silent"),
        (Found(ids=5), {"reason": "cannot be pickled", "refused": True}, "refused"),
        (Found(), {"refused": True}, "refused"),
        (Found(ids=5, silent=["p1"]), {"refused": True}, "silent"),
        (Found(ids=5, hung=1), {}, "hung"),
        (Found(ids=5, hung=1), {"refused": True}, "hung"),
        (Found(ids=5, hung=1, duplicates=1), {}, "repeated"),
        (Found(ids=5), {"reason": "p0.1 gave no ID", "seen": False}, "unseen"),
        (Found(ids=5, duplicates=1), {"seen": False}, "repeated"),
    ],
)
def test_only_an_observed_fault_with_ids_is_unique(found, more, outcome):
    assert Result(FAULTS["fork"], found=found, **more).outcome == outcome


def drawn(plan):
    """A result with two processes, a claim and a stop, and one of an unavailable fault."""
    layout = frazil.scheme(plan.scheme).layout
    second = 1_000_000_000
    tick = 1000
    true_ns = layout.us_at(tick) * 1000
    found = Found(ids=30, duplicates=1, examples=[(7, "stop/p0", "stop/p1<&>")])
    for number in range(2):
        made = Generated(f"p{number}", 15, [(number, 0, second, 15)], Counter({0: 5, 19: 10}))
        made.claims = [Claimed(number, tick, tick + 700), Claimed(number, tick, tick + 900)]
        found.generated.append(made)
    marks = [Mark("SIGSTOP", "p0", second // 4, second // 2)]
    stop = Result(FAULTS["stop"], "", True, 0, second, found, marks, true_ns)
    gone = Result(FAULTS["store-kill"], "a <file>", False, second, second)
    return [stop, gone]


def test_json_has_ids_as_strings_and_no_password():
    plan = Plan(known("frazil"), url="redis://me:secret@host/0")
    told = as_json(plan, drawn(plan))
    assert json.loads(json.dumps(told)) == told
    assert (told["ids"], told["duplicates"]) == (30, 1)
    assert told["store"] == "redis://me:***@host/0"
    hidden = as_json(replace(plan, url="postgresql://me:sec:ret@host/db?password=secret"), [])
    assert hidden["store"] == "postgresql://me:***@host/db?password=***"
    stop, gone = told["faults"]
    assert stop["examples"][0]["id"] == "7"
    assert stop["marks"] == [{"what": "SIGSTOP", "whom": "p0", "began_s": 0.25, "ended_s": 0.5}]
    assert (gone["outcome"], gone["reason"]) == ("unavailable", "a <file>")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("plain", [True, False])
def test_a_file_is_put_back_as_it_was(way, plain, tmp_path):
    store = File(tmp_path)
    assert not store.holds()
    path = Path(store.url.removeprefix("sqlite:"))
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("CREATE TABLE number AS SELECT 1 AS n")
    beside = Path(f"{path}-revision")
    beside.touch()
    store.save(tmp_path / "copy", plain=plain)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("UPDATE number SET n = 2")
    before = path.stat().st_ino
    store.put_back(tmp_path / "copy", way, tidy=True)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT n FROM number").fetchone() == (1,)
    assert store.holds()
    assert store.sound()
    assert beside.exists()
    if way in ("over", "restored"):
        assert path.stat().st_ino == before
