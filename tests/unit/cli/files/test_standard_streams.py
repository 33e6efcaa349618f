"""Standard output and error that are closed, full, or a pipe without a reader."""

import os
import subprocess
import sys

import pytest

from tests.needs import needs

START = "from frazil.cli import main; main(prog_name='frazil')"
ID = "1375354384404488193"
TELLING = {
    "mint": "mint -u static:7?state=none",
    "mint-json": "mint -u static:7?state=none -n 3 --json",
    "inspect": f"inspect {ID}",
    "inspect-json": f"inspect {ID} --json",
    "plan": "plan",
    "plan-json": "plan --json",
    "claims": "claims",
    "doctor": "doctor",
    "script": "script",
    "stamp": "stamp a.csv --column new -u static:7?state=none",
    "audit": "audit a.csv",
    "audit-json": "audit a.csv --json",
    "token": "serve --new-token",
    "help": "--help",
    "version": "--version",
    "help-of": "mint --help",
}
# Each is a process. Those that write as another one does, or load DuckDB for seconds, are long.
QUICK = {"mint", "mint-json", "inspect", "plan", "token", "help", "version"}
COMMANDS = [
    pytest.param(words, id=name, marks=[] if name in QUICK else [pytest.mark.long])
    for name, words in TELLING.items()
]


@pytest.fixture
def run(tmp_path):
    (tmp_path / "a.csv").write_text(f"id\n{ID}\n", encoding="ascii")

    def run(words, streams, **options):
        """The command in a shell that closes or redirects its streams."""
        line = f'exec "$0" -c "$1" {words} {streams}'
        done = subprocess.run(
            ["/bin/bash", "-c", line, sys.executable, START],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            cwd=tmp_path,
            **options,
        )
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.parametrize(
    ("streams", "why"),
    [
        (">&-", "it is closed, so the result"),
        (">/dev/full", "No space left on device; free some space, or"),
    ],
    ids=["closed", "full"],
)
def test_output_that_cannot_be_written_is_an_error(run, words, streams, why):
    code, _, told = run(words, streams)
    assert code == 2, told
    assert f"Error: standard output: {why}" in told
    assert "Traceback" not in told
    assert "Exception ignored" not in told


@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.parametrize("streams", ["2>&-", "2>/dev/full"], ids=["closed", "full"])
def test_message_that_cannot_be_written_is_not_an_error(run, words, streams):
    code, out, _ = run(words, streams)
    assert code == 0
    assert out


@pytest.mark.parametrize("streams", ["2>&-", "2>/dev/full"], ids=["closed", "full"])
def test_error_that_cannot_be_written_keeps_its_exit_code(run, streams):
    assert run("inspect nothing", streams)[0] == 1
    assert run("mint --scheme icicel", streams)[0] == 2
    assert run("mint -n x", streams)[0] == 2
    assert run("nothing", streams)[0] == 2


@pytest.mark.parametrize(
    "streams",
    [
        *(pytest.param(one, marks=pytest.mark.long) for one in (">&-", "2>&-", ">&- 2>&-")),
        "<&- >&- 2>&-",
    ],
)
def test_command_without_messages_needs_no_output(run, tmp_path, streams):
    """Its output file must not get the number of a closed stream."""
    needs("duckdb", "stamping tables")
    code, _, told = run("stamp a.csv --column new -u static:7?state=none -o b.csv", streams)
    assert (code, "Error" in told) == (0, False)
    assert (tmp_path / "b.csv").read_text(encoding="ascii").endswith(f",{ID}\n")


@pytest.mark.parametrize("words", [*COMMANDS, "mint -u memory: -n 50000000 --lead 1s"])
def test_pipe_without_a_reader_shows_no_message(tmp_path, words):
    (tmp_path / "a.csv").write_text(f"id\n{ID}\n", encoding="ascii")
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe:
        done = subprocess.run(
            [sys.executable, "-c", START, *words.split()],
            stdout=pipe,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
            cwd=tmp_path,
        )
    assert (done.returncode, done.stderr) == (141, b"")
