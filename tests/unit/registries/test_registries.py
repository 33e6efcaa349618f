"""The registries of one host, as far as a test in one process can see; see tests/processes."""

import sqlite3
from pathlib import Path

import pytest

from frazil.claims.claim import Claim, Wait
from frazil.errors import ConfigError, RegistryUnavailable
from frazil.registries import connect, memory, static
from frazil.registries.sqlite.files import state_home
from frazil.registries.sqlite.registry import SqliteRegistry, default_path
from frazil.registries.static import node_number
from tests.tools.verbs import ONE_RECORD, grant, mint, new


def test_a_process_knows_that_a_namespace_in_its_memory_is_new_until_it_had_one():
    registry = connect("memory:first-uses", "x", ONE_RECORD)
    first = grant(registry, 100)
    assert isinstance(first, Claim)
    assert first.start == registry.terms.tick_at(first.now_us)
    del memory._records[registry._key]  # a loss
    assert isinstance(grant(registry, 100), Wait)
    minted = mint(connect("memory:first-mints", "x", ONE_RECORD), 5)
    assert isinstance(minted, Claim)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("redis://one?horizont=5s", "unknown option horizont"),
        ("redis://one:port", "a host or port is not valid"),
        ("redis://me:secretAone:6379", "^redis: a host or port is not valid"),
        ("redis://one/first", "database 'first' is not a number"),
        ("redis://one?replicas=-1", "not a whole number"),
        ("redis://one,one", "named twice"),
        ("redis://one?ca=/x", "unknown option ca"),
        ("unix://", "path"),
        ("postgresql://h/db?horizn=2s", "horizn"),
        ("mysql://h", "name the database"),
        ("mysql://a,b/db", "name one server"),
        ("mysql://h/db?ca=x", "mysqls:"),
        ("mysql://h/db?horizn=2s", "horizn"),
        ("mysqls://h/db?ca=/nowhere", "ca="),
        *((url, "etcd://host1:2379") for url in ("etcd:", "etcd://", "etcd://a:b", "etcd://a,,b")),
        ("etcd://a?horizn=1s", "horizn"),
        ("etcd://a?ca=/x", "need etcds"),
        ("zookeeper://", "host1"),
        ("zookeeper://a,b:x", "host1"),
        ("zookeeper://h?ca=x", "zookeepers:"),
        ("zookeeper://h?horizn=2s", "horizn"),
    ],
)
def test_urls_that_are_refused(url, said):
    with pytest.raises(ConfigError, match=said):
        connect(url, "x", ONE_RECORD)


class TestSqlite:
    def test_the_default_place_is_the_users_state(self, monkeypatch, tmp_path):
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        assert default_path() == tmp_path / "frazil" / "claims.db"
        assert connect("sqlite:", "x", ONE_RECORD).path == default_path()
        monkeypatch.setenv("XDG_STATE_HOME", "not/absolute")
        monkeypatch.setenv("HOME", str(tmp_path))
        assert state_home() == tmp_path / ".local" / "state"

    @pytest.mark.parametrize(
        ("url", "path"),
        [
            ("sqlite:///var/x.db", "/var/x.db"),
            ("sqlite:////var/x.db", "/var/x.db"),
            ("sqlite:x.db", "x.db"),
            ("sqlite:a%20b.db", "a b.db"),
        ],
    )
    def test_paths(self, url, path):
        assert connect(url, "x", ONE_RECORD).path == Path(path.replace("//", "/")).resolve()

    def test_a_text_file_is_refused(self, tmp_path):
        path = tmp_path / "notes.txt"
        path.write_text("this is no database, and it is long enough to be looked at" * 30)
        with pytest.raises(ConfigError, match="not an SQLite file"):
            grant(connect(f"sqlite://{path}", "x", ONE_RECORD))
        assert path.read_text().startswith("this is no")

    def test_a_newer_schema_is_refused(self, tmp_path):
        path = tmp_path / "claims.db"
        registry = connect(f"sqlite://{path}", "x", ONE_RECORD)
        grant(registry)
        with sqlite3.connect(path) as db:
            db.execute(f"PRAGMA application_id={0x66727AFF}")
        db.close()
        with pytest.raises(ConfigError, match="another version"):
            grant(registry)

    def test_a_replacement_between_open_and_commit_is_seen(self, tmp_path, monkeypatch):
        path = tmp_path / "claims.db"
        registry = new(f"sqlite://{path}", "x")
        store = SqliteRegistry._store

        def replaced(self, db, record):
            store(self, db, record)
            path.rename(tmp_path / "away.db")
            path.write_bytes(b"")

        monkeypatch.setattr(SqliteRegistry, "_store", replaced)
        with pytest.raises(RegistryUnavailable, match="replaced") as caught:
            grant(registry)
        assert not caught.value.outcome_known


class TestStatic:
    @pytest.mark.parametrize(
        ("text", "step"),
        [
            *((text, "") for text in ("", "x", "-1", "7.5", "env:")),
            ("env:NOT_THERE", "is not set; set it, like: export NOT_THERE=7"),
            ("env:POD", "is 'x'; set it, like: export POD=7"),
            ("hostname", "use static:7 or static:env:NAME, or a host name like web-7"),
        ],
    )
    def test_no_numbers_and_what_to_do_instead(self, text, step, monkeypatch):
        monkeypatch.setattr("socket.gethostname", lambda: "web")
        monkeypatch.setenv("POD", "x")
        with pytest.raises(ConfigError, match="no node number") as caught:
            node_number(text)
        assert str(caught.value).endswith(step)

    def test_an_unwritable_place_names_the_way_out(self, tmp_path):
        blocked = tmp_path / "file"
        blocked.write_text("")
        with pytest.raises(ConfigError, match=r"with \?state=none there is no file"):
            grant(connect(f"static:7?state={blocked}/s.db", "x", ONE_RECORD))


def test_a_file_that_was_deleted_holds_nothing(tmp_path, monkeypatch):
    """The next process would create and lock another file, so both would own the number."""
    monkeypatch.setenv("FRAZIL_LOCKS", str(tmp_path))
    opened = static._opened
    deleted = []

    def deleted_once(path):
        fd = opened(path)
        if not deleted:
            deleted.append(path)
            path.unlink()
        return fd

    monkeypatch.setattr(static, "_opened", deleted_once)
    held = static.take("number 7", "me", what="node number 7", how="in a test")
    assert deleted
    assert held.stands()
    held.leave()
