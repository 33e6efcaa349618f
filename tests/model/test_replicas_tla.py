"""The model of a store with replicas, and with WAIT or the second reading left out."""

import pytest

from tests.model.test_claims_tla import SPEC, canaries_of, run

pytestmark = pytest.mark.nightly

MODEL = (SPEC / "replicas.tla").read_text(encoding="utf-8")
SMALL = (SPEC / "replicas.cfg").read_text(encoding="utf-8")


def test_counted_grants_are_disjoint(tmp_path):
    tlc = run(tmp_path, SMALL, "replicas")
    assert tlc.holds, tlc.output
    assert tlc.states > 10_000


@pytest.mark.parametrize("canary", sorted(canaries_of(MODEL)))
def test_a_rule_left_out_is_found(tmp_path, canary):
    text = SMALL.replace("broken = {}", 'broken = {"' + canary + '"}')
    assert text != SMALL
    tlc = run(tmp_path, text, "replicas")
    assert tlc.violated, tlc.output
