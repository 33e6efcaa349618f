"""Alembic beside claims in the application's own database: it proposes nothing about them."""

import os
import subprocess
import sys

import psycopg
import pytest

import frazil
from frazil.alembic import include_name
from tests.servers.mariadb import mariadb

MODELS = """
import frazil
from frazil.sqlalchemy import Id
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

class Base(DeclarativeBase):
    pass

class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(
        Id("icicle"), primary_key=True, default=frazil.open({url!r}, namespace="orders"))
    wide: Mapped[int | None] = mapped_column(Id("globalid-128"))
"""
CONFIGURED = "target_metadata=target_metadata"
OLD = """
CREATE TABLE public.frazil_namespace (
    name text PRIMARY KEY, sid text NOT NULL DEFAULT '', incarnation text NOT NULL DEFAULT '',
    fingerprint text NOT NULL DEFAULT '', layout text NOT NULL DEFAULT '',
    revision bigint NOT NULL DEFAULT 0, guard bigint NOT NULL DEFAULT 0,
    last_us bigint NOT NULL DEFAULT 0, offset_us bigint NOT NULL DEFAULT 0,
    top_us bigint NOT NULL DEFAULT 0, slots bytea NOT NULL DEFAULT '',
    writer bigint NOT NULL DEFAULT 0)
"""
"""The table of a version before the schema ``frazil``."""


def alembic(folder, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", "alembic", *arguments], cwd=folder, capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": str(folder)}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def project(folder, template, database_url, claims_url, options=""):
    """A project as ``alembic init`` makes it, with nothing about frazil in its env.py."""
    folder.mkdir()
    alembic(folder, "init", "-t", template, "migrations")
    (folder / "models.py").write_text(MODELS.format(url=claims_url))
    env = folder / "migrations" / "env.py"
    text = env.read_text().replace(
        "target_metadata = None", "from models import Base\ntarget_metadata = Base.metadata"
    )
    assert CONFIGURED in text
    env.write_text(text.replace(CONFIGURED, CONFIGURED + options))
    ini = folder / "alembic.ini"
    lines = ini.read_text().splitlines()
    kept = [line for line in lines if not line.startswith("sqlalchemy.url")]
    at = kept.index("[alembic]") + 1
    ini.write_text("\n".join([*kept[:at], f"sqlalchemy.url = {database_url}", *kept[at:]]))


def proposed(folder):
    """What a revision of the project would do: the statements of its upgrade()."""
    alembic(folder, "revision", "--autogenerate", "-m", "next")
    alembic(folder, "upgrade", "head")
    newest = max((folder / "migrations" / "versions").glob("*.py"), key=os.path.getmtime)
    text = newest.read_text()
    assert "frazil" not in text
    body = text.partition("def upgrade()")[2].partition("def downgrade()")[0]
    return [line.strip() for line in body.splitlines() if "op." in line or "pass" in line]


SCHEMAS = ", include_schemas=True"


@pytest.mark.parametrize(
    ("template", "options", "place"),
    [
        ("generic", "", "public"),
        ("async", SCHEMAS, "frazil"),
        pytest.param("generic", SCHEMAS, "public", marks=pytest.mark.nightly),
        pytest.param("async", "", "frazil", marks=pytest.mark.nightly),
    ],
)
def test_nothing_is_proposed_about_the_claims(database, tmp_path, template, options, place):
    claims = f"postgresql://{database}"
    with psycopg.connect(claims, autocommit=True) as link:
        if place == "public":
            link.execute(OLD)
        frazil.init(claims, namespace="orders", new=True)
        found = link.execute("SELECT schemaname FROM pg_tables WHERE tablename='frazil_namespace'")
        assert found.fetchall() == [(place,)]
    driver = "postgresql+asyncpg" if template == "async" else "postgresql+psycopg"
    folder = tmp_path / "app"
    project(folder, template, f"{driver}://{database}", claims, options)
    assert proposed(folder)[0].startswith("op.create_table('orders'")
    with psycopg.connect(claims) as link:
        kinds = "SELECT column_name, data_type, is_identity, column_default FROM "
        kinds += "information_schema.columns WHERE table_name = 'orders' ORDER BY 1"
        assert link.execute(kinds).fetchall() == [
            ("id", "bigint", "NO", None),
            ("wide", "uuid", "NO", None),
        ]
    assert proposed(folder) == ["pass"]
    assert "No new upgrade operations" in alembic(folder, "check")
    with frazil.open(claims, namespace="orders") as ids:
        assert ids()


def test_nothing_is_proposed_in_sqlite(tmp_path):
    """Where a primary key that SQLite makes is an INTEGER, and a BIGINT is not one."""
    folder = tmp_path / "app"
    project(folder, "generic", f"sqlite:///{tmp_path}/file.db", f"sqlite:{tmp_path}/claims.db")
    (made,) = proposed(folder)
    assert made == "op.create_table('orders',"
    (script,) = (folder / "migrations" / "versions").glob("*.py")
    assert "sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), autoincrement=False" in (
        script.read_text()
    )
    assert proposed(folder) == ["pass"]


def test_nothing_is_proposed_in_mysql(tmp_path):
    with mariadb() as server:
        claims = server.url()
        frazil.init(claims, namespace="orders", new=True)
        folder = tmp_path / "app"
        project(folder, "generic", claims.replace("mysql://", "mysql+pymysql://"), claims)
        assert proposed(folder)[0].startswith("op.create_table('orders'")
        assert proposed(folder) == ["pass"]


@pytest.mark.parametrize("name", ["frazil_namespace", "frazil_ids"])
def test_the_filter_for_older_versions(name):
    assert not include_name(name, "table", {"schema_name": None})
    assert include_name(name, "column", {"table_name": "orders"})
    assert include_name("orders", "table", {"schema_name": None})
