"""``frazil mint`` prints the requested number of unique IDs, in the scheme's encoding."""

import io
import json
import os
import pty
import subprocess
import sys
import time

import pytest

from frazil.cli import mint
from frazil.schemes.scheme import scheme


@pytest.fixture(autouse=True)
def new_namespace(call):
    """A namespace that is set up, so that its first use does not wait."""
    assert call("init", "--new").exit_code == 0


def test_more_than_one_chunk(call, monkeypatch):
    monkeypatch.setattr(mint, "_CHUNK", 1000)
    ids = [int(line) for line in call("mint", "-n", "4321").stdout.splitlines()]
    assert len(ids) == len(set(ids)) == 4321


@pytest.mark.parametrize("count", [1, 3, 2500])
def test_json_has_ids_as_strings(count, call, monkeypatch):
    monkeypatch.setattr(mint, "_CHUNK", 1000)
    told = json.loads(call("mint", "-n", str(count), "--json").stdout)
    assert (told["scheme"], told["namespace"]) == ("icicle", "default")
    assert len(set(told["ids"])) == count
    assert all(text.isdigit() for text in told["ids"])


def test_another_scheme_in_the_namespace(refused):
    assert "another namespace" in refused(2, "mint", "-s", "tsid")


@pytest.mark.parametrize("args", [["-n", "0"], ["--lead", "2"], ["--lead", "1h"], ["-s", "icycle"]])
def test_wrong_call(args, refused):
    assert "Error: " in refused(2, "mint", *args)


def on_terminal(*args: str) -> tuple[bytes, bytes]:
    """The standard output of the command, and its standard error on a terminal."""
    ours, theirs = pty.openpty()
    code = "from frazil.cli import main; main(prog_name='frazil')"
    command = [sys.executable, "-c", code, *args]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, check=True)
    os.close(theirs)
    seen = io.BytesIO()
    try:
        while piece := os.read(ours, 4096):
            seen.write(piece)
    except OSError:  # what Linux says at the end of a terminal
        pass
    os.close(ours)
    return done.stdout, seen.getvalue()


def test_wait_of_a_first_use_is_explained_on_a_terminal():
    output, seen = on_terminal("mint", "--namespace", "new")
    assert output.strip().isdigit()
    assert b"first use of namespace 'new'" in seen
    assert b"`frazil init --namespace new --new` skips" in seen
    assert b"waiting 1.2s" in seen
    assert on_terminal("mint", "--namespace", "new")[1] == b""


def test_wait_of_a_first_use_is_not_explained_in_a_pipe(call):
    assert call("mint", "--namespace", "new").stderr == ""


def test_a_count_that_is_an_argument_names_the_option(call, refused):
    assert "frazil mint -n 300" in refused(2, "mint", "300")
    assert "-n" not in call("mint", "300", "400").output.partition("Error")[2]


def test_greater_than_an_id_that_was_seen(call, refused):
    seen = scheme().pack(moment=int((time.time() + 0.2) * 1e6))
    ids = [int(line) for line in call("mint", "-n", "3", "--after", str(seen)).stdout.splitlines()]
    assert seen < ids[0] < ids[1] < ids[2]
    assert call("mint", "--after", "1", "--after", str(ids[2])).exit_code == 0
    assert "'!' is not a character" in refused(2, "mint", "--after", "!")
