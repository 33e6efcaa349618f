"""A step of a registry belongs to one process and one thread of control."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

import frazil
from frazil.errors import ConfigError, RegistryUnavailable
from frazil.registries import connect
from frazil.registries.sqlite import file
from tests.processes.harness import WIDE, count, initialise
from tests.tools.beside import beside
from tests.tools.forks import found_in_child
from tests.tools.strikes import Struck, every, raise_struck, strike
from tests.tools.verbs import mint

COUNTER = "sign:1=0 sequence:63"
FILES = tuple(map(str, Path(frazil.__file__).parent.rglob("*.py")))
STRIDE = 41  # each run strikes every so many bytecodes


@pytest.mark.parametrize("scheme", [WIDE, COUNTER], ids=["time", "counter"])
@pytest.mark.parametrize("what", ["raise", "mint", "fork"])
def test_mint_struck_at_any_bytecode(place, what, scheme):
    struck(initialise(f"sqlite:{place}/claims.db?busy=3s", scheme), what, scheme)


def test_a_mint_inside_a_mint_in_memory():
    struck("memory:", "mint", WIDE)


def struck(url, what, scheme):
    """Strike ``frazil.mint`` at many of its bytecodes; two calls follow that nobody interrupts."""
    found, parent, alike = [], os.getpid(), False

    def mint():
        return frazil.mint(1, url, scheme, timeout=5)

    mint()
    for at in every(STRIDE):
        here, there = os.pipe()
        ids, children, came = [], [], True
        do = {"raise": raise_struck, "mint": lambda ids=ids: ids.extend(mint())}
        do["fork"] = lambda children=children: children.append(os.fork())
        with suppress(Struck, frazil.FrazilError):  # "forked in the middle" is an answer
            came = strike(at, FILES, do[what], lambda ids=ids: ids.extend(mint()))
        first = list(ids)
        ids += mint() + mint()
        if os.getpid() != parent:
            os.write(there, json.dumps([first, ids[len(first) :]]).encode())
            os._exit(0)
        os.close(there)
        with open(here) as theirs:  # noqa: PTH123 - takes the number
            if children:
                their_first, later = json.load(theirs)
                assert os.waitpid(children[0], 0)[1] == 0, at
                assert not alike  # after the last look at itself both return, once in a stride
                alike = their_first == first
                found += later if alike else their_first + later
        found += ids
        if not came:
            break
    assert at > 100
    assert len(set(found)) == len(found) > 2 * at // STRIDE


def test_a_program_that_reads_the_file_leaves_the_lock(place):
    """As a backup does: where a process closes a file, it loses POSIX's locks on it."""
    url = initialise(f"sqlite:{place}/claims.db", COUNTER)

    def works():
        with beside((place / "claims.db").read_bytes):
            return [frazil.mint(1, url, COUNTER)[0] for _ in range(50)]

    with ThreadPoolExecutor(4) as pool:
        said = pool.map(lambda _: json.loads(found_in_child(works)), range(4))
        assert len({n for found in said for n in found}) == 200


def test_a_process_that_waits_names_the_holder(place):
    """A process is stopped inside a step."""
    url = initialise(f"sqlite:{place}/claims.db?busy=1s", COUNTER)
    registry = connect(url, "default", frazil.scheme(COUNTER))
    holder = os.fork()
    if not holder:
        with registry.step():
            os.kill(os.getpid(), signal.SIGSTOP)
        os._exit(0)
    os.waitid(os.P_PID, holder, os.WSTOPPED | os.WNOWAIT)
    with pytest.raises(RegistryUnavailable, match=rf"process {holder} .*stopped"):
        mint(registry)
    os.kill(holder, signal.SIGCONT)
    assert os.waitpid(holder, 0)[1] == 0
    assert frazil.mint(1, url, COUNTER)


@pytest.mark.skipif(os.geteuid() != 0, reason="hiding the boot id needs root")
def test_a_process_that_cannot_read_the_boot_id(crew, place):
    """It takes the boot that is noted, so neither voids the claims of the other."""
    apart = ["unshare", "--mount", "sh", "-c"]
    hide = 'mount --bind /dev/null /proc/sys/kernel/random/boot_id && exec "$@"'
    if subprocess.run([*apart, hide, "sh", "true"], check=False, capture_output=True).returncode:
        pytest.skip("no mount namespace is allowed here")
    url = initialise(f"sqlite:{place}/claims.db", WIDE)
    order = {"url": url, "scheme": WIDE, "n": 300}
    workers = [
        crew.start("renewing", name="sees", **order),
        crew.start("renewing", name="sees-not", before=[*apart, hide, "sh"], **order),
    ]
    lost = [json.loads(crew.finish(worker))["lost"] for worker in workers]
    assert sum(lost) <= 1  # once, when the first of them comes


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a file needs root")
def test_a_file_that_is_mounted_by_itself_is_refused(crew, place):
    url = initialise(f"sqlite:{place}/claims.db", WIDE)
    (place / "alone.db").touch()
    script = 'mount --bind "$0" "$1" && shift && exec "$@"'
    mint = "import frazil, sys; frazil.mint(1, sys.argv[1], sys.argv[2])"
    alone = str(place / "alone.db")
    command = ["unshare", "--mount", "sh", "-c", script, str(place / "claims.db"), alone]
    command += [sys.executable, "-c", mint, f"sqlite:{alone}", WIDE]
    told = subprocess.run(command, check=False, capture_output=True, text=True)
    if "mount" in told.stderr.splitlines()[0]:
        pytest.skip("no mount namespace is allowed here")
    assert "mount its directory instead" in told.stderr
    assert url


@pytest.mark.parametrize("how", ["in C", "by Python"])
def test_children_of_a_busy_process(crew, place, how):
    """Nearly each of these forks falls into a step; no child may be left without an ID.

    The generators have a namespace each, and IDs of two namespaces may be equal.
    """
    url = f"sqlite:{place}/claims.db?horizon=200ms"
    told = json.loads(crew.run("c_forks", url=url, scheme=WIDE, forks=60, how=how))
    assert told == {"hung": 0, "failed": 0}
    many, _ = count(place, "child-*.u64")
    assert many == 60 * 10
    assert [count(place, f"*-n{n}.u64")[1] for n in range(4)] == [0, 0, 0, 0]


def test_two_kernels_at_one_file_are_refused(place, monkeypatch):
    url = f"sqlite:{place}/claims.db?horizon=50ms"
    for boot in ("first", "second"):
        monkeypatch.setattr(file, "boot_id", lambda boot=boot: boot)
        frazil.mint(1, url, WIDE)
    monkeypatch.setattr(file, "boot_id", lambda: "first")
    with pytest.raises(ConfigError, match="two boot ids alternately"):
        frazil.mint(1, url, WIDE)


def test_the_file_names_its_holder(place):
    url = initialise(f"sqlite:{place}/claims.db", WIDE)
    said = (place / "claims.db-revision").read_bytes()
    assert f"process {os.getpid()} since ".encode() in said
    assert url
    db = sqlite3.connect(place / "claims.db")
    assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    db.close()
