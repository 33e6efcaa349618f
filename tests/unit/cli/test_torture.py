"""``frazil torture`` reports wrong calls before it starts a process."""

import time

import pytest

from tests.servers.redis import free_port


def test_a_page_that_cannot_be_written_is_an_error_before_the_run(refused, tmp_path):
    begun_s = time.monotonic()
    said = refused(2, "torture", "--html", str(tmp_path / "none" / "t.html"), "--seconds", "600")
    assert "name another file, or create its folder" in said
    assert time.monotonic() - begun_s < 300


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--faults", "fork,spoon"], "no fault is called 'spoon'; there are fork, "),
        (["--faults", " , "], "name at least one fault"),
        (["--system", "snowflakes"], "no system is called 'snowflakes'; there are frazil, "),
        (["--system", "snowflake-id", "redis://localhost"], "URL is the registry of frazil"),
        (["--own", "redis", "redis://localhost"], "omit --own or URL"),
        (["memory:"], "torture starts several"),
        (["nowhere:"], "no registry is called 'nowhere:'"),
        (["--scheme", "snowflak"], "snowflak"),
        (["--seconds", "0"], "--seconds"),
        (["--processes", "0"], "--processes"),
        (["--own", "mysql"], "--own"),
        (["--markdown"], "use --markdown only with --peers"),
        (["--mix", "--peers"], "--mix excludes --peers"),
        (["--mix", "--html", "mix.html"], "--mix excludes --peers"),
        (["--mix", "--faults", "pickle"], "no fault is called 'pickle'; there are fork, c-fork, "),
        (["--peers", "--system", "tsidpy"], "--peers tests all systems"),
        (["--system", "json:nothing"], "cannot import 'json:nothing'"),
        (["--system", "nothing.at.all:x"], "cannot import 'nothing.at.all:x'"),
        (["--system", "json:__name__"], "cannot be called"),
    ],
)
def test_wrong_call(call, arguments, said):
    result = call("torture", *arguments)
    assert result.exit_code == 2
    assert said in " ".join(result.output.split())


def test_store_that_does_not_answer_is_reported_at_once(refused):
    assert "no connection" in refused(3, "torture", f"redis://127.0.0.1:{free_port()}")


def test_missing_package(refused, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    assert "pip install sonyflake-py" in refused(2, "torture", "--system", "sonyflake-py")
