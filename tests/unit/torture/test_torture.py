"""The parts of torture that can be tested without a process."""

import json
import re
import sqlite3
import time
import uuid
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import pytest

import frazil
from frazil_torture import FAULTS, MIXED, Plan, Result, known
from frazil_torture.evidence import Claimed, Examiner, Found, Generated
from frazil_torture.file import WAYS, File
from frazil_torture.id_log import IdLog, bursts, complete_bytes, number_of
from frazil_torture.job import Job
from frazil_torture.life import Life
from frazil_torture.page import page
from frazil_torture.peers import Row, markdown
from frazil_torture.prefilter import Prefilter
from frazil_torture.repeats import Repeats
from frazil_torture.report import again, as_json, failed
from frazil_torture.run import rounds
from frazil_torture.system import FieldReader, Setting
from frazil_torture.trial import Mark

READER = FieldReader(22, 1000, 0, 12, 10)


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


def test_a_call_that_raises_is_a_refusal_and_keeps_the_ids_before_it(trial):
    id_log = IdLog(trial, "a", returning([1, None, 2]))
    assert id_log.burst(9) == 2
    (burst,) = bursts(id_log.path)
    assert (burst.ids, burst.refused) == ([1, 2], 2)
    assert "StopIteration" in id_log.path.with_suffix(".trouble").read_text()


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


def test_a_witness_without_a_reading_is_not_an_error(trial):
    kept(trial, "p0", [1])
    (trial / "p1.clock").touch()
    assert examined(trial).clock_us == (0, 0)


def test_the_end_of_a_child_is_reported_after_any_number_of_errors(trial):
    id_log = IdLog(trial, "p0", returning([]))
    for _ in range(9):
        id_log.burst(1)
    id_log.report("one more")
    id_log.note("hung: a child, which was killed")
    id_log.note("\ud800")
    found = examined(trial)
    assert found.hung == 1
    assert not any("one more" in line for line in found.troubles)


def test_long_texts_are_different_numbers():
    texts = ["x" * 26, "x" * 25 + "y"]
    assert len({number_of(text) for text in texts}) == 2
    assert number_of("x" * 26) == number_of("x" * 26) < 1 << 128
    assert number_of(SimpleNamespace(number=7)) == 7


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


def test_without_numpy_the_search_gets_everything(trial, monkeypatch):
    kept(trial, "a", [1, 2, 3])
    kept(trial, "b", [3, 4])
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    assert examined(trial).duplicates == 1


def test_duplicates_are_counted_at_their_second_occurrence(trial):
    kept(trial, "a", [10, 11, 12, 9])
    kept(trial, "b", [12, 13, 10])
    found = examined(trial)
    assert (found.ids, found.duplicates, found.disorder) == (7, 2, 2)
    assert {(key, first, again) for key, first, again in found.examples} == {
        (12, "trial/a", "trial/b"),
        (10, "trial/a", "trial/b"),
    }


def test_moments_are_compared_with_the_true_time(trial):
    true_ns = time.time_ns() - time.monotonic_ns()
    now_ms = time.time_ns() // 1_000_000
    kept(trial, "late", [now_ms - 5000 << 22 | 3 << 12])
    kept(trial, "early", [now_ms + 9000 << 22 | 4 << 12])
    found = examined(trial, true_ns=true_ns, reading=READER)
    assert 4.9e6 < found.stale_us < 60e6
    assert 0 < found.ahead_us <= 9e6
    assert {one.name: one.spans[0][0] for one in found.generated} == {"late": 3, "early": 4}


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


def test_a_stop_also_covers_children_and_threads(trial):
    id_log = IdLog(trial, "p0.1", lambda: time.sleep(0.02) or 1)
    id_log.burst(1)
    (burst,) = bursts(id_log.path)
    stop = Mark("SIGSTOP", "p0", burst.began_ns, burst.ended_ns)
    assert examined(trial, [stop]).stall_us == 0
    other = Mark("SIGSTOP", "p01", burst.began_ns, burst.ended_ns)
    assert examined(trial, [other]).stall_us >= 20_000


def test_a_process_without_ids_is_silent(trial):
    for name in ("p0", "p1", "p2"):
        (trial / f"{name}.said").touch()
    kept(trial, "p0", [1])
    kept(trial, "p1-0", [2])
    (trial / "p2.trouble").write_text("OSError: no\nhung: a child, which was killed\n")
    found = examined(trial, hung=["p1: hung: it did not end"])
    assert found.silent == ["p2"]
    assert found.hung == 2
    assert "p2: OSError: no" in found.troubles


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


def test_a_page_shows_everything_and_loads_nothing():
    plan = Plan(known("frazil"), own="sqlite")
    text = page(plan, drawn(plan))
    assert not re.search(r"<script|https?://|src=", text)
    assert '<h1 class="bad">frazil under 1 fault: 1 duplicate; 1 not available</h1>' in text
    assert "unavailable: a &lt;file&gt;" in text
    (svg,) = (ET.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", text))
    boxes = {kind: [] for kind in ("claim", "ids c0", "ids c1", "mark")}
    for box in svg.iter("rect"):
        boxes[box.get("class")].append((float(box.get("x")), float(box.get("width"))))
    assert boxes["claim"] == [(84, pytest.approx(788.4))] * 2  # once, at its full length
    assert boxes["ids c0"] == boxes["ids c1"] == [(84, 876)]
    assert boxes["mark"] == [(303, 219)]
    assert [label.text for label in svg.iter("text")] == ["SIGSTOP", "node 0", "node 1", "IDs/s"]
    assert len(list(svg.iter("polygon"))) == 1


def test_a_life_notes_each_claim_of_its_generator(trial):
    setting = Setting(url="memory:?horizon=500ms", scheme="icicle")
    job = Job("frazil", setting, trial, "p0", 0, "steady", 3, 0, False, 16, 0.0)
    life = Life.begin(job)
    life.burst(16)
    life.burst(16)
    (claim,) = examined(trial).generated[0].claims[:1]
    assert claim.start < claim.until
    assert Job.parse(job.text()) == job


@pytest.mark.parametrize(
    ("tried", "left", "title"),
    [
        (10, 5, '"good">frazil under 10 faults: no duplicates; 5 not available<'),
        (15, 0, '"good">frazil under 15 faults: no duplicates<'),
        (0, 15, '"none">frazil under 0 faults: no IDs; 15 not available<'),
    ],
)
def test_the_title_counts_only_the_available_faults(tried, left, title):
    plan = Plan(known("frazil"), own="sqlite")
    had = Result(FAULTS["fork"], "", True, 0, 1_000_000_000, Found(ids=5))
    missing = Result(FAULTS["store-kill"], "no such store", False, 1, 1)
    text = page(plan, [had] * tried + [missing] * left)
    assert f"<h1 class={title}/h1>" in text


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


def test_the_table_of_systems_says_which_is_missing():
    plan = Plan(known("frazil"), faults=("stop", "store-kill"), own="sqlite")
    rows = [
        Row("frazil, sqlite:", plan, drawn(plan)),
        Row("tsidpy", Plan(known("tsidpy"), faults=plan.faults), missing="pip install tsidpy"),
    ]
    lines = markdown(rows).splitlines()
    assert lines[2] == "| fault | frazil, sqlite: | tsidpy |"
    assert lines[4].startswith(f"| version | {frazil.__version__} | ")
    assert lines[5:8] == [
        "| IDs | 30 | pip install tsidpy |",
        "| stop | 1 |  |",
        "| store-kill | — |  |",
    ]
    assert {line.count("|") for line in lines[2:8]} == {4}
    assert "- —: not available." in lines


def test_every_system_names_its_package():
    for name in ("snowflake-id", "oneflake", "sonyflake-py", "flakeid", "tsidpy", "uuid-utils"):
        assert known(name).package == name


def test_a_result_fails_by_repeats_and_hangs():
    fork = FAULTS["fork"]
    assert not failed([Result(fork, found=Found(ids=5)), Result(fork, found=Found())])
    assert failed([Result(fork, found=Found(ids=5, hung=1))])
    assert failed([Result(fork, found=Found(ids=5, duplicates=1))])


def test_rounds_can_be_repeated():
    plan = Plan(known("frazil"), mix=True, faults=MIXED, seconds=35, seed=7)
    each = rounds(plan)
    assert [one.seed for one in each] == [7, 8, 9, 10]
    assert {one.seconds for one in each} == {8.75}
    assert [rounds(one) for one in each] == [[one] for one in each]
    result = Result(FAULTS["fork"], seed=9)
    assert again(plan, result) == "frazil torture --mix --seed 9 --seconds 8.75"
    some = replace(plan, faults=("fork", "kill"), scheme="tickets", own="redis", processes=9)
    assert again(some, result).endswith(
        ' --own redis --faults fork,kill --scheme "tickets" --processes 9'
    )
    other = replace(plan, system=known("tsidpy"), burst=4096)
    assert again(other, result).endswith(" --seconds 8.75 --system tsidpy --full-speed")


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


def test_a_damaged_file_is_moved_away(tmp_path):
    store = File(tmp_path)
    path = Path(store.url.removeprefix("sqlite:"))
    path.write_bytes(b"no such thing" * 1000)
    assert not store.sound()
    store.move_away()
    assert not path.exists()
    assert store.sound()
    assert store.wipe()
    assert list(tmp_path.glob("claims.db*")) == []
