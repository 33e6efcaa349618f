"""``frazil claims`` shows holders, in node numbers and moments of the record's layout."""

import json
import os
from pathlib import Path

import pytest

from frazil.claims.claim import Claim, Holding, LastSeen
from frazil.claims.holding import NodeHolding
from frazil.generator.verb_requests import ask_of
from frazil.layout.layout import Layout
from frazil.registries import connect
from frazil.schemes.scheme import scheme
from frazil.system.clock import moment_text


def test_missing_registry(call, own_state_directory: Path):
    result = call("claims")
    assert result.exit_code == 0
    assert "claims.db does not exist: there are no claims yet" in result.stdout.replace("\n", "")
    assert "frazil mint" in result.stdout
    assert call("claims", "--json").stdout == "[]\n"
    assert not own_state_directory.exists()


def test_the_suggested_command_creates_the_namespace(call):
    s = ("--scheme", "uniqueid-spread", "--field", "cluster=3")
    for words, command in (
        (["--namespace", "nope"], "frazil mint --namespace nope"),
        (["--namespace", "nope", *s], f"frazil mint --namespace nope {' '.join(s)}"),
        (["static:7"], "frazil mint --url static:7"),
    ):
        said = " ".join(call("claims", *words).stdout.split())
        assert said.endswith(f"The first `{command}` creates it.")
    call("mint", "--url", "static:7")
    assert json.loads(call("claims", "static:7", "--json").stdout)


def test_set_up_and_unused(call):
    call("init", "--new")
    result = call("claims")
    assert "is set up and has no claims yet" in result.stdout
    assert str(scheme().layout) in result.stdout
    assert call("claims", "--json").stdout == "[]\n"


def test_held_and_free(call, own_state_directory):
    """Nothing is written. A verb makes the claim: an idle generator releases its claim soon."""
    s = scheme("uniqueid-spread", fields={"cluster": 3})
    call("init", "--namespace", "orders", "-s", "uniqueid-spread", "--new")
    registry = connect("sqlite:", "orders", s)
    claim = registry.grant(ask_of(LastSeen()), 1000)
    assert isinstance(claim, Claim)
    (path,) = own_state_directory.rglob("claims.db")
    before = path.read_bytes()
    shown = call("claims", "--namespace", "orders").stdout
    (line,) = json.loads(call("claims", "--namespace", "orders", "--json").stdout)
    assert line["node"] == 0
    assert line["constants"] == {"mode": 0, "cluster": 3}
    assert line["process"] == os.getpid()
    assert line["rate_hz"] is None
    assert line["state"] in {"held", "idle"}
    assert (line["start_value"], line["until_value"]) == (claim.start, claim.until)
    assert line["start"] == moment_text(claim.start * 1000)
    assert line["until"] == moment_text(claim.until * 1000)
    assert line["since"] == moment_text(claim.now_us)
    for text in ("cluster=3", line["host"], line["since"][:10], line["until"][11:-1]):
        assert text in shown
    assert call("claims").stdout.startswith("sqlite: has no namespace 'default'")
    assert path.read_bytes() == before
    registry.release(ask_of(LastSeen(), claim), claim.start + 1)
    (line,) = json.loads(call("claims", "--namespace", "orders", "--json").stdout)
    assert (line["state"], line["host"], line["since"]) == ("free", None, None)
    assert line["until_value"] == claim.start + 1
    assert "1 free. The layout:" in call("claims", "--namespace", "orders").stdout


def test_layout_of_the_record_is_used(call, refused):
    call("init", "-s", "tickets", "--start", "5")
    call("mint", "-s", "tickets", "-n", "3")
    (line,) = json.loads(call("claims", "--json").stdout)
    assert (line["start"], line["until"]) == ("5", "8")
    said = refused(2, "claims", "-s", "js53")
    assert "sequence:63" in said
    assert "time:32" in said
    assert call("claims", "-s", "tickets").exit_code == 0


@pytest.mark.parametrize(
    ("now_us", "held", "state"),
    [(999_999, True, "held"), (1_000_000, True, "idle"), (0, False, "free")],
)
def test_state(now_us, held, state):
    layout = Layout.parse("a:2=0 time:32 node:4 b:3=0 sequence:4 @1ms since 1970-01-01")
    holding = Holding(5 + 16 * (2 << 3 | 6), 0, 1000, held, "host:1" * held, 1)
    line = NodeHolding(holding, layout, now_us)
    assert line.state == state
    assert line.node == 5
    assert line.constants == {"a": 2, "b": 6}
    assert line.as_json()["until"] == "1970-01-01T00:00:01Z"


def test_counter_is_never_idle():
    line = NodeHolding(Holding(0, 0, 10, True, "host:1", 0), Layout.parse("sequence:63"), 1 << 60)
    assert line.state == "held"
    assert line.as_json()["since"] is None


def test_the_past_is_declared_after_a_question(call):
    call("init", "--new")
    command = ("claims", "--declare-past-from", "2017-01-01")
    refused = call(*command, stdin="n\n")
    assert refused.exit_code == 1
    question = " ".join(refused.stderr.split())
    assert (
        "no ID of it, made by whatever program, has a moment from 2017-01-01T00:00:00Z" in question
    )
    assert "declared" not in call("claims").stdout
    done = "The past of namespace 'default' of sqlite: is declared from 2017-01-01T00:00:00Z on."
    for asked in (call(*command, stdin="y\n"), call(*command, "--yes")):
        assert done in " ".join(asked.stdout.split())
    for _ in range(2):
        told = " ".join(call("claims").stdout.split())
        assert "The past is declared from 2017-01-01T00:00:00Z on." in told
        call("mint")


def test_a_past_that_is_no_moment(call):
    result = call("claims", "--declare-past-from", "yesterday", "--yes")
    assert result.exit_code != 0
    assert "--declare-past-from 'yesterday' is not a moment" in " ".join(result.stderr.split())
