"""A file of claims that was put back as it was some time ago, in every way that people do it."""

import os
import shutil
import sqlite3
import time

import pytest

import frazil
from frazil.claims.claim import Claim, LastSeen, Lost, Wait
from frazil.errors import ConfigError
from frazil.generator.verb_requests import ask_of
from frazil.registries import connect
from frazil.registries.sqlite import file
from frazil.system.clock import boot_ns
from tests.tools.verbs import begin, grant, mint, renew

TIMED, COUNTER = "icicle", "sign:1=0 sequence:63"
NOBODY = LastSeen()  # a process that remembers nothing, as one that has just been started


def registry(path, scheme=TIMED, namespace="x"):
    return connect(f"sqlite://{path}?horizon=50ms", namespace, frazil.scheme(scheme))


def claim(one):
    """A claim; a program that opens the database may copy its log, and then all wait once."""
    seen = NOBODY
    for _ in range(5):
        ask = ask_of(seen)
        reply = one.grant(ask, 40)
        if isinstance(reply, Claim):
            return reply
        seen = ask.memory(reply, boot_ns() // 1000, one.terms)
        time.sleep(reply.wait_us / 1e6)
    raise AssertionError("each step takes the one before it for a loss")


def sql(path, *statements):
    db = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        db.execute(statement)
    db.close()


def vacuumed(path, older):
    sql(path, f"VACUUM INTO '{older}'")


def copied(path, older):
    sql(path, "PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy(path, older)


def backed_up(path, older):
    source, target = sqlite3.connect(path), sqlite3.connect(older)
    source.backup(target)
    source.close()
    target.close()


def copy_over(path, older):
    shutil.copy(older, path)


def unlink_and_copy(path, older):
    path.unlink()
    shutil.copy(older, path)


def move_in(path, older):
    older.replace(path)


def restore(path, older):
    backed_up(older, path)


def without_its_log(path, older):
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    shutil.copy(older, path)


COPIES = [vacuumed, copied, backed_up]
RETURNS = [copy_over, unlink_and_copy, move_in, restore, without_its_log]


@pytest.fixture
def path(tmp_path):
    (tmp_path / "home").mkdir()
    return tmp_path / "home" / "claims.db"


@pytest.fixture
def counter(path):
    """A counter, and the end of what it gave."""
    one = registry(path, COUNTER)
    begin(one)
    return one, grant(one).until


@pytest.fixture(params=[0, 1, 30], ids=lambda n: f"{n} steps after")
def after(request):
    """How many steps of another namespace come after the copy: none, some, enough for a new log."""
    return request.param


def steps(path, many):
    other = registry(path, namespace="another")
    for _ in range(many):
        mint(other)


@pytest.mark.parametrize("put_back", RETURNS)
@pytest.mark.parametrize("copy", COPIES)
def test_nothing_with_time_is_given_twice(path, copy, put_back, after):
    one = registry(path)
    begin(one)
    grant(one)
    copy(path, path.with_name("older.db"))
    held = claim(one)
    steps(path, after)
    put_back(path, path.with_name("older.db"))
    fresh = grant(registry(path), 40)  # remembers nothing, and is the first to ask
    if isinstance(fresh, Claim):
        assert fresh.slot != held.slot or fresh.start >= held.until
    else:
        assert fresh.wait_us <= 100_000
    assert isinstance(renew(one, held, 10), Lost)


@pytest.mark.parametrize("put_back", RETURNS)
@pytest.mark.parametrize("copy", COPIES)
def test_a_counter_stops_until_a_person_says_where_to_go_on(path, counter, copy, put_back, after):
    one, _ = counter
    copy(path, path.with_name("older.db"))
    given = grant(one)
    steps(path, after)
    put_back(path, path.with_name("older.db"))
    for _ in range(3):  # noticed until it is written down, and another namespace may continue
        steps(path, 1)
        with pytest.raises(ConfigError, match=r"replaced.*frazil init URL --start N --forward"):
            grant(registry(path, COUNTER))
    begin(registry(path, COUNTER), given.until)
    fresh = grant(registry(path, COUNTER))
    assert fresh.start == given.until


def test_a_file_put_back_without_a_step_between_lost_nothing(path, counter):
    one, end = counter
    shutil.copy(path, path.with_name("same.db"))
    path.with_name("same.db").replace(path)
    assert grant(one).start == end


@pytest.mark.usefixtures("counter")
@pytest.mark.parametrize("gone", [["wal", "shm"], ["revision"]], ids=["log", "notes"])
def test_a_log_or_notes_that_were_deleted_are_a_loss(path, gone):
    for ending in gone:
        path.with_name(f"claims.db-{ending}").unlink()
    with pytest.raises(ConfigError, match="replaced"):
        grant(registry(path, COUNTER))


def test_a_log_is_not_laid_over_another_layout_of_pages(path, counter):
    """A file from before a VACUUM has the revision at which the log begins, and other pages."""
    one, _ = counter
    copied(path, path.with_name("older.db"))
    sql(path, "VACUUM")
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM slot").fetchone()  # so that the log is not copied
    grant(one)
    copy_over(path, path.with_name("older.db"))
    reader.close()
    with pytest.raises(ConfigError, match="replaced"):
        grant(registry(path, COUNTER))


def test_a_log_is_not_laid_over_an_older_file_after_a_restart_either(path, monkeypatch):
    one = registry(path, COUNTER)
    begin(one)
    copied(path, path.with_name("older.db"))
    grant(one)
    copied(path, path.with_name("newer.db"))
    grant(one)
    grant(one)
    copy_over(path, path.with_name("older.db"))
    monkeypatch.setattr(file, "boot_id", lambda: "another")
    with pytest.raises(ConfigError, match="replaced"):
        grant(registry(path, COUNTER))


def test_another_device_number_is_not_a_loss_for_a_counter(path, counter, monkeypatch):
    """The same file system mounted again, in another order."""
    _, end = counter
    look = file._sight

    def elsewhere(*told):
        sight = look(*told)
        return sight._replace(found=sight.found._replace(device=1))

    monkeypatch.setattr(file, "_sight", elsewhere)
    assert grant(registry(path, COUNTER)).start == end


def test_a_whole_folder_put_back_stops_a_counter(path):
    """With its notes, by renaming, while members that remember more are running and ask later."""
    one = registry(path, COUNTER)
    begin(one)
    shutil.copytree(path.parent, path.parent.with_name("backup"))
    given = grant(one)
    path.parent.rename(path.parent.with_name("newer"))
    shutil.copytree(path.parent.with_name("backup"), path.parent)
    for registry_ in (registry(path, COUNTER), one):
        with pytest.raises(ConfigError, match=r"replaced.*--forward"):
            grant(registry_)
    begin(one, given.until)
    assert grant(registry(path, COUNTER)).start == given.until


def test_two_names_of_one_file_are_refused(path):
    one = registry(path)
    grant(one)
    os.link(path, path.with_name("second.db"))
    for name in (path, path.with_name("second.db")):
        with pytest.raises(ConfigError, match="2 names"):
            grant(registry(name))


def test_a_database_of_another_program_is_refused(path):
    sql(path, "CREATE TABLE orders (id INTEGER PRIMARY KEY)")
    with pytest.raises(ConfigError, match="another program"):
        grant(registry(path))


def test_a_folder_that_a_step_has_just_made_may_be_a_lost_one(tmp_path, monkeypatch):
    """The member goes on inside its claim, and the newcomer must come after all of it."""
    folder = tmp_path / "above" / "frazil"
    monkeypatch.setenv("XDG_STATE_HOME", str(folder.parent))
    url, icicle = "sqlite:?horizon=300ms", frazil.scheme("icicle")
    with frazil.open(url, icicle) as ids:
        issued = set(ids.take(1000))
        until = ids._walk.until  # before the loss: a slow member renews from the new file
        shutil.rmtree(folder.parent)
        newcomer = connect(url, "default", icicle)
        first = grant(newcomer, 300)  # has just made both folders
        assert folder.exists()
        issued.update(ids.take(1000))  # of the claim that was lost
        seen = first.seen
        while isinstance(first, Wait):
            first = newcomer.grant(ask_of(seen), 300)
        assert first.start >= until
    assert len(issued) == 2000
