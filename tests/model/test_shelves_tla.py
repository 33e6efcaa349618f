"""The model of a namespace with several records, and with a rule left out."""

import pytest

from tests.model.test_claims_tla import SPEC, canaries_of, run

pytestmark = pytest.mark.nightly

MODEL = (SPEC / "shelves.tla").read_text(encoding="utf-8")
SMALL = (SPEC / "shelves.cfg").read_text(encoding="utf-8")


def test_no_cell_has_two_owners_if_one_shelf_is_lost(tmp_path):
    tlc = run(tmp_path, SMALL, "shelves")
    assert tlc.holds, tlc.output
    assert tlc.states > 100_000


@pytest.mark.parametrize("canary", sorted(canaries_of(MODEL)))
def test_a_rule_left_out_is_found(tmp_path, canary):
    text = SMALL.replace("broken = {}", 'broken = {"' + canary + '"}')
    assert text != SMALL
    tlc = run(tmp_path, text, "shelves")
    assert tlc.violated, tlc.output
