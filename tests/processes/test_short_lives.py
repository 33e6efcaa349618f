"""A namespace whose processes all end before a wait does, one after the other, on real stores."""

import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from tests.servers.stores import store
from tests.tools.waiting import until

MINT = "import sys, frazil; print(*frazil.mint(1, sys.argv[1], timeout=0.2))"
OPEN = """
import sys, frazil
with frazil.open(sys.argv[1], timeout=0.2) as ids:
    print(ids())
"""


@contextmanager
def url_of(kind, tmp_path):
    """The URL of a store that is new."""
    if kind == "sqlite":
        yield f"sqlite://{tmp_path}/claims.db"
        return
    with store(kind) as one:
        one.set_up()
        yield f"{one.url}?horizon=1s"


def life(program, url):
    """The ID that a new process prints, or None if it has ended with an error that passes."""
    ended = subprocess.run(
        [sys.executable, "-c", program, url], capture_output=True, text=True, check=False
    )
    told = ended.stderr
    assert ended.returncode == 0 or "PoolExhausted" in told or "RegistryUnavailable" in told, told
    return int(ended.stdout) if ended.returncode == 0 else None


@pytest.mark.parametrize("kind", ["sqlite", "redis", "postgresql"])
@pytest.mark.parametrize("program", [MINT, OPEN], ids=["mint", "open"])
def test_get_an_id_together(tmp_path, kind, program):
    """Each waits for a fifth of a second; together they wait for a horizon of a second or more."""
    with url_of(kind, tmp_path) as url:
        began_s = time.monotonic()
        assert life(program, url) is None
        assert until(lambda: life(program, url), "an ID", patience_s=120)
        assert time.monotonic() - began_s > 1
