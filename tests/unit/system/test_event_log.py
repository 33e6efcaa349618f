"""The logger ``frazil``: no caller waits for its records, and without logs there are none."""

import logging
import threading
import time

import pytest

import frazil
from frazil.system import event_log
from frazil.system.event_log import INFO, WARNING, flush, tell
from tests.tools.forks import child
from tests.tools.python import run_python
from tests.tools.waiting import until


class Kept(logging.Handler):
    """Keeps the records."""

    def __init__(self):
        super().__init__()
        self.records = []

    def emit(self, record):
        self.records.append(record)

    def events(self):
        return [record.frazil_event for record in self.records]


@pytest.fixture
def kept():
    """A handler of the logger, at INFO."""
    handler, logger = Kept(), logging.getLogger("frazil")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield handler
    flush(10)
    logger.removeHandler(handler)
    logger.setLevel(logging.NOTSET)


def test_frazil_does_not_load_logging():
    code = (
        "import sys, frazil\nids = frazil.open('memory:')\nids()\nids.close()\n"
        "frazil.mint(1, 'memory:')\nprint('logging' in sys.modules)"
    )
    assert run_python(code).stdout.split() == ["False"]


def test_a_program_that_configured_nothing_sees_nothing():
    code = (
        "import logging, frazil\nfrom frazil.system.event_log import *\n"
        "tell(WARNING, 'told', 'something')\nflush(10)"
    )
    done = run_python(code)
    assert (done.stdout, done.stderr) == ("", "")


def test_a_handler_that_makes_an_id_does_not_wait_for_its_own_record(kept):
    ids = frazil.open("memory:a handler", timeout="60s")
    made = []
    kept.emit = lambda record: made.append(ids())
    begun = time.monotonic()
    ids()
    flush(40)
    assert made
    assert time.monotonic() - begun < 50
    kept.emit = lambda record: None
    ids.close()


def test_what_fails_loses_its_record_alone(kept, monkeypatch):
    def emit(record):
        if record.getMessage() == "one":
            raise ValueError("full")
        kept.records.append(record)

    kept.emit = emit
    tell(INFO, "one", "one")
    flush(10)
    with monkeypatch.context() as patch:
        patch.setattr(logging, "_logRecordFactory", None)  # as what replaces the clock may do
        tell(INFO, "never made", "never made")
        flush(10)
    tell(INFO, "two", "two")
    flush(10)
    assert kept.events() == ["two"]


def test_a_child_writes_its_own_records_and_none_of_its_parent(kept):
    goes_on = threading.Event()
    kept.emit = lambda record: goes_on.wait(60)
    tell(INFO, "of the parent", "one")
    tell(INFO, "of the parent", "two")
    until(event_log._queue.writing.locked, "the handler")

    def done():
        kept.emit = kept.records.append
        tell(INFO, "of the child", "three")
        flush(10)
        return kept.events() == ["of the child"]

    try:
        assert child(done) == 0
    finally:
        goes_on.set()


def test_the_last_records_are_written_before_the_exit(tmp_path):
    log = tmp_path / "log"
    code = (
        f"import logging\nlogging.basicConfig(level=20, filename={str(log)!r})\n"
        "import frazil\nids = frazil.open('memory:')\nids()\n"
    )
    assert run_python(code).stderr == ""
    assert "generator closed after 1 IDs" in log.read_text()


def test_no_thread_is_left_and_none_has_a_name_of_python(kept):
    for number in range(20):
        tell(WARNING, "told", str(number))
    flush(10)
    until(lambda: not any(t.name == "frazil-log" for t in threading.enumerate()), "the end")
    assert not [t for t in threading.enumerate() if t.name.startswith("Dummy")]
    assert [record.getMessage() for record in kept.records] == [str(n) for n in range(20)]


def test_without_a_thread_it_is_written_at_once(kept, monkeypatch):
    def none(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(event_log, "start_new_thread", none)
    tell(INFO, "told", "something")
    assert kept.events() == ["told"]
    monkeypatch.setattr(threading.Thread, "start", none)
    event_log._queue.told.append(event_log._Told(INFO, "more", {"frazil_event": "more"}, 0))
    event_log._start(event_log._queue)
    assert kept.events() == ["told", "more"]
