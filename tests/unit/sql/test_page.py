"""Every block of docs/how-to/sql.md, on a real PostgreSQL."""

import os
import re
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from tests.house.docblocks import blocks, matches, run_console
from tests.servers.postgres import postgres, programs

pytestmark = pytest.mark.long

PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "sql.md"


def shown(link, statement):
    """What a statement of the page shows: a row, an error, or nothing."""
    try:
        found = link.execute(statement)
        row = found.fetchone() if found.description else ()
    except psycopg.Error as error:
        return error.diag.message_primary
    return " | ".join(str(value) for value in row)


def test_page(tmp_path, monkeypatch):
    with postgres() as server, psycopg.connect(server.url(), autocommit=True) as link:
        link.execute("SET TimeZone = 'UTC'")
        psql = next(place for place in programs() if (place / "psql").exists())
        where = f"-h 127.0.0.1 -p {server.port} -U postgres postgres"
        monkeypatch.setenv("PATH", os.pathsep.join([str(psql), os.environ["PATH"]]))
        ran = 0
        for block in blocks(PAGE):
            if block.kind == "console":
                text = block.text.replace("postgresql://localhost/app", server.url())
                run_console(replace(block, text=text.replace(" app\n", f" {where}\n")), tmp_path)
                continue
            if block.kind != "sql":
                continue
            for statement, arrow in re.findall(r"([^;]+);(?:\n-- → (.*))?", block.text):
                assert matches(arrow, shown(link, statement)), statement
                ran += 1
        assert ran == 8
