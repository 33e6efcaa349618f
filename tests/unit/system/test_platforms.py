"""frazil where the system lacks something: taken away in a fresh process, before the import."""

import pytest

import frazil
from tests.tools.python import run_python

TAKE = """
import asyncio, subprocess  # they know for themselves which system it is
import mmap, os, signal, sys, time
def take(module, names):
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
"""
MACOS = (
    TAKE
    + """
take(time, "CLOCK_BOOTTIME")
take(os, "sched_getaffinity")
class Page(mmap.mmap):
    def madvise(self, *_):
        raise OSError("no such advice")
mmap.mmap = Page
"""
)
WINDOWS = (
    TAKE
    + """
take(os, "fork register_at_fork getuid geteuid getgid getegid sched_getaffinity O_CLOEXEC uname")
take(os, "O_DIRECTORY O_NOFOLLOW O_NONBLOCK fchmod chown fchown WNOHANG killpg setsid getloadavg")
take(mmap, "MAP_PRIVATE MAP_ANONYMOUS MAP_ANON MAP_SHARED PROT_READ PROT_WRITE")
take(time, "CLOCK_BOOTTIME CLOCK_MONOTONIC clock_gettime clock_gettime_ns")
take(signal, "SIGKILL SIGSTOP SIGHUP SIGUSR1 SIGALRM pthread_sigmask setitimer")
for name in ("fcntl", "pwd", "grp", "resource", "termios"):
    sys.modules[name] = None
sys.modules["frazil.system._process"] = None  # does not compile there; the walk does
"""
)
MINTS = """
import frazil
with frazil.open("memory:") as ids:
    assert len(set(ids.take(10000))) == 10000
frazil.open("redis://127.0.0.1:1")
import frazil.aio
"""
INTERPRETED = """
import frazil.walk.walk as walk
assert not frazil.COMPILED
assert walk.__file__.endswith("walk.py"), walk
"""
FORKS = """
import os, frazil
with frazil.open("memory:", keep=0) as ids:
    mine = ids()
    reader, writer = os.pipe()
    if not os.fork():
        os.write(writer, str(ids._walk.own_identity().era).encode())
        os._exit(0)
    os.wait()
    assert int(os.read(reader, 20)) != ids._walk.identity.era, "the fork was not noticed"
"""
HELP = """
from frazil.cli import main
main(["--help"], standalone_mode=False)
"""
COMMANDS = """
from click.testing import CliRunner
from frazil.cli import main
def says(words, *args):
    done = CliRunner().invoke(main, args)
    assert done.exit_code == 2 and words in done.output, done
    assert isinstance(done.exception, SystemExit), done
says("in the memory of each process", "claims", "memory:")
says("in the memory of each process", "doctor", "memory:")
says("in the memory of each process", "init", "memory:")
says("--shared is for sqlite:", "init", "--shared", "staff")
says("Linux and macOS", "serve", "memory:")
"""
REFUSED = """
import frazil
from frazil.errors import ConfigError
try:
    frazil.mint(1, URL)
except ConfigError as error:
    assert "this system has no" in str(error), error
else:
    raise SystemExit("it was opened")
"""


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(MACOS + MINTS, id="macos"),
        pytest.param(MACOS + FORKS, id="macos-forks"),
        pytest.param(WINDOWS + MINTS, id="windows"),
        pytest.param(WINDOWS + MINTS + INTERPRETED, id="windows-interpreted"),
        pytest.param(WINDOWS + HELP, id="windows-help"),
        pytest.param(WINDOWS + COMMANDS, id="windows-commands"),
        pytest.param(WINDOWS + "URL = 'sqlite:'" + REFUSED, id="windows-sqlite"),
        pytest.param(WINDOWS + "URL = 'static:7'" + REFUSED, id="windows-static"),
    ],
)
def test_without(code):
    run_python(code)


@pytest.mark.skipif(not frazil.COMPILED, reason="an installation without the compiled walk")
def test_the_compiled_walk_needs_the_compiled_identity():
    """Where it does not compile, only the choice in frazil/walk/__init__.py avoids the error."""
    wrong = "import frazil.system.process as p\np.PureIdentity = None\n"
    with pytest.raises(AssertionError, match=r"frazil\.system\._process"):
        run_python(WINDOWS + wrong + MINTS)


def test_that_test_can_see(monkeypatch):
    """Compiled, the walk asks the kernel."""
    monkeypatch.setenv("FRAZIL_PURE", "1")
    with pytest.raises(AssertionError, match="not noticed"):
        run_python(MACOS + "os.register_at_fork = lambda **_: None" + FORKS)
