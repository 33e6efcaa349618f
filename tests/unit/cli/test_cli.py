"""The whole command: names, help, exit codes, and no traceback."""

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

import frazil
from frazil import cli, errors
from frazil.cli import COMMANDS, Failure
from tests.needs import needs

LOADED = """
import json, sys
from frazil.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print(json.dumps(sorted(sys.modules)))
"""


def loaded_by(*arguments, **options):
    """The modules that a call of the command loads."""
    command = [sys.executable, "-c", LOADED, *arguments]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, **options)
    return set(json.loads(answer.stdout.splitlines()[-1]))


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_help_imports_no_slow_module(argument):
    loaded = loaded_by(argument)
    assert "click" in loaded
    assert not loaded & {"rich", "sqlite3", "numpy", "pyarrow", "asyncio"}
    ours = {name for name in loaded if name.startswith("frazil.cli.")}
    modules = {"_signals", "_standard_streams"}
    assert ours == {f"frazil.cli.{name}" for name in modules}


def test_one_id_loads_no_generator_and_no_terminal(tmp_path):
    loaded = loaded_by("mint", "--url", f"sqlite:{tmp_path}/claims.db?horizon=5ms")
    assert "frazil.generator.mint" in loaded
    assert not loaded & {"frazil.cli.show", "frazil.generator.local", "rich", "textwrap"}


def test_an_audit_loads_no_registry_and_no_table_printer(tmp_path):
    needs("duckdb", "audits of files")
    (tmp_path / "ids.csv").write_text("id\n1\n", encoding="utf-8")
    loaded = loaded_by("audit", "ids.csv", cwd=tmp_path)  # a long name is wrapped
    assert "duckdb" in loaded
    assert not loaded & {"rich", "numpy", "pyarrow", "frazil.registries", "frazil.generator"}


def test_help_names_every_command_and_exit_code(call):
    text = call("--help").stdout
    for name, help_line in COMMANDS.items():
        assert f"  {name} " in text
        assert help_line in text
    assert all(f"\n    {code}  " in text for code in range(6))


def test_python_m_frazil():
    """Its help shows this name."""
    run = [sys.executable, "-m", "frazil"]
    answer = subprocess.run([*run, "--help"], capture_output=True, text=True, check=True)
    assert answer.stdout.startswith("Usage: python -m frazil ")
    assert subprocess.run([*run, "nothing"], capture_output=True, check=False).returncode == 2


def test_version(call):
    text = call("--version").stdout
    assert text.startswith(f"frazil {frazil.__version__} (")
    assert ("compiled" in text) == frazil.COMPILED
    run = [sys.executable, "-X", "importtime", "-m", "frazil", "--version"]
    answer = subprocess.run(run, capture_output=True, text=True, check=True)
    assert answer.stdout == text
    loaded = {line.rpartition("|")[2].strip() for line in answer.stderr.splitlines()}
    assert "frazil.system.process" in loaded
    assert not loaded & {"click", "re", "typing"}  # each takes longer to load than all of frazil


def test_version_that_cannot_be_written():
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        answer = subprocess.run(
            [sys.executable, "-m", "frazil", "--version"], stdout=full, stderr=subprocess.PIPE,
            check=False,
        )  # fmt: skip
    assert answer.returncode == 2
    assert b"No space left" in answer.stderr


@pytest.mark.parametrize("name", [*COMMANDS, "torture"])
def test_help_shows_examples(name, call):
    result = call(name, "--help")
    assert result.exit_code == 0
    assert result.stdout.count(f"\n    frazil {name}") >= 2
    assert "\\b" not in result.stdout
    assert all(len(line) <= 80 or line[:4] == "    " for line in result.stdout.splitlines())


def example(result):
    """The call that ends the message of a usage error."""
    assert result.exit_code == 2
    head, example = result.output.splitlines()[-2:]
    assert head == "For example:"
    return example.strip()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_usage_error_ends_with_a_call_that_is_valid(name, call):
    assert f"frazil {name} " in f"{example(call(name, '--no-such-option'))} "


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["init", "--sql"], "frazil init postgresql://ids@db/app --namespace orders --sql"),
        (["mint", "-n"], "frazil mint -n 1000000 --lead 1s > ids.txt"),
        (["mint", "-n", "x"], "frazil mint -n 1000000 --lead 1s > ids.txt"),
        (["--no-such-option"], "frazil mint"),
        (["inspect", "--guess", "-s", "tsid"], "frazil inspect --guess 175928847299117063"),
        (["init", "--shard", "1"], "frazil init icicle://redis-a --shard 1"),
        (["plan", "--nodes", "2"], "frazil plan --nodes 200 --rate 5000 --until 2060"),
        (["sql", "mysql", "--table", "x"], "frazil sql sqlite --table orders | sqlite3 app.db"),
    ],
)
def test_the_example_is_about_the_error(arguments, shown, call):
    assert example(call(*arguments)) == shown


def test_a_message_with_a_call_needs_no_example(call):
    assert call("inspect", "-5").output.endswith("like: frazil inspect -- -5\n")


def test_an_unknown_registry_shows_one_that_exists(call):
    assert "write one like redis://localhost" in call("claims", "foo://x").output


@pytest.mark.parametrize(
    ("arguments", "page"),
    [
        (["mint", "-u", "redis://127.0.0.1:1?timeout=50ms", "--timeout", "50ms"], "store-away.md"),
        (["claims", "foo://x"], "errors.md#configerror"),
    ],
)
def test_an_error_names_its_page(arguments, page, call):
    result = call(*arguments)
    assert result.output.count("See https://") == 1
    assert result.output.endswith(f"/{page}\n")


def test_help_shows_the_defaults_that_apply(call):
    assert "[default: icicle]" in call("mint", "--help").output
    for name in ("claims", "inspect"):
        assert "[default: icicle]" not in call(name, "--help").output
    assert "[default: default]" not in call("bench", "--help").output


def test_misspelt_command(refused):
    assert "unknown command 'mnt'; did you mean 'mint'?" in refused(2, "mnt")


def test_a_command_of_another_package(call):
    assert "  torture     Test an ID system with forks" in call("--help").stdout
    assert "did you mean 'torture'?" in call("tortur").output
    assert "Usage: main torture" in call("torture", "--help").stdout


def test_a_command_of_a_package_that_is_not_installed(call, monkeypatch):
    """Without the entry point it says how to install the package."""
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_group: ())
    cli._further.cache_clear()
    result = call("torture", "--help")
    cli._further.cache_clear()
    assert result.exit_code == 2
    assert "run: pip install ./evidence/torture" in " ".join(result.output.split())


@pytest.mark.parametrize("url", ["redis://somebody:secret@here:6379", "sqlite:ids.db", "static:7"])
def test_url_without_its_option(refused, url):
    said = refused(2, "mint", url)
    assert "this command takes the registry as --url URL" in said
    assert "secret" not in said


@pytest.mark.parametrize(
    "arguments", [["sql", "postgresql", "5"], ["init", "sqlite:", "redis://here"]]
)
def test_too_many_arguments(arguments, refused):
    assert "Got unexpected extra argument" in refused(2, *arguments)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.ConfigError("fix it", url="x"), 2),
        (errors.CodecError("fix it"), 2),
        (errors.PoolExhausted("fix it"), 3),
        (errors.RegistryUnavailable("fix it"), 3),
        (errors.ClockError("fix it"), 4),
        (errors.LayoutExhausted("fix it"), 4),
        (errors.InternalError("fix it"), 5),
        (FileNotFoundError(2, "fix it", "there"), 2),
        (click.FileError("there", "fix it"), 2),
        (Failure("fix it"), 1),
    ],
)
def test_exit_code_of_each_error(error, code, call, monkeypatch):
    def fail(*_args, **_options):
        raise error

    monkeypatch.setattr("frazil.cli.mint.mint_request", fail)
    result = call("mint")
    assert result.exit_code == code
    assert result.output.startswith("Error: ")
    assert "fix it" in result.output
    assert result.stdout == ""


def test_unexpected_exception_is_not_hidden(call, monkeypatch):
    def fail(*_args, **_options):
        raise ZeroDivisionError

    monkeypatch.setattr("frazil.cli.mint.mint_request", fail)
    with pytest.raises(ZeroDivisionError):
        call("mint")
