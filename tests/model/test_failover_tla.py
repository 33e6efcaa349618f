"""TLC checks the model of failovers: earlier rules and each rule left out repeat a cell."""

import re

import pytest

from tests.model.test_claims_tla import SPEC, run

pytestmark = pytest.mark.nightly

SMALL = (SPEC / "failover.cfg").read_text(encoding="utf-8")

LATER = {"end": 8, "behind": 3}
CANARIES = {
    "the first to ask decides": ({}, ("wait", "heed", "continued", "reach", "boot clock")),
    "wait": ({}, ("wait",)),
    "heed": (LATER, ("heed",)),
    "continued": ({"horizon": 3, "end": 8, "hung": 1}, ("continued",)),
    "holders report": (LATER, ("holders report",)),
    "boot clock": (LATER | {"steps": 1}, ("boot clock",)),
    "tokens void": ({}, ("tokens void",)),
}


def configuration(constants, broken=()):
    """The small configuration with other constants, and without some rules."""
    text = SMALL
    rules = "{" + ", ".join(f'"{rule}"' for rule in broken) + "}"
    for name, value in {**constants, "broken": rules}.items():
        text, found = re.subn(rf"(?m)^( +{name} = ).*$", rf"\g<1>{value}", text)
        assert found == 1
    return text


def test_no_cell_has_two_owners_after_a_failover(tmp_path):
    tlc = run(tmp_path, configuration({}), "failover")
    assert tlc.holds, tlc.output
    assert tlc.states > 10_000


@pytest.mark.parametrize("canary", CANARIES)
def test_a_rule_left_out_is_found(tmp_path, canary):
    constants, broken = CANARIES[canary]
    tlc = run(tmp_path, configuration(constants, broken), "failover")
    assert tlc.violated == "NoCellTwice", tlc.output
