"""Shells complete commands and options by what ``frazil completion`` prints."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from frazil.cli import COMMANDS
from frazil.cli.completion import SHELLS
from frazil_torture import SYSTEMS

PROGRAM = str(Path(sys.executable).with_name("frazil"))


def completion(*arguments, **env):
    command = [PROGRAM, "completion", *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60, env=env)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_for_each_shell(shell, monkeypatch):
    said = completion(shell, PATH="/usr/bin:/bin")
    assert (said.returncode, said.stderr) == (0, "")
    assert f"_FRAZIL_COMPLETE={shell}_complete" in said.stdout


def test_the_own_shell_by_default():
    own = completion(SHELL="/usr/bin/zsh", PATH="/usr/bin:/bin")
    assert own.stdout == completion("zsh", PATH="/usr/bin:/bin").stdout


@pytest.mark.parametrize("env", [{}, {"SHELL": "/bin/tcsh"}])
def test_an_unknown_shell(env):
    said = completion(PATH="/usr/bin:/bin", **env)
    assert said.returncode == 2
    assert "name the shell, one of bash, zsh, fish" in said.stderr


def in_bash(words: list[str]) -> list[str]:
    """What bash offers for the last of these words, having read the script."""
    script = """
        PATH=$1:$PATH; eval "$(frazil completion bash)"; shift
        COMP_WORDS=(frazil "$@"); COMP_CWORD=$#
        _frazil_completion frazil; printf '%s\\n' "${COMPREPLY[@]}"
    """
    command = ["bash", "-c", script, "bash", str(Path(PROGRAM).parent), *words]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert said.stderr == ""
    return said.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ([""], [*COMMANDS, "torture"]),
        (["mi"], ["mint"]),
        (["mint", "--enc"], ["--encoding"]),
        (["completion", "z"], ["zsh"]),
        (["plan", "ic"], ["icicle"]),
        (["mint", "-s", "ic"], ["icicle"]),
        (["torture", "--faults", "fork,stop"], ["fork,stop"]),
        (["torture", "--system", "sno"], [name for name in SYSTEMS if name.startswith("sno")]),
    ],
)
def test_what_bash_offers(words, offered):
    assert in_bash(words) == offered
