"""A namespace is declared new once, and a counter begins where it is told."""

import pytest

__all__: list[str] = []


def test_once(call):
    result = call("init")
    assert result.exit_code == 0
    assert "Namespace 'default' of sqlite: is new, with scheme icicle" in result.stdout
    assert "sign:1=0 time:41" in result.stdout
    again = call("init")
    assert again.exit_code == 2
    assert "has a record already" in again.output
    assert again.stdout == ""


def test_also_after_looking(call):
    """Neither a list nor a look at a missing namespace makes it."""
    call("init", "--namespace", "other")
    assert call("claims").exit_code == 0
    assert call("init").exit_code == 0


def test_counter_starts_where_it_is_told(call):
    args = ["--namespace", "invoices", "-s", "tickets"]
    result = call("init", *args, "--start", "20001")
    assert "The first number to be given is 20001." in result.stdout
    assert call("mint", *args, "-n", "2").stdout == "20001\n20002\n"


def test_a_counter_starts_at_one_and_runs_at_zero(call):
    call("init", "-s", "tickets")
    assert call("mint", "-s", "tickets").stdout == "1\n"
    assert "is 0." in call("init", "-s", "chibrary", "--namespace", "runs").stdout


def test_run_starts_where_it_is_told(call):
    result = call("init", "-s", "chibrary", "--start", "7")
    assert "The first run to be given is 7." in result.stdout
    inspected = call("inspect", "-s", "chibrary", call("mint", "-s", "chibrary").stdout).stdout
    assert "run        7 (" in inspected.replace("run       7", "run        7")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--start", "4"], "--start is for counters"),
        (["-s", "chibrary", "--start", str(1 << 30)], "not within 0..1073741823"),
        (["-s", "tickets", "--start", "-1"], "--start"),
        (["memory:"], "name a registry that lasts"),
        (["static:7?state=none"], "name a registry that lasts"),
        (["redes:"], "no registry is called"),
        (["http://localhost/a"], "makes IDs and keeps no claims"),
    ],
)
def test_wrong_call(args, words, call):
    result = call("init", *args)
    assert result.exit_code == 2
    assert words in result.output


def test_a_counter_is_moved_forward(call):
    told = ("--namespace", "invoices", "-s", "tickets")
    call("init", *told, "--start", "5")
    assert call("mint", *told, "-n", "2").stdout == "5\n6\n"
    refused = call("init", *told, "--start", "100")
    assert refused.exit_code == 2
    assert "add --forward" in refused.output
    assert call("init", *told, "--start", "6", "--forward").exit_code == 2
    assert call("init", *told, "--forward").exit_code == 2
    moved = call("init", *told, "--start", "100", "--forward")
    assert "goes on" in moved.stdout
    assert call("mint", *told).stdout == "100\n"
