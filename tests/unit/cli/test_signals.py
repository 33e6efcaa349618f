"""Ctrl-C and SIGTERM: whole lines, one message, no traceback, and the exit codes of shells."""

import signal
import subprocess
import sys
import time

import pytest

termios, fcntl = pytest.importorskip("termios"), pytest.importorskip("fcntl")

FULL_BYTES = 60_000  # a pipe of Linux and macOS holds 65,536
APART_S = 0.4  # two signals that are not one
INTERRUPTED_LOAD = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
class Interrupt:
    def find_spec(self, name, *_):
        if name == "click":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
from frazil.__main__ import main
main()
"""


@pytest.fixture
def full_pipe(call, process):
    """``full_pipe("mint")``: a command that waits, because its output is not read."""
    assert call("init", "--new").exit_code == 0

    def start(*args):
        child = process(*args)
        waiting = 0
        while waiting < FULL_BYTES:
            assert child.poll() is None, child.communicate()
            time.sleep(0.01)
            waiting = int.from_bytes(
                fcntl.ioctl(child.stdout, termios.FIONREAD, bytes(4)), sys.byteorder
            )
        return child

    return start


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_mint_ends_with_a_whole_line(full_pipe, sent, code):
    mint = full_pipe("mint", "-n", "50000000")
    mint.send_signal(sent)
    mint.send_signal(sent)  # as `timeout` does
    output, told = mint.communicate(timeout=60)
    assert mint.returncode == code
    lines = output.splitlines(keepends=True)
    assert {len(line) for line in lines} == {len(lines[0])}
    assert told.decode() == f"Stopped: {len(lines):,} IDs printed; the last line is complete\n"


def test_mint_says_that_json_is_incomplete(full_pipe):
    mint = full_pipe("mint", "-n", "50000000", "--json")
    mint.send_signal(signal.SIGINT)
    output, told = mint.communicate(timeout=60)
    assert output.endswith(b'"')
    assert told.endswith(b" IDs printed; the JSON is incomplete\n")


@pytest.mark.parametrize("to", ["csv", "jsonl"])
def test_stamp_ends_with_a_whole_row(full_pipe, tmp_path, to):
    path = tmp_path / "in.csv"
    path.write_text("a,b\n" + '1,"x, y"\n' * 1_000_000)
    stamp = full_pipe("stamp", str(path), "--to", to, "--lead", "1s")
    stamp.send_signal(signal.SIGINT)
    output, told = stamp.communicate(timeout=60)
    assert stamp.returncode == 130
    assert output.endswith(b'"x, y"\n' if to == "csv" else b'"x, y"}\n')
    assert told == b"Stopped: the output is incomplete\n"


def test_second_signal_ends_at_once(full_pipe):
    mint = full_pipe("mint", "-n", "50000000")
    mint.send_signal(signal.SIGINT)
    time.sleep(APART_S)
    assert mint.poll() is None
    mint.send_signal(signal.SIGINT)
    assert mint.wait(60) == 130  # nobody reads the pipe
    _, told = mint.communicate()
    assert told == b"Stopped: the last line may be incomplete\n"


def test_interrupted_init_says_what_it_leaves(process, tmp_path):
    url = f"sqlite:///{tmp_path}/ids.db?horizon=10min"
    init = process("init", url)
    init.stdout.readline()  # it is set up, and waits
    init.send_signal(signal.SIGINT)
    _, told = init.communicate(timeout=60)
    assert init.returncode == 130
    assert told.decode() == (
        f"Stopped: namespace 'default' of {url} is set up; its first ID waits for the rest of that "
        "time\n"
    )


def test_interrupt_while_the_command_is_loaded_shows_no_traceback():
    told = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_LOAD], capture_output=True, check=False
    )
    assert (told.returncode, told.stdout, told.stderr) == (130, b"", b"")
